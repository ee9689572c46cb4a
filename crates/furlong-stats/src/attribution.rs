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
//! swapped it holds as well. The costs `I'` are those of the run that costs more in all: it has
//! many of the calls that make the difference, so its mean is theirs.
//!
//! Functions that call each other in a circle have great terms for a small change in how they do:
//! one calls the other more often, which calls back less often. So the sum of these terms is taken
//! over the circle. Each member that is called more often has the part of it that its calls cost.

mod costs;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub(crate) use costs::Crates;
pub use costs::{Calls, Costs, Function};

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
/// O(calls), besides finding names. A circle of n functions costs up to O(n^3).
#[must_use]
pub fn attribution([base, other]: [&Costs; 2]) -> Attribution {
    let other = other.renamed_like(base);
    let runs = [base, &other];
    let names: BTreeSet<&str> = runs.iter().flat_map(|run| run.names()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let numbered = runs.map(|run| Numbered::new(run, &names));
    let circles = Circles::of(&numbered, names.len());
    let sides = numbered.map(Side::new);
    let totals = runs.map(Costs::total);
    let less = usize::from(totals[1] < totals[0]);
    let filled = sides[1 - less].filled(&sides[less]);
    let parts = Parts {
        names: &names,
        circles: &circles,
        sides: &sides,
        less,
        below: &filled.below(&circles),
    };
    let of_circles = circles.members.iter().map(|members| parts.causes(members));
    let mut causes: Vec<Cause> = of_circles.flatten().collect();
    causes.sort_by(|a, b| b.difference.abs().total_cmp(&a.difference.abs()));
    Attribution { totals, causes }
}

impl Attribution {
    /// This with the greatest causes only.
    #[must_use]
    pub fn greatest(mut self, most: usize) -> Self {
        self.causes.truncate(most);
        self
    }
}

/// Name of the start of a program, which enters what nothing calls.
pub(crate) const START: &str = "";

/// Its number: it is the first by name.
pub(crate) const START_AT: usize = 0;

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
                numbered.calls[at].insert(number(callee), calls.number);
                numbered.count[number(callee)] += calls.number;
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

/// A run, per call of each function.
#[derive(Clone)]
struct Side {
    /// Calls of each function.
    count: Vec<f64>,
    /// Cost of its own code.
    own: Vec<f64>,
    /// Calls that it makes.
    calls: Vec<BTreeMap<usize, f64>>,
}

impl Side {
    fn new(mut run: Numbered) -> Self {
        // The start enters what it does not reach otherwise: a circle that nothing else enters.
        let mut seen = vec![false; run.own.len()];
        for root in [START_AT].into_iter().chain(0..run.own.len()) {
            if seen[root] || run.count[root] == 0.0 {
                continue;
            }
            if root != START_AT {
                *run.calls[START_AT].entry(root).or_default() += 1.0;
                run.count[root] += 1.0;
            }
            let mut reached = vec![root];
            while let Some(at) = reached.pop() {
                if !std::mem::replace(&mut seen[at], true) {
                    let made = run.calls[at].iter().filter(|(_, calls)| **calls > 0.0);
                    reached.extend(made.map(|(callee, _)| *callee));
                }
            }
        }
        for (at, count) in run.count.iter().enumerate() {
            let per = 1.0 / count.max(f64::MIN_POSITIVE);
            run.own[at] *= per;
            run.calls[at].values_mut().for_each(|calls| *calls *= per);
        }
        let Numbered { count, own, calls } = run;
        Self { count, own, calls }
    }

    /// This run, with the other one's code for functions that do not occur here.
    fn filled(&self, other: &Self) -> Self {
        let mut filled = self.clone();
        for (at, count) in self.count.iter().enumerate() {
            if *count == 0.0 {
                filled.own[at] = other.own[at];
                filled.calls[at].clone_from(&other.calls[at]);
            }
        }
        filled
    }

    /// Cost of a call of a function without those within its circle.
    fn outside(&self, at: usize, circles: &Circles, below: &[f64]) -> f64 {
        let out = self.calls[at].iter();
        let out = out.filter(|(callee, _)| circles.of[**callee] != circles.of[at]);
        self.own[at]
            + out
                .map(|(callee, calls)| calls * below[*callee])
                .sum::<f64>()
    }

    /// Cost of a call of each function, with everything below it.
    fn below(&self, circles: &Circles) -> Vec<f64> {
        let mut below = vec![0.0; self.own.len()];
        for members in circles.members.iter().rev() {
            let costs = members.iter().map(|at| self.outside(*at, circles, &below));
            let costs: Vec<f64> = costs.collect();
            let place = |at: usize| members.iter().position(|member| *member == at);
            let rows = members.iter().map(|at| {
                let made = self.calls[*at].iter();
                let within = made.filter(|(callee, _)| circles.of[**callee] == circles.of[*at]);
                within.filter_map(|(callee, calls)| Some((place(*callee)?, *calls)))
            });
            let solved = with_calls(rows.map(Iterator::collect).collect(), costs);
            for (at, cost) in members.iter().zip(solved) {
                below[*at] = cost;
            }
        }
        below
    }
}

/// Returns the costs of calls with those of all that they call, for functions with these calls of
/// each other and these costs without them.
///
/// One function after the other is inlined into those that come after it, until the last one calls
/// nothing; then it is put into those before it.
fn with_calls(mut calls: Vec<BTreeMap<usize, f64>>, mut costs: Vec<f64>) -> Vec<f64> {
    for at in 0..calls.len() {
        let mut own = std::mem::take(&mut calls[at]);
        // Each call returns after so many of itself.
        let again = 1.0 / (1.0 - own.remove(&at).unwrap_or(0.0)).max(f64::EPSILON);
        own.values_mut().for_each(|calls| *calls *= again);
        costs[at] *= again;
        for later in at + 1..calls.len() {
            if let Some(times) = calls[later].remove(&at) {
                costs[later] += times * costs[at];
                for (callee, made) in &own {
                    *calls[later].entry(*callee).or_default() += times * made;
                }
            }
        }
        calls[at] = own;
    }
    for at in (0..calls.len()).rev() {
        let further = calls[at]
            .iter()
            .map(|(callee, calls)| calls * costs[*callee]);
        costs[at] += further.sum::<f64>();
    }
    costs
}

/// The parts of functions in the difference.
struct Parts<'a> {
    names: &'a [&'a str],
    circles: &'a Circles,
    sides: &'a [Side; 2],
    /// The run that costs less, which says how often something is called.
    less: usize,
    /// Costs of calls in the other one.
    below: &'a [f64],
}

