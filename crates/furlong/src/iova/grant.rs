//! Grants: the reserved extents that a space hands out.

use super::quarantine::tag::Tag;
use crate::addr::{Extent, Iova};
use crate::rbtree::NodeId;

/// A reserved extent of whole granules, and the data in it.
///
/// A grant releases its extent without a search. It is not `Copy`, so an extent cannot be released
/// twice through it. Dropping a grant leaks the extent, which stays reserved and can be found by
/// its address.
///
/// Only a release [by address](super::Space::release_at) circumvents this. If the same extent is
/// granted again after such a release, the old grant may release the new owner's extent. So drop
/// the old grant first.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "an extent stays reserved until its grant is released"]
pub struct Grant {
    pub(super) at: NodeId,
    /// Placed where the struct would have padding.
    pub(super) tag: Tag,
    pub(super) extent: Extent<Iova>,
    pub(super) data: Extent<Iova>,
}

impl Grant {
    /// The reserved extent, in whole granules.
    #[inline]
    #[must_use]
    pub fn extent(&self) -> Extent<Iova> {
        self.extent
    }

    /// The requested bytes; fewer if the request was split at a boundary.
    #[inline]
    #[must_use]
    pub fn data(&self) -> Extent<Iova> {
        self.data
    }

    /// The first byte of the data.
    #[inline]
    #[must_use]
    pub fn iova(&self) -> Iova {
        self.data.start()
    }

    /// A small number, unique among the space's current grants: an index for the caller's own
    /// table.
    #[inline]
    #[must_use]
    pub fn index(&self) -> usize {
        self.at.index()
    }
}

/// Purpose of a reserved extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Its [`Grant`] is outstanding.
    Granted = 0,
    /// A region of the firmware or the machine. It may overlap others of its kind, and is released
    /// by its address only.
    Fixed = 1,
    /// No grant exists and nobody has claimed it yet. Its grant was
    /// [given up](super::Space::disown), it was restored from a saved state, or it was left over
    /// when a release of a range cut it.
    Unclaimed = 2,
}

impl Kind {
    pub(super) const fn from_mark(mark: u8) -> Self {
        match mark {
            0 => Self::Granted,
            1 => Self::Fixed,
            _ => Self::Unclaimed,
        }
    }

    /// The kind with this number in a saved space.
    #[cfg(feature = "alloc")]
    pub(super) const fn from_number(number: u8) -> Option<Self> {
        match number {
            0..=2 => Some(Self::from_mark(number)),
            _ => None,
        }
    }
}

/// A reserved extent as recorded in a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owned {
    /// Whole granules.
    pub extent: Extent<Iova>,
    /// Its purpose.
    pub kind: Kind,
    /// The [`index`](Grant::index) of its grant, if it has one.
    pub index: usize,
}
