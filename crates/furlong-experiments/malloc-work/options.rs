//! Parameters of a work.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::said::die;

/// Numbers by name. A name that the work does not read ends the program.
pub(crate) struct Options(RefCell<BTreeMap<String, u64>>);

impl Options {
    /// Parses `name=number` arguments.
    pub(crate) fn read(arguments: impl Iterator<Item = String>) -> Self {
        let pair = |argument: String| {
            let (name, number) = argument.split_once('=')?;
            Some((name.to_owned(), number.parse().ok()?))
        };
        let mut options = BTreeMap::new();
        for argument in arguments {
            let Some((name, number)) = pair(argument.clone()) else {
                die(&format!("`{argument}` is not name=number"));
            };
            options.insert(name, number);
        }
        Self(RefCell::new(options))
    }

    /// Removes and returns a required number.
    pub(crate) fn take(&self, name: &str) -> u64 {
        match self.0.borrow_mut().remove(name) {
            Some(number) => number,
            None => die(&format!("`{name}` is missing")),
        }
    }

    /// As [`Options::take`], for the size of something in memory: at least 1.
    pub(crate) fn size(&self, name: &str) -> usize {
        match usize::try_from(self.take(name)) {
            Ok(size) if size > 0 => size,
            _ => die(&format!("`{name}` must be at least 1")),
        }
    }

    /// Checks that all parameters have been taken.
    pub(crate) fn done(&self) {
        if let Some(name) = self.0.borrow().keys().next() {
            die(&format!("this work has no `{name}`"));
        }
    }
}