impl Parts<'_> {
    /// A value of both runs.
    fn both(&self, of: impl Fn(&Side) -> f64) -> [f64; 2] {
        [of(&self.sides[0]), of(&self.sides[1])]
    }

    /// The functions that one calls, with the calls in each run and the part of their change.
    fn calls(&self, at: usize) -> impl Iterator<Item = (usize, [f64; 2], f64)> {
        let made = self.sides.iter().flat_map(|side| side.calls[at].keys());
        let callees: BTreeSet<usize> = made.copied().collect();
        let count = self.sides[self.less].count[at];
        callees.into_iter().map(move |callee| {
            let made = self.both(|side| side.calls[at].get(&callee).copied().unwrap_or(0.0));
            let part = count * (made[1] - made[0]) * self.below[callee];
            (callee, made, part)
        })
    }

    /// The causes in a circle. A function that occurs in one run only is none: the one that calls
    /// it is.
    fn causes(&self, members: &[usize]) -> Vec<Cause> {
        let is_there = |at: &&usize| !self.both(|side| side.count[**at]).contains(&0.0);
        let members: Vec<usize> = members.iter().filter(is_there).copied().collect();
        let is_within = |callee: usize, at: usize| self.circles.of[callee] == self.circles.of[at];
        let within = members.iter().flat_map(|at| {
            let calls = self
                .calls(*at)
                .filter(|(callee, ..)| is_within(*callee, *at));
            calls.map(|(.., part)| part)
        });
        let within: f64 = within.sum();
        let shares = self.shares(&members, within);
        let cause = |(at, share): (&usize, f64)| {
            let [count, own] = [
                self.both(|side| side.count[*at]),
                self.both(|side| side.own[*at]),
            ];
            let own_part = count[self.less] * (own[1] - own[0]);
            let mut difference = own_part + share * within;
            let mut greatest = (own_part.abs(), None);
            for (callee, calls, part) in self.calls(*at) {
                if is_within(callee, *at) {
                    continue;
                }
                difference += part;
                if part.abs() > greatest.0 {
                    let callee = Callee {
                        function: self.names[callee].to_owned(),
                        calls,
                        occurs: self
                            .both(|side| side.count[callee])
                            .map(|count| count > 0.0),
                    };
                    greatest = (part.abs(), Some(callee));
                }
            }
            (difference != 0.0).then(|| Cause {
                function: self.names[*at].to_owned(),
                difference,
                calls: count,
                own,
                circle: self.circles.members[self.circles.of[*at]].len() > 1,
                callee: greatest.1,
            })
        };
        members.iter().zip(shares).filter_map(cause).collect()
    }

    /// The shares of members in the change of the calls among them: of those that are called more
    /// often, or less often if the sum is below 0, by what these calls cost.
    fn shares(&self, members: &[usize], within: f64) -> Vec<f64> {
        let cost = |at: usize| self.sides[1 - self.less].outside(at, self.circles, self.below);
        let more = |at: usize| {
            let count = self.both(|side| side.count[at]);
            ((count[1] - count[0]) * within.signum()).max(0.0)
        };
        let weights = members.iter().map(|at| more(*at) * cost(*at));
        let weights: Vec<f64> = weights.collect();
        let sum: f64 = weights.iter().sum();
        let equal = 1.0 / members.len().max(1) as f64;
        let share = |weight| if sum > 0.0 { weight / sum } else { equal };
        weights.into_iter().map(share).collect()
    }
}

#[cfg(test)]
mod tests;
