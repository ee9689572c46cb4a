//! The values: a number that is there twice, so that a reader tells what is torn or was dropped.
#![forbid(unsafe_code)]

use furlong::vmspace::Value;

/// An object's number, in a box of its own and beside it, inverted.
#[derive(Clone, Debug)]
pub(super) struct Twin(Box<u64>, u64);

impl Twin {
    /// A whole one.
    pub(super) fn new(number: u64) -> Self {
        Self(Box::new(number), !number)
    }

    /// The number, if it is whole.
    pub(super) fn number(&self) -> Option<u64> {
        let number = *core::hint::black_box(&*self.0);
        (number == !self.1).then_some(number)
    }
}

impl Value for Twin {
    fn merges(&self, next: &Self) -> bool {
        self.1 == next.1
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        // What a reader sees who still has it.
        *self.0 = 0;
        self.1 = 0;
    }
}
