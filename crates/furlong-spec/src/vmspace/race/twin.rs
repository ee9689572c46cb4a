//! Values that hold a number twice, so that a reader detects one that is torn or dropped.

use furlong::vmspace::Value;

/// An object's number, in a box of its own and inverted next to it.
#[derive(Clone, Debug)]
pub(super) struct Twin(Box<u64>, u64);

impl Twin {
    /// A value with both copies intact.
    pub(super) fn new(number: u64) -> Self {
        Self(Box::new(number), !number)
    }

    /// The number, if both copies agree.
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
        // Visible to a reader that still uses the dropped value.
        *self.0 = 0;
        self.1 = 0;
    }
}
