//! Call stacks of two runs with the cost of each, for a differential flame graph.
//!
//! A profile of calls between functions has no stacks: it does not say which caller's calls led to
//! the cost of a function further down. So a function's cost is divided among its callers in
//! proportion to the cost of their calls, and each caller's part further up in the same way.
//!
//! Recursion would make stacks without end. Of the calls in a circle those that lead back are left
//! out, from the most expensive way in, and the same ones in both runs: a function is once in a
//! stack. All own costs are still counted, so the stacks of a run add up to its whole cost.
//!
//! Copies of a generic function stay apart until there are stacks. As one function they would be
//! called from everywhere, and the cost of any would be divided among the callers of all.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::attribution::{Costs, Crates, START, START_AT};

/// Share of a run below which a stack has no frame.
const SHARE_MIN: f64 = 0.001;

/// A function in a stack, with its cost in two runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Its name; empty for the start of the program.
    pub function: String,
    /// Position of the frame that calls it; `None` for the start of the program.
    pub caller: Option<usize>,
    /// Cost of its own code in each run, with that of the calls that are too small for a frame.
    pub own: [f64; 2],
}

/// Returns the frames of two runs, at most so many. The start is the first, and every caller comes
/// before the functions that it calls.
///
/// The costs may be those of copies of functions: `shown` returns the name that copies share, and
/// by which runs are matched.
///
/// A stack below a thousandth of both runs has no frame, nor have the smallest ones above the
/// limit: their costs are part of their callers'. So all own costs add up to those of the runs.
///
/// # Cost
///
/// O(functions + calls), besides finding names, and O(`most` + calls of its copies) for each frame.
#[must_use]
pub fn frames(runs: [&Costs; 2], shown: impl Fn(&str) -> String, most: usize) -> Vec<Frame> {
    let mut runs = runs.map(|costs| Run::new(costs, &shown));
    if let Some(crates) = Crates::of([&runs[0].shown, &runs[1].shown]) {
        for name in &mut runs[1].shown {
            *name = crates.rename(name);
        }
    }
    let mut weights: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for (call, cost) in runs.iter().flat_map(Run::shown_calls) {
        *weights.entry(call).or_default() += cost;
    }
    let graphs = [0, 1].map(|run| Graph::new(&runs[run], &weights));
    let totals = [0, 1].map(|run| graphs[run].below[START_AT]);
    let share = |cost: [f64; 2]| {
        let of = |run: usize| cost[run] / totals[run].max(f64::MIN_POSITIVE);
        of(0).max(of(1))
    };
    let mut frames: Vec<Frame> = vec![];
    let mut pending = vec![Stack {
        function: START,
        caller: None,
        copies: [0, 1].map(|_| BTreeMap::from([(START_AT, 1.0)])),
        cost: totals,
    }];
    let greatest = |all: &[Stack<'_>]| {
        let size = |at: &usize| share(all[*at].cost);
        (0..all.len()).max_by(|a, b| size(a).total_cmp(&size(b)))
    };
    while let Some(at) = greatest(&pending).filter(|_| frames.len() < most.max(1)) {
        let stack = pending.swap_remove(at);
        let mut own = [0.0; 2];
        let mut callees: BTreeMap<&str, Stack<'_>> = BTreeMap::new();
        for (run, copies) in stack.copies.iter().enumerate() {
            let graph = &graphs[run];
            for (copy, part) in copies {
                own[run] += runs[run].own[*copy] * part;
                for (callee, share) in &graph.calls[*copy] {
                    let function = runs[run].shown[*callee].as_str();
                    let on_top = callees.entry(function).or_insert_with(|| Stack {
                        function,
                        caller: Some(frames.len()),
                        copies: [BTreeMap::new(), BTreeMap::new()],
                        cost: [0.0; 2],
                    });
                    *on_top.copies[run].entry(*callee).or_default() += part * share;
                    on_top.cost[run] += graph.below[*callee] * part * share;
                }
            }
        }
        let (large, small): (Vec<_>, Vec<_>) = callees
            .into_values()
            .partition(|stack| share(stack.cost) >= SHARE_MIN);
        small
            .iter()
            .for_each(|stack| increase(&mut own, stack.cost));
        pending.extend(large);
        frames.push(Frame {
            function: stack.function.to_owned(),
            caller: stack.caller,
            own,
        });
    }
    for stack in pending {
        if let Some(caller) = stack.caller {
            increase(&mut frames[caller].own, stack.cost);
        }
    }
    frames
}

/// Costs of each frame in both runs with everything that it calls.
#[must_use]
pub fn with_callees(frames: &[Frame]) -> Vec<[f64; 2]> {
    let mut costs: Vec<[f64; 2]> = frames.iter().map(|frame| frame.own).collect();
    for (at, frame) in frames.iter().enumerate().rev() {
        if let Some(caller) = frame.caller.filter(|caller| *caller < at) {
            let cost = costs[at];
            increase(&mut costs[caller], cost);
        }
    }
    costs
}

/// A stack that may become a frame.
struct Stack<'a> {
    /// The function on top of it.
    function: &'a str,
    /// Its caller's frame.
    caller: Option<usize>,
    /// Copies of the function in each run, with the part of all calls of the copy.
    copies: [BTreeMap<usize, f64>; 2],
    /// Their cost with everything below them.
    cost: [f64; 2],
}

