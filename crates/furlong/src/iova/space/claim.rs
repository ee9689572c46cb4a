//! Extents whose grant is lost: claimed again, or found to be leaks.

use crate::error::messages;

use crate::addr::{Extent, Iova};
use crate::iova::search::query::whole;
use crate::iova::{Config, Grant, Kind, Owned, ReleaseError, Space, Stale, Storage};
use crate::rbtree::NodeId;

messages! {
    /// Reason why an extent was not claimed; nothing has changed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ClaimError {
        /// It is not made of whole granules.
        Ragged(it: Extent<Iova>) => "{it:?} does not consist of whole granules";
        /// None of it is reserved.
        NotReserved => "no part of it is reserved";
        /// This extent overlaps it, but is not equal to it.
        Partial(it: Extent<Iova>) => "{it:?} is reserved as a whole";
        /// Its grant is outstanding.
        Granted => "its grant is still held";
        /// It is a fixed region.
        Fixed => "it belongs to a fixed region";
    }
}

impl<C: Config, S: Storage<C>> Space<C, S> {
    /// Returns the grant of an [`Unclaimed`](Kind::Unclaimed) extent, which becomes
    /// [`Granted`](Kind::Granted). All of it counts as data.
    ///
    /// # Errors
    /// See [`ClaimError`]; nothing has changed.
    ///
    /// # Cost
    /// O(log n), no node.
    pub fn claim(&mut self, extent: Extent<Iova>) -> Result<Grant, ClaimError> {
        self.recover();
        let at = self.exactly(extent).map_err(|error| match error {
            ReleaseError::Ragged(extent) => ClaimError::Ragged(extent),
            ReleaseError::Partial(owner) => ClaimError::Partial(owner),
            ReleaseError::NotReserved => ClaimError::NotReserved,
            ReleaseError::Granted => ClaimError::Granted,
        })?;
        match self.kind(at) {
            Kind::Granted => Err(ClaimError::Granted),
            Kind::Fixed => Err(ClaimError::Fixed),
            Kind::Unclaimed => {
                self.tree.set_mark(at, Kind::Granted as u8);
                Ok(self.granted(at))
            }
        }
    }

    /// Gives up a grant and returns its extent, which becomes [`Unclaimed`](Kind::Unclaimed). It
    /// stays reserved, and needs nothing but its address to be [claimed](Self::claim) again or
    /// [released](Self::release_at).
    ///
    /// # Errors
    /// The grant is returned if it is not one of this space's current grants; nothing has changed.
    ///
    /// # Cost
    /// O(1), no node.
    pub fn disown(&mut self, grant: Grant) -> Result<Extent<Iova>, Stale> {
        if !self.holds(&grant) {
            return Err(Stale(grant));
        }
        self.tree.set_mark(grant.at, Kind::Unclaimed as u8);
        Ok(grant.extent)
    }

    /// The grant of exactly `extent`, which nobody holds: it is unclaimed, or fixed.
    #[cfg(feature = "alloc")]
    pub(crate) fn take_over(&mut self, extent: Extent<Iova>) -> Result<Grant, ReleaseError> {
        self.recover();
        let at = self.exactly(extent)?;
        if self.kind(at) == Kind::Granted {
            return Err(ReleaseError::Granted);
        }
        self.tree.set_mark(at, Kind::Granted as u8);
        Ok(self.granted(at))
    }

    /// The unclaimed extents, in ascending order. After a restored service has claimed its own,
    /// these are the leaks.
    ///
    /// # Cost
    /// O(n) for all of them, regardless of their number.
    pub fn unclaimed(&self) -> impl DoubleEndedIterator<Item = Owned> + '_ {
        self.reserved()
            .filter(|owned| owned.kind == Kind::Unclaimed)
    }

    /// Releases all unclaimed extents and passes each to `released`, in ascending order. Returns
    /// their number.
    ///
    /// # Cost
    /// O(n), plus the cost of a [`release`](Self::release) for each.
    pub fn release_unclaimed(&mut self, mut released: impl FnMut(Owned)) -> usize {
        self.recover();
        let mut next = self.tree.first();
        let mut count = 0;
        while let Some(at) = next {
            next = self.tree.next(at);
            if self.kind(at) == Kind::Unclaimed {
                let owned = self.owned(at);
                self.unlink(at);
                count += 1;
                released(owned);
            }
        }
        count
    }

    /// The node whose extent is exactly `extent`.
    pub(super) fn exactly(&self, extent: Extent<Iova>) -> Result<NodeId, ReleaseError> {
        let wanted = whole(extent, self.shift).ok_or(ReleaseError::Ragged(extent))?;
        let next = self.tree.lower_bound(wanted.first);
        let owner = next.filter(|at| self.tree.item(*at).start <= wanted.last);
        let at = owner.ok_or(ReleaseError::NotReserved)?;
        let owner = self.bytes(*self.tree.item(at));
        if owner == extent {
            Ok(at)
        } else {
            Err(ReleaseError::Partial(owner))
        }
    }
}
