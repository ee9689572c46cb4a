//! Searches for free places.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use super::Maple;
use crate::answer::{Given, answer_in};
use crate::errno::Errno;
use crate::extent::{Extent, extent};

/// The length of the largest gap; UINT64_MAX also for the whole space, whose length is one more. 0
/// for a NULL map.
///
/// Threads: read-only.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_largest_gap(maple: Option<&Maple>) -> u64 {
    maple.map_or(0, |maple| maple.0.largest_gap())
}

/// Writes the lowest place from start to last for size indices to gap; nothing is stored.
///
/// Returns 0, -EINVAL (an argument is NULL, size is 0, last is below start) or -ENOSPC (there is
/// none).
/// Threads: read-only; exclusive from this call to the store at the place.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_lowest_gap(
    maple: Option<&Maple>,
    size: u64,
    start: u64,
    last: u64,
    gap: Option<&mut MaybeUninit<Extent>>,
) -> c_int {
    answer_in(gap, || {
        let (size, window) = (sized(size)?, extent(start, last)?);
        let place = maple.given()?.0.lowest_gap(size, window);
        Ok(place.ok_or(Errno::NO_SPACE)?.into())
    })
}

/// Writes the highest place from start to last for size indices to gap; nothing is stored.
///
/// Returns 0, -EINVAL (an argument is NULL, size is 0, last is below start) or -ENOSPC (there is
/// none).
/// Threads: read-only; exclusive from this call to the store at the place.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_highest_gap(
    maple: Option<&Maple>,
    size: u64,
    start: u64,
    last: u64,
    gap: Option<&mut MaybeUninit<Extent>>,
) -> c_int {
    answer_in(gap, || {
        let (size, window) = (sized(size)?, extent(start, last)?);
        let place = maple.given()?.0.highest_gap(size, window);
        Ok(place.ok_or(Errno::NO_SPACE)?.into())
    })
}

/// The size, unless it is 0.
fn sized(size: u64) -> Result<u64, Errno> {
    (size > 0).then_some(size).given()
}
