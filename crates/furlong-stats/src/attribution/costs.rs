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

    /// Returns this run with the crate of its `main` named as the base's, if they differ.
    pub(super) fn renamed_like<'a>(&'a self, base: &Self) -> Cow<'a, Self> {
        let Some(crates) = Crates::of([base, self].map(|run| run.functions.keys())) else {
            return Cow::Borrowed(self);
        };
        let functions = self.functions.iter().map(|(name, one)| {
            let calls = one.calls.iter();
            let calls = calls.map(|(callee, calls)| (crates.rename(callee), *calls));
            let calls = calls.collect();
            (
                crates.rename(name),
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

/// The two names of a crate: two builds of a program may have two.
pub(crate) struct Crates {
    /// Beginning of the names in the base.
    base: String,
    /// Beginning of the names in the other build.
    other: String,
}

impl Crates {
    /// Finds the crates of `main` in the names of functions. `None` if they are the same, or one
    /// has none.
    pub(crate) fn of<'a, N: IntoIterator<Item = &'a String>>(builds: [N; 2]) -> Option<Self> {
        let main = |names: N| {
            let names = names.into_iter();
            let mut crates = names.filter_map(|name| name.strip_suffix("main"));
            crates.find(|name| {
                name.strip_suffix("::")
                    .is_some_and(|name| !name.contains(':'))
            })
        };
        let [base, other] = builds.map(main);
        let (base, other) = (base?.to_owned(), other?.to_owned());
        (base != other).then_some(Self { base, other })
    }

    /// Returns a name of the other build as the base has it.
    pub(crate) fn rename(&self, name: &str) -> String {
        let mut renamed = String::with_capacity(name.len());
        for part in name.split_inclusive(|c: char| !c.is_alphanumeric() && !"_:".contains(c)) {
            match part.strip_prefix(self.other.as_str()) {
                Some(rest) => renamed.extend([&self.base, rest]),
                None => renamed.push_str(part),
            }
        }
        renamed
    }
}
