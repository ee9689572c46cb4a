//! The states of an extent after its grant: released, sealed for a flush, free.
#![forbid(unsafe_code)]

use core::error::Error;
use core::fmt;

use super::Grant;
use super::tag::Tag;
use crate::addr::{Extent, Iova};
use crate::rbtree::NodeId;

/// A released extent that the device may still reach: its translation is gone, but the device's TLB
/// may remember it.
///
/// Nobody has the extent and nobody can get it: it stays reserved until the token is redeemed,
/// which is to be done after a flush of the device's TLB. Releasing takes the [`Grant`], so nothing
/// can map what is released:
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
/// It is not `Copy`: an extent is not freed twice. A token that is dropped leaks its extent, which
/// stays reserved for good and is counted as outstanding.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "an extent whose token is dropped is never free again"]
pub struct Token(Parked);

/// What a token stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parked {
    pub(super) at: NodeId,
    pub(super) tag: Tag,
    pub(super) start: Iova,
    /// Not below `start`.
    pub(super) last: Iova,
}

impl Token {
    /// Of what a grant stands for, which from now on belongs to `tag`.
    #[inline]
    pub(super) fn of(grant: &Grant, tag: Tag) -> Self {
        Self(Parked {
            at: grant.at,
            tag,
            start: grant.extent.start(),
            last: grant.extent.last(),
        })
    }

    #[inline]
    pub(super) fn from_parked(parked: Parked) -> Self {
        Self(parked)
    }

    #[inline]
    pub(super) fn parked(&self) -> &Parked {
        &self.0
    }

    #[inline]
    pub(super) fn into_parked(self) -> Parked {
        self.0
    }

    /// What is still reserved: whole granules.
    #[must_use]
    pub fn extent(&self) -> Extent<Iova> {
        self.0.extent()
    }
}

impl Parked {
    #[inline]
    pub(super) fn extent(&self) -> Extent<Iova> {
        Extent::from_last(self.start, self.last).expect("it was an extent")
    }

    /// The grant again, for the owner that its tag names.
    #[inline]
    pub(super) fn into_grant(self) -> Grant {
        let extent = self.extent();
        Grant {
            at: self.at,
            tag: self.tag,
            extent,
            data: extent,
        }
    }
}

/// Says which tokens a quarantine held when it was sealed: those that a flush which begins later
/// makes good.
///
/// Dropping it changes nothing: the tokens stay in the quarantine.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "flush the device's TLB, then redeem it"]
pub struct Sealed {
    /// Of the quarantine.
    pub(super) tag: Tag,
    /// Which of a domain's.
    pub(super) cpu: usize,
    /// Tokens that had been pushed by then, ever.
    pub(super) end: u64,
}

/// The token is not of here, or its extent was released or cut by its address meanwhile. It comes
/// back; nothing has changed.
#[derive(Debug, PartialEq, Eq)]
pub struct StaleToken(pub Token);

impl fmt::Display for StaleToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} was not released here", self.0.extent())
    }
}

impl Error for StaleToken {}

/// Another quarantine was sealed, or its tokens are of another space. It comes back; nothing has
/// changed.
#[derive(Debug, PartialEq, Eq)]
pub struct StaleSeal(pub Sealed);

impl fmt::Display for StaleSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("another quarantine was sealed")
    }
}

impl Error for StaleSeal {}

/// Why a token was not taken into quarantine. It comes back; nothing has changed.
#[derive(Debug, PartialEq, Eq)]
pub enum QuarantineError {
    /// There is no place left: seal, flush, redeem.
    Full(Token),
    /// It was released elsewhere.
    Stale(Token),
}

impl fmt::Display for QuarantineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(_) => f.write_str("the quarantine is full: a flush is overdue"),
            Self::Stale(token) => write!(f, "{:?} was not released here", token.extent()),
        }
    }
}

impl Error for QuarantineError {}
