//! What a space hands out.
#![forbid(unsafe_code)]

use super::tag::Tag;
use crate::addr::{Extent, Iova};
use crate::rbtree::NodeId;

/// A reserved extent, whole granules, and the data in it.
///
/// It is the only thing that releases what it stands for without a search, and it is not `Copy`: an
/// extent cannot be released twice by it. Dropping it leaks the extent, which stays reserved and
/// can be found by its address.
///
/// Only a release [by address](super::Space::release_at) gets around that: where the very same
/// extent has been granted again after one, the grant that it had before may release what is
/// somebody else's. So drop that grant first.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "an extent stays reserved until its grant is released"]
pub struct Grant {
    pub(super) at: NodeId,
    /// Stands where the grant would be padded.
    pub(super) tag: Tag,
    pub(super) extent: Extent<Iova>,
    pub(super) data: Extent<Iova>,
}

impl Grant {
    /// What is reserved: whole granules.
    #[inline]
    #[must_use]
    pub fn extent(&self) -> Extent<Iova> {
        self.extent
    }

    /// The bytes asked for; fewer where the request was split at a boundary.
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

    /// A small number that no other grant of the space has at the same time: an index for the
    /// caller's own table.
    #[inline]
    #[must_use]
    pub fn index(&self) -> usize {
        self.at.index()
    }
}

/// What an extent is reserved for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Somebody holds its [`Grant`].
    Granted = 0,
    /// A region of the firmware's or the machine's: it may overlap others of its kind, and is
    /// released by its address only.
    Fixed = 1,
    /// Nobody holds its grant: it was restored from a saved state, or left when a range that cut it
    /// was released, and nobody has claimed it yet.
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

    /// The kind that has this number where a space is saved.
    #[cfg(feature = "alloc")]
    pub(super) const fn from_number(number: u8) -> Option<Self> {
        match number {
            0..=2 => Some(Self::from_mark(number)),
            _ => None,
        }
    }
}

/// A reserved extent as a space knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owned {
    /// Whole granules.
    pub extent: Extent<Iova>,
    /// What for.
    pub kind: Kind,
    /// The [`index`](Grant::index) of its grant, where it has one.
    pub index: usize,
}
