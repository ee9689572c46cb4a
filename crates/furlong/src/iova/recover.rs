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
    /// A release of a part or of a range frees nothing beyond it. What the change was about is then
    /// the piece that was being taken out: it is reserved as before or free, whether or not it was
    /// handed out; pieces before it are free, and those behind it are reserved. What is left of an
    /// extent that was being cut is reserved, perhaps as [`Granted`](super::Kind::Granted) with no
    /// grant of it in the world. Between the panic and `recover`, what only reads may show what is
    /// left above a cut as free.
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
        self.reserve_rest();
        self.is_interrupted = false;
    }

    /// Reserves what an interrupted cut has left free above the part that it took out.
    fn reserve_rest(&mut self) {
        let Some((rest, kind)) = self.rest else {
            return;
        };
        // The extent was not cut yet, or what is left of it was linked already.
        let next = self.tree.lower_bound(rest.first);
        let is_reserved = next.is_some_and(|at| self.tree.item(at).start <= rest.last);
        if !is_reserved {
            let at = self.take(rest.into());
            let at = at.expect("the node that was taken for it is free again");
            self.join(at, next, kind);
        }
        self.rest = None;
    }
}
