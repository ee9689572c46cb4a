//! The costs of a program by function, as a profile has them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::START;

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
    /// Its calls by the name of the called function.
    pub calls: BTreeMap<String, Calls>,
}

/// The calls of one function by another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calls {
    /// Their number over all calls of the caller.
    pub number: f64,
    /// Their cost with everything below them.
    pub cost: f64,
}

impl Costs {
    /// Cost of all functions.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.functions.values().map(|one| one.own).sum()
    }

    /// This, with every cost and number of calls divided by a number of operations.
    #[must_use]
    pub fn per(mut self, operations: f64) -> Self {
        for function in self.functions.values_mut() {
            function.own /= operations;
            for calls in function.calls.values_mut() {
                calls.number /= operations;
                calls.cost /= operations;
            }
        }
        self
    }

    /// Names of the functions, of those that are only called, and of the start.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let called = self.functions.values().flat_map(|one| one.calls.keys());
        let all = self.functions.keys().chain(called).map(String::as_str);
        all.chain([START])
    }

    /// Returns this run with the crate of its `main` named as the base's, if they differ: two
    /// builds of a program may have two names.
    pub(crate) fn renamed_like<'a>(&'a self, base: &Self) -> Cow<'a, Self> {
        let main = |run: &Self| {
            let names = run.functions.keys();
            let mut crates = names.filter_map(|name| name.strip_suffix("::main"));
            crates.find(|name| !name.contains(':')).map(str::to_owned)
        };
        let (Some(from), Some(to)) = (main(self), main(base)) else {
            return Cow::Borrowed(self);
        };
        if from == to {
            return Cow::Borrowed(self);
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
        let functions = self.functions.iter().map(|(name, one)| {
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
        Cow::Owned(Self {
            functions: functions.collect(),
        })
    }
}
