//! Taking extents out of magazines and quarantines into the tree, where anybody can get them.
#![forbid(unsafe_code)]

use super::class::Class;
use super::cpu::Sink;
use super::domain::{Domain, DomainConfig};
use super::flush::Flush;
use super::magazine::Shelf;

impl<F: Flush, C: DomainConfig> Domain<F, C> {
    /// Frees in the tree all that one CPU has, its quarantine after a flush, and says how many
    /// extents that were: for a CPU that is taken away. If it runs on it may be used as before.
    ///
    /// # Cost
    /// A flush if anything waits for one; a release a token and extent, at most
    /// [`DomainConfig::MAGAZINE`] of them under one lock.
    pub fn drain_cpu(&self, cpu: usize) -> usize {
        if cpu >= self.parts.len() {
            return 0;
        }
        let (waiting, end) = {
            let part = self.part(cpu);
            (part.ring.len(), part.ring.end())
        };
        let mut freed = 0;
        if waiting > 0 {
            self.flush_device(cpu);
            freed = self.redeem_below(cpu, end, Sink::Tree);
        }
        freed + self.unload(cpu)
    }

    /// Frees in the tree all that is in any quarantine, after a flush, and in any magazine, and
    /// says how many extents that were. Magazines of the depots stay there, empty.
    ///
    /// # Cost
    /// As [`drain_cpu`](Self::drain_cpu), for all.
    pub fn drain_all(&self) -> usize {
        self.flush_all(Sink::Tree) + self.drain_magazines()
    }

    pub(super) fn drain_magazines(&self) -> usize {
        let held = (0..self.parts.len()).map(|cpu| self.unload(cpu));
        let kept = Class::all().map(|class| self.empty_depot(class));
        held.chain(kept).sum()
    }

    /// Frees what the magazines of a CPU hold. Their memory goes outside the lock.
    fn unload(&self, cpu: usize) -> usize {
        let mut freed = 0;
        for class in Class::all().take(C::CLASSES) {
            let mut part = self.part(cpu);
            let shelf = core::mem::replace(&mut part.shelves[class.order()], Shelf::EMPTY);
            drop(part);
            let magazines = shelf.into_magazines();
            freed += magazines
                .map(|mut magazine| self.empty_into_tree(class, &mut magazine))
                .iter()
                .sum::<usize>();
        }
        freed
    }

    /// Frees what the full magazines of a depot hold; they stay there, empty.
    fn empty_depot(&self, class: Class) -> usize {
        let mut freed = 0;
        // Others may bring more meanwhile: those are not waited for.
        for _ in 0..C::DEPOT {
            let full = self.depots[class.order()].0.lock().depot.take_full();
            let Some(mut full) = full else { break };
            freed += self.empty_into_tree(class, &mut full);
            self.put_away(class, full);
        }
        freed
    }
}
