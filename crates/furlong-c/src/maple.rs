//! Ranges of 64-bit indices, each with an entry, in a B-tree.

pub mod cursor;
pub mod displaced;
pub mod gap;
mod map;

use alloc::boxed::Box;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::num::NonZeroUsize;
use core::ptr;

use furlong::addr::{Address, VirtAddr};
use furlong::check::Check;
use furlong::maple::{InsertError, Place, ResizeError};

use self::map::{Found, Map};
use crate::answer::{Given, answer, answer_in, put};
use crate::errno::Errno;
use crate::extent::{Extent, extent};
use crate::handle::boxed;

/// A map from ranges of 64-bit indices, which do not overlap, to entries.
///
/// An entry is a pointer, or any other word of its size that is not 0: the caller may use all its
/// bits. The map dereferences no pointer, and frees nothing that an entry points to. Neighbours are
/// never merged. A range that is stored into the middle of another one leaves two parts with the
/// same entry.
pub struct Maple(pub(crate) Map);

/// An entry and its range.
#[repr(C)]
pub struct MapleEntry {
    /// The first index.
    pub start: u64,
    /// The last index.
    pub last: u64,
    /// The entry; NULL for a gap.
    pub entry: *mut c_void,
}

impl From<Found> for MapleEntry {
    fn from((at, entry): Found) -> Self {
        let Extent { start, last } = at.into();
        Self {
            start,
            last,
            entry: word(entry),
        }
    }
}

impl From<Place<VirtAddr, NonZeroUsize>> for MapleEntry {
    fn from(place: Place<VirtAddr, NonZeroUsize>) -> Self {
        let Extent { start, last } = place.extent().into();
        let entry = match place {
            Place::Entry(_, entry) => word(entry),
            Place::Gap(_) => ptr::null_mut(),
        };
        Self { start, last, entry }
    }
}

/// Converts an entry to C's word. C may have supplied the address to the map, so it counts as
/// exposed.
fn word(entry: NonZeroUsize) -> *mut c_void {
    ptr::with_exposed_provenance_mut(entry.get())
}

/// Converts C's word to an entry.
fn entry_of(word: *mut c_void) -> Result<NonZeroUsize, Errno> {
    NonZeroUsize::new(word.expose_provenance()).given()
}

/// Makes an empty map. It allocates no nodes until it gets its first entry.
///
/// Returns 0, -EINVAL (maple is NULL) or -ENOMEM.
/// Threads: any thread.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_create(maple: Option<&mut MaybeUninit<Box<Maple>>>) -> c_int {
    answer_in(maple, || boxed(Maple(Map::new())))
}

/// Destroys a map; NULL is ignored. Objects that its entries point to are not freed.
///
/// Threads: exclusive; the map must not be used afterwards.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_destroy(maple: Option<Box<Maple>>) {
    drop(maple);
}

/// Makes another map with the same ranges and entries, node by node.
///
/// Returns 0, -EINVAL (an argument is NULL) or -ENOMEM: nothing was made.
/// Threads: read-only.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_duplicate(
    maple: Option<&Maple>,
    copy: Option<&mut MaybeUninit<Box<Maple>>>,
) -> c_int {
    answer_in(copy, || {
        let twin = maple
            .given()?
            .0
            .duplicate(|_, entry| Ok::<_, Errno>(entry))?;
        boxed(Maple(twin))
    })
}

/// The number of entries; 0 for NULL.
///
/// Threads: read-only.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_len(maple: Option<&Maple>) -> usize {
    maple.map_or(0, |maple| maple.0.len())
}

/// Removes all entries.
///
/// Returns 0, or -EINVAL (maple is NULL).
/// Threads: exclusive, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_clear(maple: Option<&mut Maple>) -> c_int {
    answer(|| {
        maple.given()?.0.clear();
        Ok(())
    })
}

/// Adds an entry for start to last, if no range overlaps. With -EEXIST, and only then, the first
/// overlapping range is written to conflict, unless that is NULL.
///
/// Returns 0, -EINVAL (maple or entry is NULL, last is below start), -EEXIST (another range
/// overlaps) or -ENOMEM: nothing has changed.
/// Threads: exclusive, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_insert(
    maple: Option<&mut Maple>,
    start: u64,
    last: u64,
    entry: *mut c_void,
    conflict: Option<&mut MaybeUninit<Extent>>,
) -> c_int {
    answer(|| {
        let (maple, at) = (maple.given()?, extent(start, last)?);
        let inserted = maple.0.insert(at, entry_of(entry)?);
        if let Err(InsertError::Occupied { conflict: at, .. }) = &inserted {
            put(conflict, Extent::from(*at));
        }
        Ok(inserted?)
    })
}

