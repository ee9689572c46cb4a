//! Ranges by their addresses: reserved, released, and looked for.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use furlong::addr;
use furlong::iova::{Kind, Owned, ReserveAtError};

use super::Iova;
use crate::answer::{Given, answer, put};
use crate::errno::Errno;
use crate::extent::{Extent, extent};

/// It was granted to somebody.
pub const FURLONG_IOVA_GRANTED: u32 = 0;
/// It is a region of the firmware's or the machine's.
pub const FURLONG_IOVA_FIXED: u32 = 1;
/// It is what a release left of a range that was granted.
pub const FURLONG_IOVA_UNCLAIMED: u32 = 2;

const _: () = {
    assert!(FURLONG_IOVA_GRANTED == Kind::Granted as u32);
    assert!(FURLONG_IOVA_FIXED == Kind::Fixed as u32);
    assert!(FURLONG_IOVA_UNCLAIMED == Kind::Unclaimed as u32);
};

/// A reserved range.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct IovaOwned {
    /// The first address.
    pub start: u64,
    /// The last address.
    pub last: u64,
    /// A small number that no other reserved range has at the same time.
    pub index: usize,
    /// FURLONG_IOVA_GRANTED and so on.
    pub kind: u32,
}

impl From<Owned> for IovaOwned {
    fn from(owned: Owned) -> Self {
        let Extent { start, last } = owned.extent.into();
        Self {
            start,
            last,
            index: owned.index,
            kind: owned.kind as u32,
        }
    }
}

/// Reserves exactly start to last. In the way was the range that is written to conflict, unless
/// that is NULL, with -EEXIST only.
///
/// Answers 0, -EINVAL (iova is NULL, last is below start, the range is not made of whole granules),
/// -ERANGE (part of it is outside the space), -EEXIST (part of it is reserved) or -ENOMEM: nothing
/// has changed.
/// Threads: alone, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_iova_reserve_at(
    iova: Option<&mut Iova>,
    start: u64,
    last: u64,
    conflict: Option<&mut MaybeUninit<Extent>>,
) -> c_int {
    answer(|| {
        let (iova, at) = (iova.given()?, extent(start, last)?);
        let reserved = iova.space.reserve_at(at);
        if let Err(ReserveAtError::Occupied(at)) = &reserved {
            put(conflict, Extent::from(*at));
        }
        // Dropped, it stays reserved, and is found by its address.
        drop(reserved?);
        Ok(())
    })
}

/// Reserves a region of the firmware's or the machine's, which may overlap others of its kind: what
/// these have stays theirs. The number of ranges that came of it is written to count, unless that
/// is NULL.
///
/// Answers 0, -EINVAL (iova is NULL, last is below start, the region is not made of whole
/// granules), -ERANGE (part of it is outside the space), -EEXIST (part of it is reserved for
/// another kind) or -ENOMEM: nothing has changed.
/// Threads: alone, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_iova_reserve_fixed(
    iova: Option<&mut Iova>,
    start: u64,
    last: u64,
    count: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    answer(|| {
        let (iova, at) = (iova.given()?, extent(start, last)?);
        put(count, iova.space.reserve_fixed(at, |_| ())?);
        Ok(())
    })
}

/// Reserves every free part of start to last, each as a range of its own. Their number is written
/// to count, unless that is NULL.
///
/// Answers 0, -EINVAL (iova is NULL, last is below start, the range is not made of whole granules),
/// -ERANGE (part of it is outside the space) or -ENOMEM: nothing has changed.
/// Threads: alone, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_iova_fill(
    iova: Option<&mut Iova>,
    start: u64,
    last: u64,
    count: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    answer(|| {
        let (iova, at) = (iova.given()?, extent(start, last)?);
        // As for one range.
        put(count, iova.space.fill(at, drop)?);
        Ok(())
    })
}

/// Releases exactly start to last, which is not FURLONG_IOVA_FIXED.
///
/// Answers 0, -EINVAL (iova is NULL, last is below start, the range is not made of whole granules),
/// -ENOENT (nothing of it is reserved), -EBUSY (part of a larger range, or of several, is) or
/// -EPERM (it is fixed: furlong_iova_release_fixed): nothing has changed.
/// Threads: alone, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_iova_release(iova: Option<&mut Iova>, start: u64, last: u64) -> c_int {
    answer(|| iova.given()?.release(start, last, false))
}

