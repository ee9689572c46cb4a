//! A peer's interface to the specification: a subset of its operations.

use std::mem::discriminant;

use furlong::addr::{Extent, Iova};
use furlong::iova::Request;
use furlong_experiments_devices::iova_gap::AddressAllocator;
use furlong_spec::iova::{Operation, Place};

/// An allocator of addresses that offers some of the specification's operations.
pub trait Peer: AddressAllocator {
    /// The operations that it offers.
    const OFFERS: Offers;

    /// Releases a grant; `false` if it is not reserved.
    fn try_release(&mut self, grant: Self::Grant) -> bool {
        self.release(grant);
        true
    }

    /// Releases exactly `extent` by its address; `false` if it is not reserved.
    fn release_at(&mut self, extent: Extent<Iova>) -> bool {
        unreachable!("{extent:?} cannot be released by its address")
    }
}

/// The operations of the specification that a peer offers, besides reserving a size and releasing
/// the grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offers {
    /// The places that it supports, the usual one first.
    pub places: &'static [Place],
    /// Alignment.
    pub align: Align,
    /// A window.
    pub window: bool,
    /// Reserving an exact extent.
    pub reserve_at: bool,
    /// Releasing an exact extent by its address.
    pub release_at: bool,
    /// Listing the reserved extents.
    pub reserved: bool,
    /// Refusing a size of 0 and an invalid alignment. Other peers panic, or their adapters would
    /// have to check.
    pub mistakes: bool,
}

/// A peer's handling of an alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// It has no alignment.
    Never,
    /// It also keeps to the requested place.
    InPlace,
    /// It takes another place than without alignment, by a rule of its own.
    Anywhere,
}

impl Offers {
    /// The operations of a search through an ordered map.
    pub(super) const OF_A_MAP: Self = Self {
        places: &[Place::Lowest, Place::Highest, Place::Random(0)],
        align: Align::InPlace,
        window: true,
        reserve_at: true,
        reserved: true,
        ..Self::ANY_PLACE
    };

    /// The operations of an allocator that only chooses a place for a size.
    pub(crate) const ANY_PLACE: Self = Self {
        places: &[Place::Random(0)],
        align: Align::Never,
        window: false,
        reserve_at: false,
        release_at: false,
        reserved: false,
        mistakes: false,
    };

    /// The part of an operation that the peer supports: unknown constraints are removed, and an
    /// unsupported place becomes its usual one.
    #[must_use]
    pub fn reduced(&self, operation: Operation) -> Option<Operation> {
        let is_offered = match &operation {
            Operation::Reserve(request, place) => return self.request(request, *place),
            Operation::ReserveAt(_) => self.reserve_at,
            Operation::ReleaseAt(_) => self.release_at,
            Operation::Reserved => self.reserved,
            Operation::Release(_) => true,
            _ => false,
        };
        is_offered.then_some(operation)
    }

    fn request(&self, request: &Request, place: Place) -> Option<Operation> {
        let mut reduced = Request::new(request.size);
        if self.align != Align::Never {
            reduced = reduced.align(request.align);
        }
        if self.window {
            reduced = reduced.window(request.low, request.high);
        }
        let is_mistaken = reduced.size == 0 || !reduced.align.is_power_of_two();
        let is_empty = reduced.low > reduced.high;
        if is_empty || is_mistaken && !self.mistakes {
            return None;
        }
        if self.align == Align::Anywhere && reduced.align > 1 {
            return Some(Operation::Reserve(reduced, Place::Random(0)));
        }
        let is_it = |offered: &&Place| discriminant(*offered) == discriminant(&place);
        let place = match self.places.iter().find(is_it) {
            Some(_) => place,
            None => *self.places.first()?,
        };
        Some(Operation::Reserve(reduced, place))
    }
}