/// Removes the entry that contains index, with its whole range, and writes it to taken, unless that
/// is NULL.
///
/// Returns 0, -EINVAL (maple is NULL), -ENOENT (no entry contains the index) or -ENOMEM: nothing
/// has changed.
/// Threads: exclusive, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_erase(
    maple: Option<&mut Maple>,
    index: u64,
    taken: Option<&mut MaybeUninit<MapleEntry>>,
) -> c_int {
    answer(|| {
        let erased = maple.given()?.0.erase(VirtAddr::from_raw(index))?;
        put(taken, erased.ok_or(Errno::NOT_FOUND)?.into());
        Ok(())
    })
}

/// Changes the range of the entry that contains index to start to last, which must contain index
/// too. The range may grow and shrink at both ends. With -EEXIST, and only then, the range in the
/// way is written to conflict, unless that is NULL. It is the entry's own range if the new one does
/// not contain the index.
///
/// Returns 0, -EINVAL (maple is NULL, last is below start), -ENOENT (no entry contains the index),
/// -EEXIST (another entry is in the way, or the new range does not contain the index) or -ENOMEM:
/// nothing has changed.
/// Threads: exclusive, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_resize(
    maple: Option<&mut Maple>,
    index: u64,
    start: u64,
    last: u64,
    conflict: Option<&mut MaybeUninit<Extent>>,
) -> c_int {
    answer(|| {
        let (maple, to) = (maple.given()?, extent(start, last)?);
        let resized = maple.0.resize(VirtAddr::from_raw(index), to);
        if let Err(ResizeError::Occupied(at)) = resized {
            put(conflict, Extent::from(at));
        }
        Ok(resized?)
    })
}

/// The entry that contains index; NULL if there is none, and for a NULL map.
///
/// Threads: read-only.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_load(maple: Option<&Maple>, index: u64) -> *mut c_void {
    let entry = maple.and_then(|maple| maple.0.load(VirtAddr::from_raw(index)));
    entry.map_or(ptr::null_mut(), word)
}

/// Writes the entry or the gap at index to found, with its range; the entry of a gap is NULL.
///
/// Returns 0, or -EINVAL (an argument is NULL).
/// Threads: read-only.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_walk(
    maple: Option<&Maple>,
    index: u64,
    found: Option<&mut MaybeUninit<MapleEntry>>,
) -> c_int {
    answer_in(found, || {
        Ok(maple.given()?.0.walk(VirtAddr::from_raw(index)).into())
    })
}

/// Writes the first entry that contains index or lies behind it to found.
///
/// Returns 0, -EINVAL (an argument is NULL) or -ENOENT (there is none).
/// Threads: read-only.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_find(
    maple: Option<&Maple>,
    index: u64,
    found: Option<&mut MaybeUninit<MapleEntry>>,
) -> c_int {
    answer_in(found, || {
        let found = maple.given()?.0.find(VirtAddr::from_raw(index));
        Ok(found.ok_or(Errno::NOT_FOUND)?.into())
    })
}

/// Writes the last entry that contains index or lies before it to found.
///
/// Returns 0, -EINVAL (an argument is NULL) or -ENOENT (there is none).
/// Threads: read-only.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_find_back(
    maple: Option<&Maple>,
    index: u64,
    found: Option<&mut MaybeUninit<MapleEntry>>,
) -> c_int {
    answer_in(found, || {
        let found = maple.given()?.0.find_back(VirtAddr::from_raw(index));
        Ok(found.ok_or(Errno::NOT_FOUND)?.into())
    })
}

/// Obtains nodes for so many changes, which then neither allocate nor free nor return -ENOMEM. The
/// nodes are kept until furlong_maple_trim.
///
/// Returns 0, -EINVAL (maple is NULL) or -ENOMEM.
/// Threads: exclusive, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_prepare(maple: Option<&mut Maple>, changes: usize) -> c_int {
    answer(|| Ok(maple.given()?.0.prepare(changes)?))
}

/// Frees unused nodes but one leaf, and keeps no more from now on.
///
/// Returns 0, or -EINVAL (maple is NULL).
/// Threads: exclusive, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_trim(maple: Option<&mut Maple>) -> c_int {
    answer(|| {
        maple.given()?.0.trim();
        Ok(())
    })
}

/// Checks all invariants of the map, which only a defect or a stray write can break.
///
/// Returns 0, -EINVAL (maple is NULL) or -ENOTRECOVERABLE (one is broken).
/// Threads: read-only.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_check(maple: Option<&Maple>) -> c_int {
    answer(|| maple.given()?.0.check().map_err(|_| Errno::BROKEN))
}