/// Releases exactly start to last, which is FURLONG_IOVA_FIXED: a region of the firmware's that is
/// in use no more.
///
/// Answers as furlong_iova_release, but -EPERM if it is not fixed.
/// Threads: alone, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_iova_release_fixed(
    iova: Option<&mut Iova>,
    start: u64,
    last: u64,
) -> c_int {
    answer(|| iova.given()?.release(start, last, true))
}

impl Iova {
    /// Releases exactly this range, if it is fixed or if it is not.
    fn release(&mut self, start: u64, last: u64, is_fixed: bool) -> Result<(), Errno> {
        let at = extent(start, last)?;
        let owner = self
            .space
            .owner(at.start())
            .filter(|owner| owner.extent == at);
        if owner.is_some_and(|owner| (owner.kind == Kind::Fixed) != is_fixed) {
            return Err(Errno::OTHER_KIND);
        }
        self.space.release_at(at)?;
        Ok(())
    }
}

/// Releases all of start to last but what is fixed in it, and cuts the ranges that are partly
/// inside: what is left of them is FURLONG_IOVA_UNCLAIMED. How many pieces were released is written
/// to count, unless that is NULL; 0 if nothing was reserved.
///
/// Answers 0, -EINVAL (iova is NULL, last is below start, the range is not made of whole granules),
/// -ERANGE (part of it is outside the space) or -ENOMEM (a hole in the middle of a range needs a
/// second one): nothing has changed.
/// Threads: alone, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_iova_release_range(
    iova: Option<&mut Iova>,
    start: u64,
    last: u64,
    count: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    answer(|| {
        let (iova, at) = (iova.given()?, extent(start, last)?);
        put(count, iova.space.release_range(at, |_| ())?);
        Ok(())
    })
}

/// Writes the reserved range that has address to owned.
///
/// Answers 0, -EINVAL (an argument is NULL) or -ENOENT (it is free, or outside the space).
/// Threads: beside others that only look at the space.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_iova_owner(
    iova: Option<&Iova>,
    address: u64,
    owned: Option<&mut MaybeUninit<IovaOwned>>,
) -> c_int {
    answer(|| {
        let (iova, out) = (iova.given()?, owned.given()?);
        let owner = iova.space.owner(addr::Iova::new(address));
        out.write(owner.ok_or(Errno::NOT_FOUND)?.into());
        Ok(())
    })
}

/// Writes the first reserved range that has address or lies behind it to owned. To go through all,
/// begin with address 0 and go on behind owned's last address, unless that is UINT64_MAX.
///
/// Answers 0, -EINVAL (an argument is NULL) or -ENOENT (there is none).
/// Threads: beside others that only look at the space.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_iova_next(
    iova: Option<&Iova>,
    address: u64,
    owned: Option<&mut MaybeUninit<IovaOwned>>,
) -> c_int {
    answer(|| {
        let (iova, out) = (iova.given()?, owned.given()?);
        let next = iova.space.reserved_in(from(address)?).next();
        out.write(next.ok_or(Errno::NOT_FOUND)?.into());
        Ok(())
    })
}

/// Writes the first free range from address on to gap: what of it lies below address is left out.
/// To go through all, as with furlong_iova_next.
///
/// Answers 0, -EINVAL (an argument is NULL) or -ENOENT (there is none).
/// Threads: beside others that only look at the space.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_iova_next_free(
    iova: Option<&Iova>,
    address: u64,
    gap: Option<&mut MaybeUninit<Extent>>,
) -> c_int {
    answer(|| {
        let (iova, out) = (iova.given()?, gap.given()?);
        let next = iova.space.free_in(from(address)?).next();
        out.write(next.ok_or(Errno::NOT_FOUND)?.into());
        Ok(())
    })
}

/// All addresses from this one on.
fn from(address: u64) -> Result<addr::Extent<addr::Iova>, Errno> {
    extent(address, u64::MAX)
}
