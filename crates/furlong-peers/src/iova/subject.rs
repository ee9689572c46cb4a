//! A peer as a subject of the specification, and the model as a judge that ignores details.

use std::fmt;

use furlong::addr::{Address, Extent, Iova};
use furlong::iova::{Kind, ReleaseError, Request, ReserveAtError, ReserveError};
use furlong_experiments_devices::iova_gap::{self, Ask};
use furlong_spec::iova::{Geometry, Granted, Model, Operation, Outcome, Place, Promise};
use furlong_spec::{Judge, Subject};

use super::Peer;
use furlong_experiments_devices::iova_gap::joined;

/// A peer, and the grants that it has made. Refusals are translated to the specification's, but
/// their reasons mean nothing: peers give other reasons, or none.
pub struct PeerSubject<P: Peer> {
    peer: P,
    geometry: Geometry,
    grants: Vec<(P::Grant, Extent<Iova>)>,
}

impl<P: Peer> PeerSubject<P> {
    /// A peer with nothing reserved; `None` if it does not support the space.
    #[must_use]
    pub fn new(geometry: Geometry) -> Option<Self> {
        Some(Self {
            peer: P::new(geometry.extent(), geometry.granule).ok()?,
            geometry,
            grants: Vec::new(),
        })
    }

    /// A request rounded to whole granules, for a peer that does not round; `None` if no place can
    /// suit.
    fn ask(&self, request: &Request, place: Place) -> Option<Ask> {
        let granule = self.geometry.granule;
        let size = request.size.checked_next_multiple_of(granule)?;
        // Data and window may end inside a granule.
        let latest = request.high.raw().checked_sub(request.size.max(1) - 1)?;
        let ask = Ask {
            size,
            align: if request.align.is_power_of_two() {
                request.align.max(granule)
            } else {
                request.align
            },
            low: request.low.raw().checked_next_multiple_of(granule)?,
            high: (latest & !(granule - 1)).saturating_add(size.max(1) - 1),
            place: match place {
                Place::Highest => iova_gap::Place::Highest,
                Place::Random(seed) => iova_gap::Place::Random(seed),
                _ => iova_gap::Place::Lowest,
            },
        };
        (ask.low <= ask.high).then_some(ask)
    }

    fn reserve(&mut self, request: &Request, place: Place) -> Option<Outcome> {
        let ask = self.ask(request, place)?;
        let (start, grant) = self.peer.reserve(&ask)?;
        let extent = Extent::from_len(Iova::new(start), ask.size);
        let data = Extent::from_len(Iova::new(start), request.size);
        let Some((extent, data)) = extent.zip(data) else {
            // An empty or impossible extent: an answer that is never allowed.
            return Some(Outcome::NoGrant);
        };
        self.grants.push((grant, extent));
        Some(Outcome::Granted(Granted { extent, data }))
    }

    fn reserve_at(&mut self, extent: Extent<Iova>) -> Option<Outcome> {
        let mask = self.geometry.granule - 1;
        if extent.start().raw() & mask != 0 || extent.last().raw() & mask != mask {
            return None;
        }
        let grant = self.peer.reserve_at(extent)?;
        self.grants.push((grant, extent));
        let data = extent;
        Some(Outcome::Granted(Granted { extent, data }))
    }

    fn release(&mut self, grant: usize) -> Outcome {
        if self.grants.is_empty() {
            return Outcome::NoGrant;
        }
        let (grant, extent) = self.grants.swap_remove(grant % self.grants.len());
        if self.peer.try_release(grant) {
            Outcome::Released
        } else {
            Outcome::Stale(extent)
        }
    }
}

impl<P: Peer> Subject for PeerSubject<P> {
    type Operation = Operation;
    type Outcome = Outcome;

    /// # Panics
    /// On an operation that the peer does not offer: see [`Offers::reduced`](super::Offers).
    fn apply(&mut self, operation: &Operation) -> Outcome {
        match operation {
            Operation::Reserve(request, place) => self
                .reserve(request, *place)
                .unwrap_or(Outcome::Refused(ReserveError::NoMemory)),
            Operation::ReserveAt(extent) => self
                .reserve_at(*extent)
                .unwrap_or(Outcome::RefusedAt(ReserveAtError::NoMemory)),
            Operation::Release(grant) => self.release(*grant),
            Operation::ReleaseAt(extent) => {
                if self.peer.release_at(*extent) {
                    Outcome::ReleasedAt(Kind::Granted)
                } else {
                    Outcome::NotReleased(ReleaseError::NotReserved)
                }
            }
            Operation::Reserved => {
                let listed = self
                    .peer
                    .reserved()
                    .unwrap_or_else(|broken| panic!("{}", broken.0));
                let kind = |extent| (extent, Kind::Granted);
                Outcome::Reserved(listed.into_iter().map(kind).collect())
            }
            _ => panic!("{operation:?} is not offered"),
        }
    }

    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

impl<P: Peer> fmt::Debug for PeerSubject<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let extents = self.grants.iter().map(|(_, extent)| extent);
        f.debug_list().entries(extents).finish()
    }
}

/// The model, ignoring the reasons of refusals and the borders between neighbours.
#[derive(Clone, Debug)]
pub struct Bluntly(Model);

impl Bluntly {
    /// A model with nothing reserved.
    #[must_use]
    pub fn new(geometry: Geometry) -> Self {
        Self(Model::new(geometry, Promise::Exact))
    }
}

impl Subject for Bluntly {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        self.0.apply(operation)
    }

    fn check(&self) -> Result<(), String> {
        self.0.check()
    }
}

impl Judge for Bluntly {
    fn judge(&mut self, operation: &Operation, found: &Outcome) -> Result<(), Outcome> {
        match self.0.judge(operation, found) {
            Err(expected) if means_the_same(&expected, found) => Ok(()),
            judged => judged,
        }
    }
}

fn means_the_same(one: &Outcome, other: &Outcome) -> bool {
    match (one, other) {
        (Outcome::Refused(_), Outcome::Refused(_))
        | (Outcome::RefusedAt(_), Outcome::RefusedAt(_))
        | (Outcome::NotReleased(_), Outcome::NotReleased(_)) => true,
        (Outcome::Reserved(one), Outcome::Reserved(other)) => {
            let extents =
                |list: &[(Extent<Iova>, Kind)]| joined(list.iter().map(|(extent, _)| *extent));
            extents(one) == extents(other)
        }
        _ => false,
    }
}
