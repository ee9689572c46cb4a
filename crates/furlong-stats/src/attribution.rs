//! Attribution of a difference between two runs to the functions whose own code makes it.
//!
//! A function that is called twice as often is not the cause: its caller is. So a run is described
//! by, for each function, the cost of its own code per call and the calls that it makes per call.
//! With `n` calls, own costs `s` and calls `M` the whole cost is `n s`, and a call of a function
//! costs `I = s + M I` with everything below it. Then
//!
//! ```text
//! total' - total = sum over functions of n (s' - s + (M' - M) I')
//! ```
//!
//! holds exactly: each term is the change in one function's own code, at its old number of calls. A
//! function that has not changed has the term 0, however often it is called. With the two runs
//! swapped it holds as well; a function's difference is the mean of both.
//!
//! Functions that call each other in a circle are one function in this: a call is an entry from
//! outside, and calls within the circle are its own code. Each member has the part of the sum that
//! its own cost and its calls out of the circle make.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Costs and calls of a program by function, from one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs {
    /// By name. A function that nothing calls is entered once.
    pub functions: BTreeMap<String, Function>,
}

/// A function's own cost, and the calls that it makes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Function {
    /// Cost of its own code, without the functions that it calls, over all its calls.
    pub own: f64,
    /// Number of calls by the name of the called function, over all its calls.
    pub calls: BTreeMap<String, f64>,
}

/// The difference between two runs and its causes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attribution {
    /// Cost of each run.
    pub totals: [f64; 2],
    /// Every function with a difference, the greatest first. The differences add up to that of the
    /// totals.
    pub causes: Vec<Cause>,
}

/// A function whose own code accounts for a part of a difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// Its name; empty for the start of the program.
    pub function: String,
    /// The part of the difference that it accounts for.
    pub difference: f64,
    /// Number of its calls in each run; 0 where it does not occur.
    pub calls: [f64; 2],
    /// Cost of its own code per call in each run.
    pub own: [f64; 2],
    /// True if it and others call each other in a circle. Then more calls within the circle are a
    /// difference of its own.
    pub circle: bool,
    /// The function whose calls by this one changed at the greatest cost, if that is more than the
    /// change in its own code.
    pub callee: Option<Callee>,
}

/// A function that another one calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Callee {
    /// Its name.
    pub function: String,
    /// Its calls per call of the caller in each run.
    pub calls: [f64; 2],
    /// True if it occurs in this run.
    pub occurs: [bool; 2],
}

/// Attributes the difference between two runs to functions, by name.
///
/// # Cost
///
/// O(calls), besides finding names.
#[must_use]
pub fn attribution([base, other]: [&Costs; 2]) -> Attribution {
    let other = renamed(base, other);
    let runs = [base, &other];
    let names: BTreeSet<&str> = runs.iter().flat_map(|run| names(run)).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let numbered = runs.map(|run| Numbered::new(run, &names));
    let circles = Circles::of(&numbered, names.len());
    let sides = numbered.map(|run| Side::new(&run, &circles));
    let below = [
        sides[0].filled(&sides[1], &circles).below(&circles),
        sides[1].filled(&sides[0], &circles).below(&circles),
    ];
    let causes = (0..names.len()).filter_map(|at| cause(at, &names, &circles, &sides, &below));
    let mut causes: Vec<Cause> = causes.collect();
    causes.sort_by(|a, b| b.difference.abs().total_cmp(&a.difference.abs()));
    Attribution {
        totals: runs.map(Costs::total),
        causes,
    }
}

impl Attribution {
    /// This with the greatest causes only.
    #[must_use]
    pub fn greatest(mut self, most: usize) -> Self {
        self.causes.truncate(most);
        self
    }
}

impl Costs {
    /// Cost of all functions.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.functions.values().map(|one| one.own).sum()
    }
}

/// Returns the other run with the crate of its `main` named as the base's, if they differ: two
/// builds of a program may have two names.
fn renamed<'a>(base: &Costs, other: &'a Costs) -> Cow<'a, Costs> {
    let main = |run: &Costs| {
        let names = run.functions.keys();
        let mut crates = names.filter_map(|name| name.strip_suffix("::main"));
        crates.find(|name| !name.contains(':')).map(str::to_owned)
    };
    let (Some(from), Some(to)) = (main(other), main(base)) else {
        return Cow::Borrowed(other);
    };
    if from == to {
        return Cow::Borrowed(other);
    }
    let [from, to] = [from, to].map(|name| format!("{name}::"));
    let rename = |name: &String| {
        let mut renamed = String::with_capacity(name.len());
        for part in name.split_inclusive(|c: char| !c.is_alphanumeric() && !"_:".contains(c)) {
            match part.strip_prefix(from.as_str()) {
                Some(rest) => renamed.extend([&to, rest]),
                None => renamed.push_str(part),
            }
        }
        renamed
    };
    let functions = other.functions.iter().map(|(name, one)| {
        let calls = one.calls.iter();
        let calls = calls.map(|(callee, calls)| (rename(callee), *calls));
        let calls = calls.collect();
        (
            rename(name),
            Function {
                own: one.own,
                calls,
            },
        )
    });
    Cow::Owned(Costs {
        functions: functions.collect(),
    })
}

