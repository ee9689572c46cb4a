//! Ranges by their addresses: reservation, release, and look-up.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use furlong::addr;
use furlong::iova::{Kind, Owned, ReserveAtError};

use super::Iova;
use crate::answer::{Given, answer, answer_in, put};
use crate::errno::Errno;
use crate::extent::{Extent, extent};

/// The range was granted to a caller.
pub const FURLONG_IOVA_GRANTED: u32 = 0;
/// The range is a region of the firmware or the machine.
pub const FURLONG_IOVA_FIXED: u32 = 1;
/// The range is the rest of a granted range that was partly released.
pub const FURLONG_IOVA_UNCLAIMED: u32 = 2;

const _: () = {
    assert!(FURLONG_IOVA_GRANTED == Kind::Granted as u32);
    assert!(FURLONG_IOVA_FIXED == Kind::Fixed as u32);
    assert!(FURLONG_IOVA_UNCLAIMED == Kind::Unclaimed as u32);
};

/// A reserved range.
#[repr(C)]
pub struct IovaOwned {
    /// The first address.
    pub start: u64,
    /// The last address.
    pub last: u64,
    /// A small number that no other reserved range has at the same time.
    pub index: usize,
    /// FURLONG_IOVA_GRANTED or another kind.
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

/// Reserves exactly start to last. With -EEXIST, and only then, the reserved range in the way is
/// written to conflict, unless that is NULL.
///
/// Returns 0, -EINVAL (iova is NULL, last is below start, the range does not consist of whole
/// granules), -ERANGE (part of it is outside the space), -EEXIST (part of it is reserved) or
/// -ENOMEM: nothing has changed.
/// Threads: exclusive, under the caller's lock.
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
        // A dropped grant stays reserved, and is found by its address.
        drop(reserved?);
        Ok(())
    })
}

/// Reserves a region of the firmware or the machine. It may overlap others of its kind; then only
/// the parts that are not reserved yet are added. The number of ranges added is written to count,
/// unless that is NULL.
///
/// Returns 0, -EINVAL (iova is NULL, last is below start, the region does not consist of whole
/// granules), -ERANGE (part of it is outside the space), -EEXIST (part of it is reserved for
/// another kind) or -ENOMEM: nothing has changed.
/// Threads: exclusive, under the caller's lock.
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
/// Returns 0, -EINVAL (iova is NULL, last is below start, the range does not consist of whole
/// granules), -ERANGE (part of it is outside the space) or -ENOMEM: nothing has changed.
/// Threads: exclusive, under the caller's lock.
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

/// Releases exactly start to last, which must not be FURLONG_IOVA_FIXED.
///
/// Returns 0, -EINVAL (iova is NULL, last is below start, the range does not consist of whole
/// granules), -ENOENT (no part of it is reserved), -EBUSY (it is part of a larger range, or covers
/// several) or -EPERM (it is fixed: use furlong_iova_release_fixed): nothing has changed.
/// Threads: exclusive, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_iova_release(iova: Option<&mut Iova>, start: u64, last: u64) -> c_int {
    answer(|| iova.given()?.release(start, last, false))
}

/// Releases exactly start to last, which must be FURLONG_IOVA_FIXED: a region of the firmware that
/// is no longer in use.
///
/// Returns as furlong_iova_release, but -EPERM if it is not fixed.
/// Threads: exclusive, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_iova_release_fixed(
    iova: Option<&mut Iova>,
    start: u64,
    last: u64,
) -> c_int {
    answer(|| iova.given()?.release(start, last, true))
}

impl Iova {
    /// Releases exactly this range, if it is fixed as `is_fixed` says.
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

/// Releases all of start to last except fixed ranges. Ranges that are partly inside are cut, and
/// the rest of them becomes FURLONG_IOVA_UNCLAIMED. The number of pieces released is written to
/// count, unless that is NULL; 0 if nothing was reserved.
///
/// Returns 0, -EINVAL (iova is NULL, last is below start, the range does not consist of whole
/// granules), -ERANGE (part of it is outside the space) or -ENOMEM (a hole in the middle of a range
/// needs a second one): nothing has changed.
/// Threads: exclusive, under the caller's lock.
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

/// Writes the reserved range that contains address to owned.
///
/// Returns 0, -EINVAL (an argument is NULL) or -ENOENT (it is free, or outside the space).
/// Threads: read-only.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_iova_owner(
    iova: Option<&Iova>,
    address: u64,
    owned: Option<&mut MaybeUninit<IovaOwned>>,
) -> c_int {
    answer_in(owned, || {
        let owner = iova.given()?.space.owner(addr::Iova::new(address));
        Ok(owner.ok_or(Errno::NOT_FOUND)?.into())
    })
}

/// Writes the first reserved range that contains address or lies behind it to owned. To visit all,
/// begin with address 0 and continue behind owned's last address, unless that is UINT64_MAX.
///
/// Returns 0, -EINVAL (an argument is NULL) or -ENOENT (there is none).
/// Threads: read-only.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_iova_next(
    iova: Option<&Iova>,
    address: u64,
    owned: Option<&mut MaybeUninit<IovaOwned>>,
) -> c_int {
    answer_in(owned, || {
        let next = iova.given()?.space.reserved_in(from(address)?).next();
        Ok(next.ok_or(Errno::NOT_FOUND)?.into())
    })
}

/// Writes the first free range from address on to gap, without the part below address. All are
/// visited as with furlong_iova_next.
///
/// Returns 0, -EINVAL (an argument is NULL) or -ENOENT (there is none).
/// Threads: read-only.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_iova_next_free(
    iova: Option<&Iova>,
    address: u64,
    gap: Option<&mut MaybeUninit<Extent>>,
) -> c_int {
    answer_in(gap, || {
        let next = iova.given()?.space.free_in(from(address)?).next();
        Ok(next.ok_or(Errno::NOT_FOUND)?.into())
    })
}

/// All addresses from `address` on.
fn from(address: u64) -> Result<addr::Extent<addr::Iova>, Errno> {
    extent(address, u64::MAX)
}
