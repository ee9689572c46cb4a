//! Random requests that a space of a given size can often satisfy. They use every field of a
//! request, and places by every policy.
#![forbid(unsafe_code)]

use furlong::addr::{Extent, Iova};
use furlong::iova::{
    Best, Config, Grant, Guard, Highest, Lowest, Near, Request, ReserveError, Split, VecSpace,
};
use furlong_spec::Random;

/// A random request for a space of `granules` granules of `granule` bytes.
pub(crate) fn request(random: &mut Random, granules: u64, granule: u64) -> Request {
    let size = 1 + random.below(6 * granule);
    let mut request = Request::new(size);
    if random.below(4) == 0 {
        request = request.offset(random.below(granule));
    }
    if random.below(3) == 0 {
        request = request.align(granule << random.below(4));
    }
    if random.below(3) == 0 {
        let ends = [
            random.below(granules * granule),
            random.below(granules * granule),
        ];
        request = request.window(Iova::new(ends[0]), Iova::new(ends[1]));
    }
    if random.below(4) == 0 {
        request = request.boundary(granule << random.below(4));
    }
    if random.below(2) == 0 {
        request = request.split(Split::AtBoundary);
    }
    if random.below(4) == 0 {
        request = request.guard(Guard {
            before: random.below(3),
            after: random.below(3),
        });
    }
    if random.below(6) == 0 {
        let low = random.below(granules * granule);
        let high = low + random.below(granules * granule / 2);
        request = request.exclude(Iova::new(low), Iova::new(high));
    }
    request
}

/// The policy for a request. The same seed draws the same place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Choice {
    Lowest,
    Highest,
    Near(Iova),
    Best,
    Random(u64),
}

impl Choice {
    pub(crate) fn random(random: &mut Random, bytes: u64) -> Self {
        match random.below(5) {
            0 => Self::Lowest,
            1 => Self::Highest,
            2 => Self::Near(Iova::new(random.below(bytes))),
            3 => Self::Best,
            _ => Self::Random(random.next()),
        }
    }

    pub(crate) fn reserve<C: Config>(
        self,
        space: &mut VecSpace<C>,
        request: &Request,
    ) -> Result<Grant, ReserveError> {
        match self {
            Self::Lowest => space.reserve(request, Lowest),
            Self::Highest => space.reserve(request, Highest),
            Self::Near(hint) => space.reserve(request, Near(hint)),
            Self::Best => space.reserve(request, Best),
            Self::Random(seed) => {
                let mut bits = Random::new(seed);
                let mut policy = furlong::iova::Random::new(|| bits.next());
                space.reserve(request, &mut policy)
            }
        }
    }
}

pub(crate) fn extent(start: u64, len: u64) -> Extent<Iova> {
    Extent::from_len(Iova::new(start), len).expect("an extent of 64 bits")
}
