//! Repair of a space after a panic of user code during a change.
//!
//! The extents themselves are in the tree, whose links are intact. The ends and the free list are
//! rebuilt from it.

use super::spare::Spare;
use crate::iova::{Config, Space, Storage};

impl<C: Config, S: Storage<C>> Space<C, S> {
    /// Repairs the space after a panic of user code ([`Measure`](crate::iova::Measure), counters,
    /// an array of nodes) during a change. Every change does so first; this method lets the caller
    /// choose when.
    ///
    /// The extent being changed is then either reserved or free. If it is reserved and its grant
    /// was lost in the panic, it has leaked: [`release_at`](Self::release_at) frees it.
    ///
    /// An interrupted release of a part or of a range frees nothing outside it. The piece being
    /// removed is either reserved as before or free, even if it was not yet handed out. Pieces
    /// before it are free, and pieces after it are reserved. The remainder of an extent that was
    /// being cut is reserved, possibly as [`Granted`](crate::iova::Kind::Granted) although no grant
    /// of it exists. Between the panic and `recover`, reads may report the remainder above a cut as
    /// free.
    ///
    /// # Panics
    /// If user code panics again; the space is then as before.
    ///
    /// # Cost
    /// O(1) if nothing has panicked, else O(nodes). Allocates nothing.
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

    /// Reserves the remainder above the removed part if an interrupted cut has left it free.
    fn reserve_rest(&mut self) {
        let Some((rest, kind)) = self.rest else {
            return;
        };
        // Reserved already if the extent was not cut yet, or if its remainder was linked.
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
