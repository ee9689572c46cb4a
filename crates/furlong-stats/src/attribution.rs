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

/// Largest number of sweeps for functions that call each other in a circle.
const SWEEPS_MAX: usize = 1000;

/// Relative change at which such a circle counts as solved.
const SOLVED: f64 = 1e-12;

/// Attributes the difference between two runs to functions, by name.
///
/// # Cost
///
/// O(calls) without recursion.
#[must_use]
pub fn attribution([base, other]: [&Costs; 2]) -> Attribution {
    let other = renamed(base, other);
    let runs = [base, &other];
    let names: BTreeSet<&str> = runs.iter().flat_map(|run| names(run)).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let sides = runs.map(|run| Side::new(run, &names));
    let below = [
        sides[0].filled(&sides[1]).below(),
        sides[1].filled(&sides[0]).below(),
    ];
    let causes = (0..names.len()).filter_map(|at| cause(at, &names, &sides, &below));
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

/// A run with functions by number.
#[derive(Clone)]
struct Side {
    /// Calls of each function.
    count: Vec<f64>,
    /// Own cost per call.
    own: Vec<f64>,
    /// Calls per call, by number.
    calls: Vec<BTreeMap<usize, f64>>,
}

impl Side {
    fn new(run: &Costs, names: &[&str]) -> Self {
        let number = |name: &str| names.binary_search(&name).unwrap_or_default();
        let mut count = vec![0.0; names.len()];
        let called = run.functions.values().flat_map(|one| &one.calls);
        for (name, calls) in called {
            count[number(name)] += calls;
        }
        let start = number(START);
        let entered: Vec<usize> = run.functions.keys().map(|name| number(name)).collect();
        let entered: Vec<usize> = entered.into_iter().filter(|at| count[*at] == 0.0).collect();
        let mut side = Self {
            own: vec![0.0; names.len()],
            calls: vec![BTreeMap::new(); names.len()],
            count,
        };
        for at in entered {
            side.count[at] = 1.0;
            side.calls[start].insert(at, 1.0);
        }
        side.count[start] = 1.0;
        for (name, one) in &run.functions {
            let at = number(name);
            side.own[at] += one.own / side.count[at];
            for (callee, calls) in &one.calls {
                *side.calls[at].entry(number(callee)).or_default() += calls / side.count[at];
            }
        }
        side
    }

    /// This run, with the other one's code for functions that do not occur here.
    fn filled(&self, other: &Self) -> Self {
        let mut filled = self.clone();
        for at in 0..self.count.len() {
            if self.count[at] == 0.0 {
                filled.own[at] = other.own[at];
                filled.calls[at].clone_from(&other.calls[at]);
            }
        }
        filled
    }

    /// Cost of a call of each function, with everything below it.
    fn below(&self) -> Vec<f64> {
        let order = self.callees_first();
        let mut below = vec![0.0; self.count.len()];
        for _ in 0..SWEEPS_MAX {
            let mut change = 0.0_f64;
            for at in &order {
                let others = self.calls[*at].iter().filter(|(callee, _)| *callee != at);
                let rest: f64 = others.map(|(callee, calls)| calls * below[*callee]).sum();
                let itself = self.calls[*at].get(at).copied().unwrap_or(0.0).min(1.0);
                let value = match itself < 1.0 {
                    true => (self.own[*at] + rest) / (1.0 - itself),
                    false => self.own[*at] + rest,
                };
                change = change.max((value - below[*at]).abs() / value.abs().max(1.0));
                below[*at] = value;
            }
            if change < SOLVED {
                break;
            }
        }
        below
    }

    /// All functions, called ones before their callers wherever there is no circle.
    fn callees_first(&self) -> Vec<usize> {
        let mut order = vec![];
        let mut seen = vec![false; self.count.len()];
        for root in 0..self.count.len() {
            // Each entry: a function, and those of its callees that are still to be visited.
            let mut path = vec![];
            if !std::mem::replace(&mut seen[root], true) {
                path.push((root, self.calls[root].keys()));
            }
            while let Some((at, callees)) = path.last_mut() {
                match callees.next() {
                    Some(next) if !std::mem::replace(&mut seen[*next], true) => {
                        path.push((*next, self.calls[*next].keys()));
                    }
                    Some(_) => {}
                    None => {
                        order.push(*at);
                        path.pop();
                    }
                }
            }
        }
        order
    }
}

/// The part of a function in the difference; `None` without any.
fn cause(at: usize, names: &[&str], sides: &[Side; 2], below: &[Vec<f64>; 2]) -> Option<Cause> {
    let occurs = |at: usize| [0, 1].map(|side| sides[side].count[at] > 0.0);
    // The code of a function that occurs on one side only is the same on both.
    if occurs(at) != [true; 2] {
        return None;
    }
    // The mean of both directions of the identity.
    let weigh = |change: f64, cost: [f64; 2]| {
        let [base, other] = [sides[0].count[at], sides[1].count[at]];
        f64::midpoint(base * change * cost[1], other * change * cost[0])
    };
    let own = [sides[0].own[at], sides[1].own[at]];
    let own_difference = weigh(own[1] - own[0], [1.0; 2]);
    let callees: BTreeSet<&usize> = sides
        .iter()
        .flat_map(|side| side.calls[at].keys())
        .collect();
    let mut difference = own_difference;
    let mut greatest = (own_difference.abs(), None);
    for callee in callees {
        let calls = [0, 1].map(|side| sides[side].calls[at].get(callee).copied().unwrap_or(0.0));
        let part = weigh(calls[1] - calls[0], [below[0][*callee], below[1][*callee]]);
        difference += part;
        if part.abs() > greatest.0 {
            let function = names[*callee].to_owned();
            let occurs = occurs(*callee);
            let callee = Callee {
                function,
                calls,
                occurs,
            };
            greatest = (part.abs(), Some(callee));
        }
    }
    let calls = [sides[0].count[at], sides[1].count[at]];
    let cause = Cause {
        function: names[at].to_owned(),
        difference,
        calls,
        own,
        callee: greatest.1,
    };
    (difference != 0.0).then_some(cause)
}

#[cfg(test)]
mod tests;
