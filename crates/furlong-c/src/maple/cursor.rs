//! Places in a map that outlive changes.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use furlong::addr::{self, Address, VirtAddr};

use super::{Maple, MapleEntry};
use crate::answer::{Given, answer};
use crate::errno::Errno;
use crate::extent::extent;

/// A place in a map: the range that was found last, or one that was set. It knows no node, so that
/// it may be kept while the map changes, and set at will.
///
/// With all 0 it is at index 0 with nothing found; to begin elsewhere, set start and last. Where
/// nothing is found it stays where it is, and a call in the other direction begins with the range
/// itself.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MapleCursor {
    /// The first index of the range.
    pub start: u64,
    /// The last one.
    pub last: u64,
    /// 0: looking upwards begins with the range itself; 1: it goes on behind it.
    pub is_passed_up: u32,
    /// 0: looking downwards begins with the range itself; 1: it goes on before it.
    pub is_passed_down: u32,
}

impl MapleCursor {
    /// Where it is, if it can be there.
    fn at(&self) -> Result<addr::Extent<VirtAddr>, Errno> {
        if self.is_passed_up > 1 || self.is_passed_down > 1 {
            return Err(Errno::INVALID);
        }
        extent(self.start, self.last)
    }

    /// Where looking goes on upwards; none behind the last index.
    fn upwards(&self) -> Result<Option<VirtAddr>, Errno> {
        let at = self.at()?;
        Ok(match self.is_passed_up {
            0 => Some(at.start()),
            _ => at.last().checked_add(1),
        })
    }

    /// Where looking goes on downwards; none before the first index.
    fn downwards(&self) -> Result<Option<VirtAddr>, Errno> {
        let at = self.at()?;
        Ok(match self.is_passed_down {
            0 => Some(at.last()),
            _ => at.start().checked_sub(1),
        })
    }

    /// Is at what was found, and writes that to out.
    fn arrive(&mut self, found: MapleEntry, out: &mut MaybeUninit<MapleEntry>) {
        *self = Self {
            start: found.start,
            last: found.last,
            is_passed_up: 1,
            is_passed_down: 1,
        };
        out.write(found);
    }
}

/// Moves cursor to the next entry and writes that to found: the first one that ends behind the
/// cursor's range.
///
/// Answers 0, -EINVAL (an argument is NULL, the cursor's range is reversed) or -ENOENT (there is
/// none).
/// Threads: beside others that only look at the map; each has a cursor of its own.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_next(
    maple: Option<&Maple>,
    cursor: Option<&mut MapleCursor>,
    found: Option<&mut MaybeUninit<MapleEntry>>,
) -> c_int {
    answer(|| {
        let (maple, cursor, out) = (maple.given()?, cursor.given()?, found.given()?);
        let next = cursor.upwards()?.and_then(|from| maple.0.find(from));
        let Some(found) = next.map(MapleEntry::from) else {
            cursor.is_passed_down = 0;
            return Err(Errno::NOT_FOUND);
        };
        cursor.arrive(found, out);
        Ok(())
    })
}

/// Moves cursor to the entry before and writes that to found: the last one that starts before the
/// cursor's range.
///
/// Answers 0, -EINVAL (an argument is NULL, the cursor's range is reversed) or -ENOENT (there is
/// none).
/// Threads: beside others that only look at the map; each has a cursor of its own.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_prev(
    maple: Option<&Maple>,
    cursor: Option<&mut MapleCursor>,
    found: Option<&mut MaybeUninit<MapleEntry>>,
) -> c_int {
    answer(|| {
        let (maple, cursor, out) = (maple.given()?, cursor.given()?, found.given()?);
        let before = cursor.downwards()?.and_then(|upto| maple.0.find_back(upto));
        let Some(found) = before.map(MapleEntry::from) else {
            cursor.is_passed_up = 0;
            return Err(Errno::NOT_FOUND);
        };
        cursor.arrive(found, out);
        Ok(())
    })
}

/// Moves cursor to what begins behind it, an entry or a gap, and writes that to found; the entry of
/// a gap is NULL.
///
/// Answers 0, -EINVAL (an argument is NULL, the cursor's range is reversed) or -ENOENT (the range
/// ends with the last index).
/// Threads: beside others that only look at the map; each has a cursor of its own.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_next_place(
    maple: Option<&Maple>,
    cursor: Option<&mut MapleCursor>,
    found: Option<&mut MaybeUninit<MapleEntry>>,
) -> c_int {
    answer(|| {
        let (maple, cursor, out) = (maple.given()?, cursor.given()?, found.given()?);
        let from = cursor.upwards()?.ok_or(Errno::NOT_FOUND)?;
        let found = MapleEntry::from(maple.0.walk(from));
        cursor.arrive(found, out);
        Ok(())
    })
}

/// Moves cursor to what ends before it, an entry or a gap, and writes that to found; the entry of a
/// gap is NULL.
///
/// Answers 0, -EINVAL (an argument is NULL, the cursor's range is reversed) or -ENOENT (the range
/// starts with index 0).
/// Threads: beside others that only look at the map; each has a cursor of its own.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_maple_prev_place(
    maple: Option<&Maple>,
    cursor: Option<&mut MapleCursor>,
    found: Option<&mut MaybeUninit<MapleEntry>>,
) -> c_int {
    answer(|| {
        let (maple, cursor, out) = (maple.given()?, cursor.given()?, found.given()?);
        let upto = cursor.downwards()?.ok_or(Errno::NOT_FOUND)?;
        let found = MapleEntry::from(maple.0.walk(upto));
        cursor.arrive(found, out);
        Ok(())
    })
}
