//! What is asked of a space: a size, and where it may lie.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use furlong::addr::{Address, Iova as At};
use furlong::iova::{
    Best, Grant, Guard, Highest, Lowest, Near, Random, Request, ReserveError, Split,
};

use super::Iova;
use crate::answer::{Given, answer};
use crate::errno::Errno;

/// The lowest place.
pub const FURLONG_IOVA_LOWEST: u32 = 0;
/// The highest place.
pub const FURLONG_IOVA_HIGHEST: u32 = 1;
/// The place whose start is nearest to the hint, the lower one of two.
pub const FURLONG_IOVA_NEAR: u32 = 2;
/// The lowest place in the smallest gap that will do.
pub const FURLONG_IOVA_BEST: u32 = 3;
/// A place drawn from all with the same chance; the hint has 64 random bits to draw with.
pub const FURLONG_IOVA_RANDOM: u32 = 4;

/// What is asked of a space. Fill it in with furlong_iova_request and change what differs.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct IovaRequest {
    /// Bytes of data, at least 1.
    pub size: u64,
    /// Where in its first granule the data begins, in bytes; less than a granule.
    pub offset: u64,
    /// What the start of the grant is a multiple of, in bytes, a power of two.
    pub align: u64,
    /// The lowest start of the grant.
    pub low: u64,
    /// The highest last byte of the data.
    pub high: u64,
    /// Data lies at or below this address, or above the next one; where this one is not below the
    /// next one nothing is excluded.
    pub exclude_low: u64,
    /// See exclude_low.
    pub exclude_high: u64,
    /// What data may not cross a multiple of, in bytes, a power of two; 0 for none.
    pub boundary: u64,
    /// Granules that are free before the grant when it is made.
    pub guard_before: u64,
    /// Granules that are free behind the grant when it is made.
    pub guard_after: u64,
    /// For FURLONG_IOVA_NEAR and FURLONG_IOVA_RANDOM.
    pub hint: u64,
    /// FURLONG_IOVA_LOWEST and so on.
    pub policy: u32,
    /// Not 0: where the boundary leaves no place, the grant is shorter and its data ends there.
    pub is_split: u32,
}

/// What was reserved.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct IovaGrant {
    /// The first address: a granule's.
    pub start: u64,
    /// The last address. From start to last is what is to be released.
    pub last: u64,
    /// Where the data begins.
    pub data_start: u64,
    /// Where the data ends: before its size, if it was split.
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
    /// `size` bytes anywhere, the lowest place, with no guard.
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

    /// Reserves, if there is such a policy.
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

/// Fills request in: size bytes anywhere, at the lowest place, with no guard, no boundary and
/// nothing excluded.
///
/// Answers 0, or -EINVAL (request is NULL).
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_iova_request(
    request: Option<&mut MaybeUninit<IovaRequest>>,
    size: u64,
) -> c_int {
    answer(|| {
        request.given()?.write(IovaRequest::of_size(size));
        Ok(())
    })
}

/// Reserves what request asks for, and writes what that is to grant.
///
/// Answers 0, -EINVAL (an argument is NULL, size is 0, align or boundary is no power of two, offset
/// is not less than a granule, high is below low, there is no such policy), -E2BIG (the data
/// crosses the boundary wherever it lies, and may not be split), -EOVERFLOW (size, offset and
/// guards do not fit 64 bits), -ENOSPC (no gap will do) or -ENOMEM: nothing has changed.
/// Threads: alone, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_iova_reserve(
    iova: Option<&mut Iova>,
    request: Option<&IovaRequest>,
    grant: Option<&mut MaybeUninit<IovaGrant>>,
) -> c_int {
    answer(|| {
        let (iova, request, out) = (iova.given()?, request.given()?, grant.given()?);
        let grant = request.reserve(iova)??;
        out.write(IovaGrant::from(&grant));
        Ok(())
    })
}