/// Names of a run's functions, of those that are only called, and of the start.
fn names(run: &Costs) -> impl Iterator<Item = &str> {
    let called = run.functions.values().flat_map(|one| one.calls.keys());
    let all = run.functions.keys().chain(called).map(String::as_str);
    all.chain([START])
}

/// Name of the start of a program, which enters what nothing calls.
const START: &str = "";

/// Its number: it is the first by name.
const START_AT: usize = 0;

/// A run with functions by number.
struct Numbered {
    /// Calls of each function.
    count: Vec<f64>,
    /// Own cost over all calls.
    own: Vec<f64>,
    /// Calls over all calls, by number.
    calls: Vec<BTreeMap<usize, f64>>,
}

impl Numbered {
    fn new(run: &Costs, names: &[&str]) -> Self {
        let number = |name: &str| names.binary_search(&name).unwrap_or_default();
        let mut numbered = Self {
            count: vec![0.0; names.len()],
            own: vec![0.0; names.len()],
            calls: vec![BTreeMap::new(); names.len()],
        };
        for (name, one) in &run.functions {
            let at = number(name);
            numbered.own[at] = one.own;
            for (callee, calls) in &one.calls {
                numbered.calls[at].insert(number(callee), *calls);
                numbered.count[number(callee)] += calls;
            }
        }
        numbered.count[START_AT] = 1.0;
        for at in run.functions.keys().map(|name| number(name)) {
            if numbered.count[at] == 0.0 {
                numbered.count[at] = 1.0;
                numbered.calls[START_AT].insert(at, 1.0);
            }
        }
        numbered
    }
}

/// The circles of the calls of two runs. A function that is in none is one by itself.
struct Circles {
    /// The circle of each function.
    of: Vec<usize>,
    /// Their functions; a circle comes before all that it calls.
    members: Vec<Vec<usize>>,
}

impl Circles {
    /// By Kosaraju's method.
    fn of(runs: &[Numbered; 2], functions: usize) -> Self {
        let (mut calls, mut callers) = (vec![vec![]; functions], vec![vec![]; functions]);
        for (caller, made) in runs.iter().flat_map(|run| run.calls.iter().enumerate()) {
            for callee in made.keys() {
                calls[caller].push(*callee);
                callers[*callee].push(caller);
            }
        }
        let order = trees(&calls, 0..functions).concat();
        let members = trees(&callers, order.into_iter().rev());
        let mut of = vec![0; functions];
        for (circle, at) in members
            .iter()
            .enumerate()
            .flat_map(|(circle, members)| members.iter().map(move |at| (circle, *at)))
        {
            of[at] = circle;
        }
        Self { of, members }
    }
}

/// The trees of a search from each root in turn, of what it reaches for the first time. In a tree,
/// a function comes after those that are reached from it.
fn trees(next: &[Vec<usize>], roots: impl Iterator<Item = usize>) -> Vec<Vec<usize>> {
    let mut seen = vec![false; next.len()];
    let mut is_new = |at: usize| !std::mem::replace(&mut seen[at], true);
    let mut all = vec![];
    for root in roots {
        if !is_new(root) {
            continue;
        }
        let mut tree = vec![];
        let mut path = vec![(root, next[root].iter())];
        while let Some((at, rest)) = path.last_mut() {
            match rest.next() {
                Some(further) if is_new(*further) => path.push((*further, next[*further].iter())),
                Some(_) => {}
                None => {
                    tree.push(*at);
                    path.pop();
                }
            }
        }
        all.push(tree);
    }
    all
}

/// A run, per entry of circles.
#[derive(Clone)]
struct Side {
    /// Calls of each function.
    count: Vec<f64>,
    /// Entries of each circle from outside.
    entries: Vec<f64>,
    /// Own cost of each function per entry of its circle.
    own: Vec<f64>,
    /// Calls of functions out of the circle, per entry.
    calls: Vec<BTreeMap<usize, f64>>,
}

