//! Assigns a CPU number to each thread of a loom model.
#![forbid(unsafe_code)]

use std::cell::Cell;

use furlong::sync::Cpu;

loom::thread_local! {
    static CPU: Cell<usize> = Cell::new(0);
}

/// The CPU of the calling thread: 0 until [`on_cpu`].
#[derive(Default)]
pub(crate) struct ThreadCpu;

impl Cpu for ThreadCpu {
    fn number(&self) -> usize {
        CPU.with(Cell::get)
    }
}

/// Puts the calling thread on this CPU from now on.
pub(crate) fn on_cpu(cpu: usize) {
    CPU.with(|number| number.set(cpu));
}