/// A run with functions by number.
struct Run {
    /// Names to be shown.
    shown: Vec<String>,
    /// Own costs.
    own: Vec<f64>,
    /// Costs of the calls of a function, by number.
    calls: Vec<BTreeMap<usize, f64>>,
}

impl Run {
    fn new(costs: &Costs, shown: impl Fn(&str) -> String) -> Self {
        let mut names: Vec<&str> = costs.names().collect();
        names.sort_unstable();
        names.dedup();
        let number = |name: &str| names.binary_search(&name).unwrap_or_default();
        let mut run = Self {
            shown: names.iter().map(|name| shown(name)).collect(),
            own: vec![0.0; names.len()],
            calls: vec![BTreeMap::new(); names.len()],
        };
        for (name, one) in &costs.functions {
            let at = number(name);
            run.own[at] = one.own;
            let calls = one.calls.iter();
            let calls = calls.map(|(callee, calls)| (number(callee), calls.cost));
            run.calls[at] = calls.collect();
        }
        run
    }

    /// Costs of calls by the names to be shown.
    fn shown_calls(&self) -> impl Iterator<Item = ((&str, &str), f64)> {
        self.calls.iter().enumerate().flat_map(move |(at, made)| {
            let made = made.iter();
            made.map(move |(callee, cost)| ((&*self.shown[at], &*self.shown[*callee]), *cost))
        })
    }
}

/// The calls of a run without those that lead back.
struct Graph {
    /// The calls of a function, by number: their parts in all calls of the callee.
    calls: Vec<BTreeMap<usize, f64>>,
    /// All functions, each before those that it calls.
    order: Vec<usize>,
    /// Costs of all functions with everything that they call.
    below: Vec<f64>,
}

impl Graph {
    fn new(run: &Run, weights: &BTreeMap<(&str, &str), f64>) -> Self {
        let mut graph = Self {
            calls: run.calls.clone(),
            order: vec![],
            below: run.own.clone(),
        };
        graph.leave_out_calls_back(|caller, callee| {
            let call = (&*run.shown[caller], &*run.shown[callee]);
            weights.get(&call).copied().unwrap_or_default()
        });
        graph.take_parts();
        for at in graph.order.iter().rev() {
            let calls = graph.calls[*at].iter();
            let calls = calls.map(|(callee, part)| graph.below[*callee] * part);
            graph.below[*at] += calls.sum::<f64>();
        }
        graph
    }

    /// Leaves out the calls of functions that are below on the way by which a search finds them,
    /// and makes the start call what nothing else calls. The search takes the heaviest call first.
    fn leave_out_calls_back(&mut self, weight: impl Fn(usize, usize) -> f64) {
        let functions = self.calls.len();
        let mut called = vec![false; functions];
        for callee in self.calls.iter().flat_map(BTreeMap::keys) {
            called[*callee] = true;
        }
        let all = 1..functions;
        let entries = all.clone().filter(|at| !called[*at]).chain(all);
        let heaviest_last = |calls: &BTreeMap<usize, f64>, at: usize| {
            let mut callees: Vec<usize> = calls.keys().copied().collect();
            callees.sort_by(|a, b| weight(at, *a).total_cmp(&weight(at, *b)));
            callees
        };
        let mut state = vec![Search::New; functions];
        state[START_AT] = Search::OnPath;
        for entry in entries {
            if state[entry] != Search::New {
                continue;
            }
            self.calls[START_AT].entry(entry).or_default();
            let mut path = vec![(entry, heaviest_last(&self.calls[entry], entry))];
            state[entry] = Search::OnPath;
            while let Some((at, rest)) = path.last_mut() {
                let at = *at;
                match rest.pop() {
                    Some(callee) if state[callee] == Search::New => {
                        state[callee] = Search::OnPath;
                        path.push((callee, heaviest_last(&self.calls[callee], callee)));
                    }
                    Some(callee) if state[callee] == Search::OnPath => {
                        self.calls[at].remove(&callee);
                    }
                    Some(_) => {}
                    None => {
                        state[at] = Search::Done;
                        self.order.push(at);
                        path.pop();
                    }
                }
            }
        }
        self.order.push(START_AT);
        self.order.reverse();
    }

    /// Makes parts of the costs of calls. The start calls a function whose calls cost nothing.
    fn take_parts(&mut self) {
        let mut sums = vec![0.0; self.calls.len()];
        for (callee, cost) in self.calls.iter().flatten() {
            sums[*callee] += cost;
        }
        for (callee, sum) in sums.iter_mut().enumerate().skip(1) {
            if *sum <= 0.0 {
                self.calls[START_AT].insert(callee, 1.0);
                *sum = 1.0;
            }
        }
        for (callee, cost) in self.calls.iter_mut().flatten() {
            *cost /= sums[*callee];
        }
    }
}

/// The state of a function in a search along the calls.
#[derive(Clone, Copy, PartialEq)]
enum Search {
    New,
    /// The search is in it, or in one that it leads to.
    OnPath,
    Done,
}

fn increase(sum: &mut [f64; 2], by: [f64; 2]) {
    *sum = [sum[0] + by[0], sum[1] + by[1]];
}

#[cfg(test)]
mod tests;
