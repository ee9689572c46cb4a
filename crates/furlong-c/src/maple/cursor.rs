//! Places in a map that stay valid across changes.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use furlong::addr::{self, Address, VirtAddr};

use super::{Maple, MapleEntry};
use crate::answer::{Given, answer_in};
use crate::errno::Errno;
use crate::extent::extent;

/// A place in a map: the range that was found last, or one that was set. It refers to no node, so
/// it may be kept while the map changes, and set freely.
///
/// All zero, it is at index 0 with nothing found. To begin elsewhere, set start and last. If
/// nothing is found it stays in place, and a call in the other direction begins with the range
/// itself.
#[repr(C)]
pub struct MapleCursor {
    /// The first index of the range.
    pub start: u64,
    /// The last index of the range.
    pub last: u64,
    /// 0: an upward search begins with the range itself; 1: it continues behind the range.
    pub is_passed_up: u32,
    /// 0: a downward search begins with the range itself; 1: it continues before the range.
    pub is_passed_down: u32,
}

impl MapleCursor {
    /// The range, if the fields are valid.
    fn at(&self) -> Result<addr::Extent<VirtAddr>, Errno> {
        if self.is_passed_up > 1 || self.is_passed_down > 1 {
            return Err(Errno::INVALID);
        }
        extent(self.start, self.last)
    }

    /// The start of the next upward search; none behind the last index.
    fn upwards(&self) -> Result<Option<VirtAddr>, Errno> {
        let at = self.at()?;
        Ok(match self.is_passed_up {
            0 => Some(at.start()),
            _ => at.last().checked_add(1),
        })
    }

    /// The start of the next downward search; none before the first index.
    fn downwards(&self) -> Result<Option<VirtAddr>, Errno> {
        let at = self.at()?;
        Ok(match self.is_passed_down {
            0 => Some(at.last()),
            _ => at.start().checked_sub(1),
        })
    }

    /// Moves the cursor to a find, and returns that.
    fn arrive(&mut self, found: MapleEntry) -> MapleEntry {
        *self = Self {
            start: found.start,
            last: found.last,
            is_passed_up: 1,
            is_passed_down: 1,
        };
        found
    }
}

/// Moves cursor to the next entry, and writes it to found. That is the first entry that ends behind
/// the cursor's range.
///
/// Returns 0, -EINVAL (an argument is NULL, the cursor is invalid) or -ENOENT (there is
/// none).
/// Threads: read-only; each thread needs its own cursor.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_next(
    maple: Option<&Maple>,
    cursor: Option<&mut MapleCursor>,
    found: Option<&mut MaybeUninit<MapleEntry>>,
) -> c_int {
    answer_in(found, || {
        let (maple, cursor) = (maple.given()?, cursor.given()?);
        let next = cursor.upwards()?.and_then(|from| maple.0.find(from));
        let Some(found) = next.map(MapleEntry::from) else {
            cursor.is_passed_down = 0;
            return Err(Errno::NOT_FOUND);
        };
        Ok(cursor.arrive(found))
    })
}

/// Moves cursor to the previous entry, and writes it to found. That is the last entry that starts
/// before the cursor's range.
///
/// Returns 0, -EINVAL (an argument is NULL, the cursor is invalid) or -ENOENT (there is
/// none).
/// Threads: read-only; each thread needs its own cursor.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_prev(
    maple: Option<&Maple>,
    cursor: Option<&mut MapleCursor>,
    found: Option<&mut MaybeUninit<MapleEntry>>,
) -> c_int {
    answer_in(found, || {
        let (maple, cursor) = (maple.given()?, cursor.given()?);
        let before = cursor.downwards()?.and_then(|upto| maple.0.find_back(upto));
        let Some(found) = before.map(MapleEntry::from) else {
            cursor.is_passed_up = 0;
            return Err(Errno::NOT_FOUND);
        };
        Ok(cursor.arrive(found))
    })
}

/// Moves cursor to the entry or the gap that begins behind it, and writes that to found; the entry
/// of a gap is NULL.
///
/// Returns 0, -EINVAL (an argument is NULL, the cursor is invalid) or -ENOENT (the range
/// ends with the last index).
/// Threads: read-only; each thread needs its own cursor.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_next_place(
    maple: Option<&Maple>,
    cursor: Option<&mut MapleCursor>,
    found: Option<&mut MaybeUninit<MapleEntry>>,
) -> c_int {
    answer_in(found, || {
        let (maple, cursor) = (maple.given()?, cursor.given()?);
        let Some(from) = cursor.upwards()? else {
            cursor.is_passed_down = 0;
            return Err(Errno::NOT_FOUND);
        };
        Ok(cursor.arrive(maple.0.walk(from).into()))
    })
}

/// Moves cursor to the entry or the gap that ends before it, and writes that to found; the entry of
/// a gap is NULL.
///
/// Returns 0, -EINVAL (an argument is NULL, the cursor is invalid) or -ENOENT (the range
/// starts with index 0).
/// Threads: read-only; each thread needs its own cursor.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_prev_place(
    maple: Option<&Maple>,
    cursor: Option<&mut MapleCursor>,
    found: Option<&mut MaybeUninit<MapleEntry>>,
) -> c_int {
    answer_in(found, || {
        let (maple, cursor) = (maple.given()?, cursor.given()?);
        let Some(upto) = cursor.downwards()? else {
            cursor.is_passed_up = 0;
            return Err(Errno::NOT_FOUND);
        };
        Ok(cursor.arrive(maple.0.walk(upto).into()))
    })
}
