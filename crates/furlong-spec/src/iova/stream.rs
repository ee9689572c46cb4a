//! Operations from a seed, or from any other choices.

use core::iter;

use furlong::addr::{Extent, Iova};
use furlong::iova::{Guard, Request, Split};

use super::{Geometry, Operation, Place};
use crate::mix::Mix;
use crate::{Choices, Random};

/// `count` reservations with every constraint (some of them mistakes), releases and look-ups. Equal
/// arguments give equal streams.
pub fn operations(
    geometry: Geometry,
    mix: Mix,
    count: usize,
    seed: u64,
) -> impl Iterator<Item = Operation> + use<> {
    let mut chance = Chance::new(geometry, Random::new(seed));
    (0..count).map(move |_| chance.operation(mix))
}

/// The same with operations on ranges and parts, and with saved and restored spaces.
pub fn all_operations(
    geometry: Geometry,
    mix: Mix,
    count: usize,
    seed: u64,
) -> impl Iterator<Item = Operation> + use<> {
    chosen(geometry, mix, Random::new(seed)).take(count)
}

/// All operations until the choices are spent.
pub fn chosen<C: Choices>(
    geometry: Geometry,
    mix: Mix,
    choices: C,
) -> impl Iterator<Item = Operation> + use<C> {
    let mut chance = Chance::new(geometry, choices);
    iter::from_fn(move || {
        let is_left = !chance.random.is_spent();
        is_left.then(|| match chance.one_in(5) {
            true => chance.of_ranges(),
            false => chance.operation(mix),
        })
    })
}

struct Chance<C> {
    random: C,
    geometry: Geometry,
    /// Some extents used before.
    known: Vec<Extent<Iova>>,
}

impl<C: Choices> Chance<C> {
    fn new(geometry: Geometry, random: C) -> Self {
        Self {
            random,
            geometry,
            known: Vec::new(),
        }
    }

    fn operation(&mut self, mix: Mix) -> Operation {
        let reserves = match mix {
            Mix::Growing => 60,
            Mix::Steady => 45,
            Mix::Shrinking => 30,
        };
        match self.random.below(100) {
            chance if chance < reserves => Operation::Reserve(self.request(), self.place()),
            chance if chance < reserves + 5 => Operation::ReserveAt(self.extent()),
            chance if chance < 80 => Operation::Release(self.grant()),
            80..87 => Operation::ReleaseAt(self.extent()),
            87..94 => Operation::Owner(self.address()),
            94..97 => Operation::Reserved,
            _ => Operation::Free,
        }
    }

    fn of_ranges(&mut self) -> Operation {
        match self.random.below(100) {
            0..8 => Operation::Fixed(self.extent()),
            8..20 => Operation::Fill(self.extent()),
            20..40 => Operation::ReleaseRange(self.extent()),
            40..55 => Operation::ReleasePart(self.grant(), self.extent()),
            55..70 => Operation::Claim(self.extent()),
            70..76 => Operation::ReleaseUnclaimed,
            76..79 => Operation::SaveRestore,
            79..82 => Operation::Extend(self.larger()),
            82..86 => Operation::Disown(self.grant()),
            86..91 => Operation::FreeIn(self.extent()),
            _ => Operation::ReservedIn(self.extent()),
        }
    }

    fn grant(&mut self) -> usize {
        self.random.index(1 << 16)
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.random.below(count) == 0
    }

    fn place(&mut self) -> Place {
        match self.random.below(6) {
            0 => Place::Lowest,
            1 => Place::Highest,
            2 => Place::Near(self.address()),
            3 => Place::Best,
            4 => Place::Random(self.random.next()),
            _ => Place::Lowest,
        }
    }

    /// An address near the start of a granule, occasionally beyond the space.
    fn address(&mut self) -> Iova {
        let granule = self.random.index(self.geometry.granules + 2) as u64;
        let at = granule.wrapping_mul(self.geometry.granule);
        let at = self.geometry.start.wrapping_add(at);
        Iova::new(at.wrapping_add(self.random.below(3)).wrapping_sub(1))
    }

