//! The states of an extent after its grant: released, sealed for a flush, free.
#![forbid(unsafe_code)]

use core::error::Error;
use core::fmt;

use super::tag::Tag;
use crate::addr::{Extent, Iova};
use crate::iova::Grant;
use crate::rbtree::NodeId;

/// A released extent that the device may still reach: its translation is removed, but the device's
/// TLB may still cache it.
///
/// Nobody owns the extent, and it stays reserved until the token is redeemed. Redeem it after a
/// flush of the device's TLB. Releasing consumes the [`Grant`], so a released extent cannot be
/// mapped:
///
/// ```compile_fail,E0382
/// # use furlong::addr::{Extent, Iova};
/// # use furlong::iova::{Lowest, Quarantine, Request, TokenSlot, VecSpace};
/// # let all = Extent::from_last(Iova::new(0), Iova::new(u64::MAX)).unwrap();
/// # let mut space = VecSpace::new(all, 4096, Vec::new()).unwrap();
/// # let mut quarantine = Quarantine::new(vec![TokenSlot::EMPTY; 256], 192);
/// # fn map(_: Iova) {}
/// let grant = space.reserve(&Request::new(4096), Lowest).unwrap();
/// let token = quarantine.release(grant).unwrap();
/// map(grant.iova()); // the grant has moved into the token
/// # quarantine.redeem(token, &mut space).unwrap();
/// ```
///
/// It is not `Copy`, so an extent is not freed twice. A dropped token leaks its extent, which stays
/// reserved for good and counts as outstanding.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "an extent whose token is dropped is never free again"]
pub struct Token(Parked);

/// The contents of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::iova) struct Parked {
    pub(in crate::iova) at: NodeId,
    pub(in crate::iova) tag: Tag,
    pub(in crate::iova) start: Iova,
    /// At least `start`.
    pub(in crate::iova) last: Iova,
}

impl Token {
    /// A token for the grant's extent, which now belongs to `tag`.
    #[inline]
    pub(in crate::iova) fn of(grant: &Grant, tag: Tag) -> Self {
        Self(Parked {
            at: grant.at,
            tag,
            start: grant.extent.start(),
            last: grant.extent.last(),
        })
    }

    #[inline]
    pub(in crate::iova) fn from_parked(parked: Parked) -> Self {
        Self(parked)
    }

    #[inline]
    pub(in crate::iova) fn parked(&self) -> &Parked {
        &self.0
    }

    #[inline]
    pub(super) fn into_parked(self) -> Parked {
        self.0
    }

    /// The extent, which is still reserved: whole granules.
    #[must_use]
    pub fn extent(&self) -> Extent<Iova> {
        self.0.extent()
    }
}

impl Parked {
    #[inline]
    pub(in crate::iova) fn extent(&self) -> Extent<Iova> {
        Extent::from_last(self.start, self.last).expect("it was an extent")
    }

    /// Rebuilds the grant, for the owner in its tag.
    #[inline]
    pub(in crate::iova) fn into_grant(self) -> Grant {
        let extent = self.extent();
        Grant {
            at: self.at,
            tag: self.tag,
            extent,
            data: extent,
        }
    }
}

/// Identifies the tokens in a quarantine at the time of the seal. A flush that begins later allows
/// their redemption.
///
/// Dropping it changes nothing: the tokens stay in the quarantine.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "flush the device's TLB, then redeem it"]
pub struct Sealed {
    /// Tag of the quarantine.
    pub(in crate::iova) tag: Tag,
    /// Index of the domain's CPU; 0 for a plain quarantine.
    pub(in crate::iova) cpu: usize,
    /// Total number of tokens pushed before the seal.
    pub(in crate::iova) end: u64,
}

/// The token belongs to another quarantine, or its extent was released or cut by its address
/// meanwhile. The token is returned; nothing has changed.
#[derive(Debug, PartialEq, Eq)]
pub struct StaleToken(pub Token);

impl fmt::Display for StaleToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} was not released by this quarantine",
            self.0.extent()
        )
    }
}

impl Error for StaleToken {}

/// Another quarantine made the seal, or its tokens belong to another space. The seal is returned;
/// nothing has changed.
#[derive(Debug, PartialEq, Eq)]
pub struct StaleSeal(pub Sealed);

impl fmt::Display for StaleSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("another quarantine made the seal")
    }
}

impl Error for StaleSeal {}

/// Reason why a token was not quarantined. The token is returned; nothing has changed.
#[derive(Debug, PartialEq, Eq)]
pub enum QuarantineError {
    /// No slot is free: seal, flush, redeem.
    Full(Token),
    /// Another quarantine or domain made it.
    Stale(Token),
}

impl fmt::Display for QuarantineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(_) => f.write_str("the quarantine is full: a flush is overdue"),
            Self::Stale(token) => write!(
                f,
                "{:?} was not released by this quarantine",
                token.extent()
            ),
        }
    }
}

impl Error for QuarantineError {}
