//! Extents that nobody holds the grant of: claimed again, or found to be leaks.
#![forbid(unsafe_code)]

use core::error::Error;
use core::fmt;

use super::space::whole;
use super::{Config, Grant, Kind, Owned, ReleaseError, Space, Storage};
use crate::addr::{Extent, Iova};
use crate::rbtree::NodeId;

/// Why an extent was not claimed; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimError {
    /// It is not made of whole granules.
    Ragged(Extent<Iova>),
    /// Nothing of it is reserved.
    NotReserved,
    /// This one overlaps it, but is not the same.
    Partial(Extent<Iova>),
    /// Somebody holds its grant.
    Granted,
    /// It is a fixed region.
    Fixed,
}

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ragged(extent) => write!(f, "{extent:?} is not made of whole granules"),
            Self::NotReserved => f.write_str("nothing of it is reserved"),
            Self::Partial(owner) => write!(f, "{owner:?} is reserved as a whole"),
            Self::Granted => f.write_str("somebody holds its grant"),
            Self::Fixed => f.write_str("it is a fixed region"),
        }
    }
}

impl Error for ClaimError {}

impl<C: Config, S: Storage<C>> Space<C, S> {
    /// The grant of an [`Unclaimed`](Kind::Unclaimed) extent, which is [`Granted`](Kind::Granted)
    /// from then on. All of it is data.
    ///
    /// # Errors
    /// See [`ClaimError`]; nothing has changed.
    ///
    /// # Cost
    /// O(log n), no node.
    pub fn claim(&mut self, extent: Extent<Iova>) -> Result<Grant, ClaimError> {
        let at = self.exactly(extent).map_err(|error| match error {
            ReleaseError::Ragged(extent) => ClaimError::Ragged(extent),
            ReleaseError::Partial(owner) => ClaimError::Partial(owner),
            ReleaseError::NotReserved => ClaimError::NotReserved,
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

    /// The extents that nobody has claimed, in ascending order: after a restored service has
    /// claimed its own, the leaks.
    ///
    /// # Cost
    /// O(n) for all of them, whatever their number.
    pub fn unclaimed(&self) -> impl DoubleEndedIterator<Item = Owned> + '_ {
        self.reserved()
            .filter(|owned| owned.kind == Kind::Unclaimed)
    }

    /// Releases the extents that nobody has claimed and hands each to `released`, in ascending
    /// order. Returns how many there were.
    ///
    /// # Cost
    /// O(n), and for each what [`release`](Self::release) costs.
    pub fn release_unclaimed(&mut self, mut released: impl FnMut(Owned)) -> usize {
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
