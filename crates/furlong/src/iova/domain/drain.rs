//! Draining: moves extents from magazines and quarantines into the tree, for all CPUs to use.

use super::class::Class;
use super::flush::Flush;
use super::magazine::Shelf;
use super::per_cpu::Sink;
use super::shared_space::{Domain, DomainConfig};

impl<F: Flush, C: DomainConfig> Domain<F, C> {
    /// Frees in the tree all extents that one CPU holds, its quarantine after a flush, and returns
    /// their number. For a CPU that is taken offline; if it still runs, it may be used as before.
    ///
    /// # Cost
    /// A flush if any token waits for one; a release per token and extent, at most
    /// [`DomainConfig::MAGAZINE`] of them under one lock.
    pub fn drain_cpu(&self, cpu: usize) -> usize {
        if cpu >= self.per_cpu.len() {
            return 0;
        }
        let (waiting, end) = {
            let per_cpu = self.per_cpu(cpu);
            (per_cpu.ring.len(), per_cpu.ring.end())
        };
        let mut freed = 0;
        if waiting > 0 {
            self.flush_device(cpu);
            freed = self.redeem_below(cpu, end, Sink::Tree);
        }
        freed + self.unload(cpu)
    }

    /// Frees in the tree all extents in any quarantine, after a flush, and in any magazine. Returns
    /// their number. The depots keep their magazines, empty.
    ///
    /// # Cost
    /// Same as [`drain_cpu`](Self::drain_cpu), for all CPUs.
    pub fn drain_all(&self) -> usize {
        self.flush_all(Sink::Tree) + self.drain_magazines()
    }

    pub(super) fn drain_magazines(&self) -> usize {
        let held = (0..self.per_cpu.len()).map(|cpu| self.unload(cpu));
        let kept = Class::all()
            .take(C::CLASSES)
            .map(|class| self.empty_depot(class));
        held.chain(kept).sum()
    }

    /// Frees the extents in a CPU's magazines. The magazines' memory is freed outside the lock.
    fn unload(&self, cpu: usize) -> usize {
        let mut freed = 0;
        for class in Class::all().take(C::CLASSES) {
            let mut per_cpu = self.per_cpu(cpu);
            let shelf = core::mem::replace(&mut per_cpu.shelves[class.order()], Shelf::EMPTY);
            drop(per_cpu);
            let magazines = shelf.into_magazines();
            freed += magazines
                .map(|mut magazine| self.empty_into_tree(class, &mut magazine))
                .iter()
                .sum::<usize>();
        }
        freed
    }

    /// Frees the extents in the full magazines of a depot, which keeps them empty.
    fn empty_depot(&self, class: Class) -> usize {
        let mut freed = 0;
        // Bounded, because other CPUs may add full magazines meanwhile.
        for _ in 0..C::DEPOT {
            let full = self.depots[class.order()].0.lock().depot.take_full();
            let Some(mut full) = full else { break };
            freed += self.empty_into_tree(class, &mut full);
            self.put_away(class, full);
        }
        freed
    }
}
