//! The spaces that are attacked.
#![forbid(unsafe_code)]

use furlong::vmspace::Value;
use furlong_spec::hostile::{Tracked, user_code};

/// What areas have: a number on the heap, all of whose code is the user's.
#[derive(Clone, Debug)]
pub(crate) struct Object(pub Tracked);

impl Value for Object {
    fn merges(&self, next: &Self) -> bool {
        user_code("Value::merges");
        self.0.number() == next.0.number()
    }
}

/// The first byte of a page that no layout keeps free.
pub(crate) fn page(number: u64) -> u64 {
    0x100_0000 + 0x1000 * number
}