impl Side {
    fn new(run: &Numbered, circles: &Circles) -> Self {
        let is_out = |from: usize, to: usize| circles.of[from] != circles.of[to];
        let mut entries = vec![0.0; circles.members.len()];
        for (from, made) in run.calls.iter().enumerate() {
            for (to, calls) in made.iter().filter(|(to, _)| is_out(from, **to)) {
                entries[circles.of[*to]] += calls;
            }
        }
        // The start is called by nothing. It also enters a circle that nothing else does.
        entries[circles.of[START_AT]] = 1.0;
        let mut started = vec![];
        for (circle, members) in circles.members.iter().enumerate() {
            let is_there = |at: &&usize| run.count[**at] > 0.0;
            if entries[circle] == 0.0
                && let Some(first) = members.iter().find(is_there)
            {
                entries[circle] = 1.0;
                started.push((*first, 1.0));
            }
        }
        let per = |at: usize| 1.0 / entries[circles.of[at]].max(f64::MIN_POSITIVE);
        let functions = 0..run.own.len();
        let out = |at: usize| {
            let out = run.calls[at].iter().filter(|(to, _)| is_out(at, **to));
            out.map(|(to, calls)| (*to, calls * per(at))).collect()
        };
        let mut side = Self {
            count: run.count.clone(),
            own: functions.clone().map(|at| run.own[at] * per(at)).collect(),
            calls: functions.map(out).collect(),
            entries,
        };
        side.calls[START_AT].extend(started);
        side
    }

    /// This run, with the other one's code for circles that do not occur here.
    fn filled(&self, other: &Self, circles: &Circles) -> Self {
        let mut filled = self.clone();
        for (at, circle) in circles.of.iter().enumerate() {
            if self.entries[*circle] == 0.0 {
                filled.own[at] = other.own[at];
                filled.calls[at].clone_from(&other.calls[at]);
            }
        }
        filled
    }

    /// Cost of an entry of each circle, with everything below it.
    fn below(&self, circles: &Circles) -> Vec<f64> {
        let mut below = vec![0.0; circles.members.len()];
        for (circle, members) in circles.members.iter().enumerate().rev() {
            let calls = members.iter().flat_map(|at| &self.calls[*at]);
            let further: f64 = calls
                .map(|(to, calls)| calls * below[circles.of[*to]])
                .sum();
            let own: f64 = members.iter().map(|at| self.own[*at]).sum();
            below[circle] = own + further;
        }
        below
    }
}

/// The part of a function in the difference; `None` without any.
fn cause(
    at: usize,
    names: &[&str],
    circles: &Circles,
    sides: &[Side; 2],
    below: &[Vec<f64>; 2],
) -> Option<Cause> {
    let both = |of: &dyn Fn(&Side) -> f64| [of(&sides[0]), of(&sides[1])];
    let entries = both(&|side| side.entries[circles.of[at]]);
    // The code of a circle that occurs on one side only is the same on both.
    if entries.contains(&0.0) {
        return None;
    }
    // The mean of both directions of the identity.
    let weigh = |change: f64, cost: [f64; 2]| {
        f64::midpoint(entries[0] * change * cost[1], entries[1] * change * cost[0])
    };
    let own = both(&|side| side.own[at]);
    let own_difference = weigh(own[1] - own[0], [1.0; 2]);
    let calls = both(&|side| side.count[at]);
    // Per call, not per entry.
    let per = |side: usize, value: f64| match calls[side] > 0.0 {
        true => value * entries[side] / calls[side],
        false => 0.0,
    };
    let callees: BTreeSet<&usize> = sides
        .iter()
        .flat_map(|side| side.calls[at].keys())
        .collect();
    let mut difference = own_difference;
    let mut greatest = (own_difference.abs(), None);
    for callee in callees {
        let made = both(&|side| side.calls[at].get(callee).copied().unwrap_or(0.0));
        let circle = circles.of[*callee];
        let part = weigh(made[1] - made[0], [below[0][circle], below[1][circle]]);
        difference += part;
        if part.abs() > greatest.0 {
            let callee = Callee {
                function: names[*callee].to_owned(),
                calls: [per(0, made[0]), per(1, made[1])],
                occurs: both(&|side| side.count[*callee]).map(|count| count > 0.0),
            };
            greatest = (part.abs(), Some(callee));
        }
    }
    (difference != 0.0).then(|| Cause {
        function: names[at].to_owned(),
        difference,
        calls,
        own: [per(0, own[0]), per(1, own[1])],
        circle: circles.members[circles.of[at]].len() > 1,
        callee: greatest.1,
    })
}

#[cfg(test)]
mod tests;
