//! A worker's CPU number: its own, or that of the processor that runs it.

use crate::iova_magazine::{FOLLOWS, become_cpu};

/// Assignment of CPU numbers to workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CpuBinding {
    /// Each worker has its own number, whatever processor runs it.
    Own,
    /// Each worker has the number of the processor that runs it, as in a kernel. If one thread
    /// plays all workers, this is the number of processors, which they take in turn.
    Processors(usize),
}

impl CpuBinding {
    /// Gives this thread the CPU number of a worker that no other thread plays.
    pub(crate) fn take(self, worker: usize) {
        become_cpu(match self {
            Self::Own => worker,
            Self::Processors(_) => FOLLOWS,
        });
    }

    /// The same for a thread that plays all workers.
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

    use super::CpuBinding;
    use crate::iova_magazine::ThreadCpu;

    #[test]
    fn a_worker_is_its_own_cpu_or_the_one_that_runs_it() {
        CpuBinding::Own.take(3);
        assert_eq!(ThreadCpu.number(), 3);
        CpuBinding::Processors(2).play(3);
        assert_eq!(ThreadCpu.number(), 1);
        // No machine has that many processors.
        CpuBinding::Processors(2).take(1 << 20);
        assert!(ThreadCpu.number() < 1 << 20);
    }
}
