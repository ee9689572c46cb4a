//! CPU numbers that tests choose.
#![forbid(unsafe_code)]

use std::cell::Cell;

use furlong::sync::Cpu;

thread_local! {
    static NUMBER: Cell<usize> = const { Cell::new(0) };
}

/// The CPU number that each thread sets for itself; 0 before that.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadCpu;

impl ThreadCpu {
    /// Sets the number for the current thread.
    pub fn set(number: usize) {
        NUMBER.set(number);
    }
}

impl Cpu for ThreadCpu {
    fn number(&self) -> usize {
        NUMBER.get()
    }
}
