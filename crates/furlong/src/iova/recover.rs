//! What a panic of the user's code has left undone in a change of a space.
//!
//! The extents themselves are in the tree, whose links are whole; the ends and the list of free
//! nodes follow from it.
#![forbid(unsafe_code)]

use super::spare::Spare;
use super::{Config, Space, Storage};

impl<C: Config, S: Storage<C>> Space<C, S> {
    /// Makes anew what a panic of the user's code ([`Measure`](super::Measure), counters, an array
    /// of nodes) has left undone in a change. Every change does so first; this lets the caller
    /// choose when.
    ///
    /// The extent that the change was about is then reserved or free. Where it is reserved and its
    /// grant was lost with the panic, it has leaked: [`release_at`](Self::release_at) frees it.
    ///
    /// # Panics
    /// With the user's code, and the space is as before.
    ///
    /// # Cost
    /// O(1) if nothing has panicked, else O(nodes). No memory.
    #[inline]
    pub fn recover(&mut self) {
        if self.is_interrupted {
            self.rebuild();
        }
    }

    #[cold]
    #[inline(never)]
    fn rebuild(&mut self) {
        self.tree.recover();
        let ends = self.tree.first().zip(self.tree.last());
        self.ends = ends.map(|(first, last)| [first, last]);
        self.spare = Spare::of(&mut self.tree);
        self.is_interrupted = false;
    }
}
