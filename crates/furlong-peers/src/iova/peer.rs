//! What somebody's allocator is to the specification: some of its operations.
#![forbid(unsafe_code)]

use std::mem::discriminant;

use furlong::addr::{Extent, Iova};
use furlong::iova::Request;
use furlong_lab::experiments::iova_gap::AddressAllocator;
use furlong_spec::iova::{Geometry, Operation, Place};

/// An allocator of addresses that can be asked for some of the specification's operations.
pub trait Peer: AddressAllocator {
    /// Which.
    const OFFERS: Offers;

    /// Over the bytes of a space in granules, with nothing reserved; none where it cannot have such
    /// a space.
    fn over(geometry: Geometry) -> Option<Self>;

    /// Reserves exactly `extent`; none where it refuses.
    fn reserve_at(&mut self, extent: Extent<Iova>) -> Option<Self::Grant> {
        unreachable!("{extent:?} cannot be asked for")
    }

    /// Releases what was reserved, or says that it is not reserved.
    fn try_release(&mut self, grant: Self::Grant) -> bool {
        self.release(grant);
        true
    }

    /// Releases exactly `extent` by its address, or says that it is not reserved.
    fn release_at(&mut self, extent: Extent<Iova>) -> bool {
        unreachable!("{extent:?} cannot be released by its address")
    }
}

/// Which of the specification's operations a peer offers, besides reserving a size and releasing
/// the grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offers {
    /// The places that it can be asked for, the usual one first.
    pub places: &'static [Place],
    /// Alignment.
    pub align: Align,
    /// A window.
    pub window: bool,
    /// Reserving an exact extent.
    pub reserve_at: bool,
    /// Releasing an exact extent by its address.
    pub release_at: bool,
    /// Telling what is reserved.
    pub reserved: bool,
    /// Refusing a size of 0 and an alignment that is none; others panic, or their adapters would
    /// have to look.
    pub mistakes: bool,
}

/// What a peer does where an alignment is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// It cannot be asked for one.
    Never,
    /// It keeps to the place that it is asked for.
    InPlace,
    /// It takes another place than without, by a rule of its own.
    Anywhere,
}

impl Offers {
    /// What of an operation the peer can be asked: constraints that it does not know are taken off,
    /// a place that it cannot be asked for becomes its usual one.
    #[must_use]
    pub fn reduced(&self, operation: Operation) -> Option<Operation> {
        let is_offered = match &operation {
            Operation::Reserve(request, place) => return self.request(request, *place),
            Operation::ReserveAt(_) => self.reserve_at,
            Operation::ReleaseAt(_) => self.release_at,
            Operation::Reserved => self.reserved,
            Operation::Release(_) => true,
            Operation::Owner(_) | Operation::Free => false,
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
