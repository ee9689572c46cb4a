//! The states of an extent after its grant: released, sealed for a flush, free.

use crate::error::messages;

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
/// # use furlong::iova::{Domain, Lowest, NoTlb, Request};
/// # let all = Extent::from_last(Iova::new(0), Iova::new(u64::MAX)).unwrap();
/// # let domain: Domain<NoTlb> = Domain::new(all, 4096, 1, NoTlb).unwrap();
/// # fn map(_: Iova) {}
/// let grant = domain.reserve(&Request::new(4096), Lowest).unwrap();
/// let token = domain.release(grant).unwrap();
/// map(grant.iova()); // the grant has moved into the token
/// # domain.redeem(token).unwrap();
/// ```
///
/// It is not `Copy`, so an extent is not freed twice. A dropped token leaks its extent, which stays
/// reserved for good and counts as outstanding.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "an extent whose token is dropped is never free again"]
pub struct Token(Parked);

/// The contents of a token; the slot of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parked {
    pub(crate) at: NodeId,
    pub(crate) tag: Tag,
    pub(crate) start: Iova,
    /// At least `start`.
    pub(crate) last: Iova,
}

impl Token {
    /// A token for the grant's extent, which now belongs to `tag`.
    #[inline]
    pub(crate) fn of(grant: &Grant, tag: Tag) -> Self {
        Self(Parked {
            at: grant.at,
            tag,
            start: grant.extent.start(),
            last: grant.extent.last(),
        })
    }

    #[inline]
    pub(crate) fn from_parked(parked: Parked) -> Self {
        Self(parked)
    }

    #[inline]
    pub(crate) fn parked(&self) -> &Parked {
        &self.0
    }

    #[inline]
    pub(crate) fn into_parked(self) -> Parked {
        self.0
    }

    /// The extent, which is still reserved: whole granules.
    #[must_use]
    pub fn extent(&self) -> Extent<Iova> {
        self.0.extent()
    }
}

impl Parked {
    /// The content of an unused slot.
    pub(crate) const EMPTY: Self = {
        let Some(at) = NodeId::from_index(0) else {
            panic!("an arena can have a first node")
        };
        Self {
            at,
            tag: Tag::NONE,
            start: Iova::new(0),
            last: Iova::new(0),
        }
    };

    #[inline]
    pub(crate) fn extent(&self) -> Extent<Iova> {
        Extent::from_last(self.start, self.last).expect("it was an extent")
    }

    /// Rebuilds the grant, for this owner.
    #[inline]
    pub(crate) fn into_grant(self, owner: Tag) -> Grant {
        let extent = self.extent();
        Grant {
            at: self.at,
            tag: owner,
            extent,
            data: extent,
        }
    }
}

/// Identifies the tokens in a CPU's quarantine at the time of the seal. A flush that begins later
/// allows their redemption.
///
/// Dropping it changes nothing: the tokens stay in the quarantine.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "flush the device's TLB, then redeem it"]
pub struct Sealed {
    /// The domain's own tag.
    pub(crate) tag: Tag,
    /// Index of the domain's CPU.
    pub(crate) cpu: usize,
    /// Total number of tokens pushed before the seal.
    pub(crate) end: u64,
}

/// The token belongs to another domain. The token is returned; nothing has changed.
#[derive(Debug, PartialEq, Eq)]
pub struct StaleToken(pub Token);

messages! { StaleToken:
    Self(it) => "{:?} was not released by this domain", it.extent();
}

/// Another domain made the seal. The seal is returned; nothing has changed.
#[derive(Debug, PartialEq, Eq)]
pub struct StaleSeal(pub Sealed);

messages! { StaleSeal:
    Self(..) => "another domain made the seal";
}