    /// An extent, mostly of whole granules and within the space, and often one used before.
    fn extent(&mut self) -> Extent<Iova> {
        if self.one_in(8) {
            let (one, other) = (self.address(), self.address());
            let extent = Extent::from_last(one.min(other), one.max(other));
            return extent.expect("it is not reversed");
        }
        if self.known.len() == 8 && self.one_in(2) {
            return self.known[self.random.index(8)];
        }
        let first = self.random.index(self.geometry.granules);
        let len = 1 + self.random.index((self.geometry.granules / 4 + 2).min(12));
        let extent = self.geometry.granules(first, len);
        let extent = extent.unwrap_or_else(|| self.geometry.extent());
        if self.known.len() < 8 {
            self.known.push(extent);
        } else {
            self.known[self.random.index(8)] = extent;
        }
        extent
    }

    /// The space and up to two granules on either side, which become part of it; sometimes an
    /// extent that does not contain the space.
    fn larger(&mut self) -> Extent<Iova> {
        if self.one_in(4) {
            let (space, extent) = (self.geometry.extent(), self.extent());
            return match extent.intersection(&space) {
                Some(part) if part == space => space,
                _ => extent,
            };
        }
        let (below, above) = (self.random.below(3), self.random.below(3));
        let Geometry { start, granule, .. } = self.geometry;
        let below = below.min(start / granule);
        let wider = Geometry {
            start: start - below * granule,
            granules: self.geometry.granules + (below + above) as usize,
            ..self.geometry
        };
        if wider.granules(0, wider.granules).is_some() {
            self.geometry = wider;
        }
        self.geometry.extent()
    }

    fn request(&mut self) -> Request {
        let granule = self.geometry.granule;
        let mut request = Request::new(self.size());
        if self.one_in(3) {
            request = request.offset(self.random.below(granule));
        }
        if self.one_in(3) {
            request = request.align(self.power(5));
        }
        if self.one_in(4) {
            let (one, other) = (self.address(), self.address());
            request = request.window(one.min(other), one.max(other));
        }
        if self.one_in(6) {
            request = request.exclude(self.address(), self.address());
        }
        if self.one_in(4) {
            let split = [Split::Never, Split::AtBoundary][self.random.index(2)];
            request = request.boundary(self.power(6)).split(split);
        }
        if self.one_in(4) {
            request = request.guard(Guard {
                before: self.random.below(3),
                after: self.random.below(3),
            });
        }
        // Occasionally two mistakes: the error that is returned first is also specified.
        if self.one_in(20) {
            request = self.mistaken(request);
            request = if self.one_in(2) {
                self.mistaken(request)
            } else {
                request
            };
        }
        request
    }

    /// A size of some granules, exact half of the time.
    fn size(&mut self) -> u64 {
        let most = if self.one_in(8) {
            self.geometry.granules as u64 + 1
        } else {
            1 + (self.geometry.granules as u64 / 8).min(8)
        };
        let granules = 1 + self.random.below(most);
        let bytes = granules.saturating_mul(self.geometry.granule);
        let bytes = match self.random.below(4) {
            0 | 1 => bytes,
            2 => bytes.saturating_add(self.random.below(3)) - 1,
            _ => 1 + self.random.below(bytes),
        };
        bytes.max(1)
    }

    /// A power of two, up to `2^(orders - 1)` granules, occasionally less than one granule.
    fn power(&mut self, orders: u64) -> u64 {
        let granule = self.geometry.granule.ilog2();
        let order = self.random.below(orders) as u32 + granule;
        let order = if self.one_in(4) {
            order.saturating_sub(1 + self.random.below(5) as u32)
        } else {
            order
        };
        1 << order.min(63)
    }

    fn mistaken(&mut self, request: Request) -> Request {
        let near_the_end = u64::MAX - self.random.below(3);
        match self.random.below(10) {
            0 => request.size(0),
            1 => request.align(0),
            2 => request.align(self.geometry.granule.wrapping_mul(3)),
            3 => request.offset(self.geometry.granule),
            4 => request.boundary(0),
            5 => request.boundary(self.geometry.granule | self.geometry.granule >> 1 | 5),
            6 => request.window(Iova::new(1), Iova::new(0)),
            7 => request.size(near_the_end),
            8 => request.guard(Guard {
                before: near_the_end,
                after: self.random.below(2) * near_the_end,
            }),
            _ => request.window(Iova::new(near_the_end), Iova::new(u64::MAX)),
        }
    }
}
