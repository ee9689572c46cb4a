//! Requests to a space: a size, and its constraints.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use furlong::addr::{Address, Iova as At};
use furlong::iova::{
    Best, Grant, Guard, Highest, Lowest, Near, Random, Request, ReserveError, Split,
};

use super::Iova;
use crate::answer::{Given, answer_in};
use crate::errno::Errno;

/// The lowest place. After 32 gaps that are large enough and hold no place, because of align or
/// boundary, FURLONG_IOVA_LOWEST, _HIGHEST and _NEAR prefer a gap that surely holds one.
pub const FURLONG_IOVA_LOWEST: u32 = 0;
/// The highest place.
pub const FURLONG_IOVA_HIGHEST: u32 = 1;
/// The place whose start is nearest to the hint; the lower one of two equally near.
pub const FURLONG_IOVA_NEAR: u32 = 2;
/// The lowest place in the smallest gap that is large enough.
pub const FURLONG_IOVA_BEST: u32 = 3;
/// A uniformly random place among all; the hint supplies 64 random bits.
pub const FURLONG_IOVA_RANDOM: u32 = 4;

/// A request for a range. Initialise it with furlong_iova_request, then change single fields.
#[repr(C)]
pub struct IovaRequest {
    /// The size of the data in bytes, at least 1.
    pub size: u64,
    /// The offset of the data in its first granule, in bytes; less than a granule.
    pub offset: u64,
    /// The alignment of the grant's start in bytes, a power of two.
    pub align: u64,
    /// The lowest start of the grant.
    pub low: u64,
    /// The highest last byte of the data.
    pub high: u64,
    /// The data ends at or below this address, or the grant starts above exclude_high. If this is
    /// not below exclude_high, nothing is excluded.
    pub exclude_low: u64,
    /// See exclude_low.
    pub exclude_high: u64,
    /// A boundary in bytes, a power of two: the data must not cross its multiples; 0 for none.
    pub boundary: u64,
    /// Granules that must be free before the grant when it is made.
    pub guard_before: u64,
    /// Granules that must be free behind the grant when it is made.
    pub guard_after: u64,
    /// For FURLONG_IOVA_NEAR and FURLONG_IOVA_RANDOM.
    pub hint: u64,
    /// FURLONG_IOVA_LOWEST or another policy.
    pub policy: u32,
    /// Not 0: if the boundary leaves no place, the grant is shorter and its data ends at the
    /// boundary.
    pub is_split: u32,
}

/// A reserved range and its data.
#[repr(C)]
pub struct IovaGrant {
    /// The first address, at the start of a granule.
    pub start: u64,
    /// The last address. Release exactly start to last.
    pub last: u64,
    /// The first address of the data.
    pub data_start: u64,
    /// The last address of the data; less than its size requires, if it was split.
    pub data_last: u64,
    /// A small number that no other reserved range has at the same time.
    pub index: usize,
}

impl From<&Grant> for IovaGrant {
    fn from(grant: &Grant) -> Self {
        let (extent, data) = (grant.extent(), grant.data());
        Self {
            start: extent.start().raw(),
            last: extent.last().raw(),
            data_start: data.start().raw(),
            data_last: data.last().raw(),
            index: grant.index(),
        }
    }
}

impl IovaRequest {
    /// A request for `size` bytes anywhere, at the lowest place, without guards.
    fn of_size(size: u64) -> Self {
        Self {
            size,
            offset: 0,
            align: 1,
            low: 0,
            high: u64::MAX,
            exclude_low: 0,
            exclude_high: 0,
            boundary: 0,
            guard_before: 0,
            guard_after: 0,
            hint: 0,
            policy: FURLONG_IOVA_LOWEST,
            is_split: 0,
        }
    }

    fn request(&self) -> Request {
        let split = match self.is_split {
            0 => Split::Never,
            _ => Split::AtBoundary,
        };
        let guard = Guard {
            before: self.guard_before,
            after: self.guard_after,
        };
        let request = Request::new(self.size)
            .offset(self.offset)
            .align(self.align)
            .window(At::new(self.low), At::new(self.high))
            .exclude(At::new(self.exclude_low), At::new(self.exclude_high))
            .split(split)
            .guard(guard);
        match self.boundary {
            0 => request,
            boundary => request.boundary(boundary),
        }
    }

    /// Reserves a range, if the policy exists.
    fn reserve(&self, iova: &mut Iova) -> Result<Result<Grant, ReserveError>, Errno> {
        let (space, request, hint) = (&mut iova.space, self.request(), self.hint);
        Ok(match self.policy {
            FURLONG_IOVA_LOWEST => space.reserve(&request, Lowest),
            FURLONG_IOVA_HIGHEST => space.reserve(&request, Highest),
            FURLONG_IOVA_NEAR => space.reserve(&request, Near(At::new(hint))),
            FURLONG_IOVA_BEST => space.reserve(&request, Best),
            FURLONG_IOVA_RANDOM => space.reserve(&request, Random::new(bits(hint))),
            _ => return Err(Errno::INVALID),
        })
    }
}

/// The generator SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) from a seed.
fn bits(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// Initialises request to size bytes anywhere, at the lowest place, without guards, boundary or
/// exclusion.
///
/// Returns 0, or -EINVAL (request is NULL).
/// Threads: any thread.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_iova_request(
    request: Option<&mut MaybeUninit<IovaRequest>>,
    size: u64,
) -> c_int {
    answer_in(request, || Ok(IovaRequest::of_size(size)))
}

/// Reserves a range for request, and writes it to grant.
///
/// Returns 0, -EINVAL (an argument is NULL, size is 0, align or boundary is not a power of two,
/// offset is not less than a granule, high is below low, the policy is unknown), -E2BIG (the data
/// crosses the boundary at every place, and may not be split), -EOVERFLOW (size, offset and guards
/// do not fit 64 bits), -ENOSPC (there is no place), -ETIMEDOUT (too many gaps cross the boundary
/// to search them all; FURLONG_IOVA_BEST searches them) or -ENOMEM: nothing has changed.
/// Threads: exclusive, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_iova_reserve(
    iova: Option<&mut Iova>,
    request: Option<&IovaRequest>,
    grant: Option<&mut MaybeUninit<IovaGrant>>,
) -> c_int {
    answer_in(grant, || {
        let grant = request.given()?.reserve(iova.given()?)??;
        Ok(IovaGrant::from(&grant))
    })
}
