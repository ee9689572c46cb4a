//! The CPU that a worker is: one of its own, or the processor that runs it.
#![forbid(unsafe_code)]

use super::iova_magazine::{FOLLOWS, become_cpu};

/// Which CPUs workers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seats {
    /// Each is one of its own, whatever runs it.
    Own,
    /// Each is the processor that runs it, as in a kernel. Where one thread plays them all there
    /// are so many processors, which workers take in turn.
    Processors(usize),
}

impl Seats {
    /// Makes this thread the CPU of a worker that no other thread works for.
    pub(crate) fn take(self, worker: usize) {
        become_cpu(match self {
            Self::Own => worker,
            Self::Processors(_) => FOLLOWS,
        });
    }

    /// The same for a thread that works for all of them.
    pub(crate) fn play(self, worker: usize) {
        become_cpu(match self {
            Self::Own => worker,
            Self::Processors(count) => worker % count,
        });
    }
}

#[cfg(test)]
mod tests {
    use furlong::sync::Cpu;

    use super::Seats;
    use crate::iova_magazine::ThreadCpu;

    #[test]
    fn a_worker_is_its_own_cpu_or_the_one_that_runs_it() {
        Seats::Own.take(3);
        assert_eq!(ThreadCpu.number(), 3);
        Seats::Processors(2).play(3);
        assert_eq!(ThreadCpu.number(), 1);
        // So many processors no machine has.
        Seats::Processors(2).take(1 << 20);
        assert!(ThreadCpu.number() < 1 << 20);
    }
}
