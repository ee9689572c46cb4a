//! The values of the spaces under attack.

use furlong::vmspace::Value;
use furlong_spec::hostile::{Tracked, user_code};

/// The value of an area: a number on the heap. All of its code is user code.
#[derive(Clone, Debug)]
pub(crate) struct Object(pub Tracked);

impl Value for Object {
    fn merges(&self, next: &Self) -> bool {
        user_code("Value::merges");
        self.0.number() == next.0.number()
    }
}

/// The first address of a page that no layout keeps free.
pub(crate) fn page(number: u64) -> u64 {
    0x100_0000 + 0x1000 * number
}
