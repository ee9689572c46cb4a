//! Stores over existing entries, and the entries that they displace.

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::num::NonZeroUsize;

use furlong::addr::{self, VirtAddr};
use furlong::maple::Displaced;

use super::map::Map;
use super::{Maple, MapleEntry, entry_of};
use crate::answer::{Given, answer, put};
use crate::errno::Errno;
use crate::extent::extent;
use crate::handle::room;

/// Stores an entry for start to last, over all entries there. Ranges inside it are removed; those
/// that reach out of it are cut, and keep their entries.
///
/// The removed entries are written to displaced, in order, and their number to count, unless these
/// are NULL. displaced has places for room entries. If more would be removed, nothing changes, and
/// the call returns -ENOBUFS with their number in count. With displaced NULL, no entries are handed
/// back.
///
/// Returns 0, -EINVAL (maple or entry is NULL, last is below start, no memory has room places),
/// -ENOBUFS or -ENOMEM: nothing has changed.
/// Threads: exclusive, under the caller's lock.
///
/// # Safety
/// displaced is NULL or has room places.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_maple_store(
    maple: Option<&mut Maple>,
    start: u64,
    last: u64,
    entry: *mut c_void,
    displaced: *mut MapleEntry,
    room: usize,
    count: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    answer(|| {
        let (maple, at) = (maple.given()?, extent(start, last)?);
        let entry = entry_of(entry)?;
        // SAFETY: the caller vouches for the places.
        let room = unsafe { self::room(displaced, room) }?;
        replace(&mut maple.0, at, Some(entry), room, count)
    })
}

/// Clears start to last; otherwise as furlong_maple_store.
///
/// Returns 0, -EINVAL (maple is NULL, last is below start, no memory has room places), -ENOBUFS or
/// -ENOMEM: nothing has changed.
/// Threads: exclusive, under the caller's lock.
///
/// # Safety
/// displaced is NULL or has room places.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_maple_erase_range(
    maple: Option<&mut Maple>,
    start: u64,
    last: u64,
    displaced: *mut MapleEntry,
    room: usize,
    count: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    answer(|| {
        let (maple, at) = (maple.given()?, extent(start, last)?);
        // SAFETY: the caller vouches for the places.
        let room = unsafe { self::room(displaced, room) }?;
        replace(&mut maple.0, at, None, room, count)
    })
}

/// Stores an entry, or clears the range, if `room` suffices for the displaced entries.
fn replace(
    map: &mut Map,
    at: addr::Extent<VirtAddr>,
    entry: Option<NonZeroUsize>,
    room: Option<&mut [MaybeUninit<MapleEntry>]>,
    count: Option<&mut MaybeUninit<usize>>,
) -> Result<(), Errno> {
    let places = room.as_ref().map_or(usize::MAX, |room| room.len());
    // Without `room` the entries need not be counted first.
    let more = room.is_some().then(|| within(map, at));
    if let Some(more) = more.filter(|more| *more > places) {
        put(count, more);
        return Err(Errno::SHORT);
    }
    let displaced = match entry {
        Some(entry) => map.store(at, entry)?,
        None => map.erase_range(at)?,
    };
    put(count, hand_back(displaced, room));
    Ok(())
}

/// The number of entries that lie wholly in a range.
fn within(map: &Map, at: addr::Extent<VirtAddr>) -> usize {
    let is_inside = |own: addr::Extent<VirtAddr>| own.intersection(&at) == Some(own);
    map.range(at).filter(|(own, _)| is_inside(*own)).count()
}

/// Writes displaced entries to `room`, if there is one, and returns their number.
fn hand_back<C: furlong::maple::Config>(
    displaced: Displaced<'_, VirtAddr, NonZeroUsize, C>,
    room: Option<&mut [MaybeUninit<MapleEntry>]>,
) -> usize {
    let Some(room) = room else {
        return displaced.count();
    };
    let pairs = room.iter_mut().zip(displaced);
    pairs
        .map(|(place, entry)| place.write(entry.into()))
        .count()
}
