//! Bounce buffers: memory that a device can access, for buffers that it cannot.

pub mod device;
pub mod map;
mod memory;
pub mod plan;
mod pool;

use alloc::boxed::Box;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;

use furlong::addr::{self, Address as _};
use furlong::bounce::{GrowError, Plan, RegionMemory, SLOT};
use furlong::check::Check;

use self::memory::BounceMemory;
use self::plan::BouncePlan;
use self::pool::Pool;
use crate::answer::{Given, answer, answer_in, put};
use crate::errno::Errno;
use crate::handle::{self, Home, boxed, footprint, place};

/// A pool of bounce memory, shared by many CPUs and devices.
///
/// Mapping a buffer copies it into the pool. The device works on the copy, and its output is copied
/// back. The rest of a run of slots around the mapping is zeroed first.
///
/// With FURLONG_BOUNCE_GROW_NEVER and without transients, mapping, unmapping and synchronising take
/// no lock. Otherwise they may take a spin lock of the pool: a handler that may have interrupted a
/// call of this pool must not make one.
pub struct Bounce {
    pub(crate) pool: Pool,
    home: Home,
}

/// Makes a pool from a plan, with memory from the heap. The device address of a byte is its address
/// in the program.
///
/// Returns 0, -EINVAL (an argument is NULL, the plan is invalid), -EOVERFLOW (more slots than can
/// be numbered) or -ENOMEM.
/// Threads: any thread.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_create(
    bounce: Option<&mut MaybeUninit<*mut Bounce>>,
    plan: Option<&BouncePlan>,
) -> c_int {
    answer_in(bounce, || {
        let (plan, cpu) = plan.given()?.read()?;
        let pool = Pool::with_config(BounceMemory::on_heap(), cpu, &plan)?;
        let home = Home::Heap;
        Ok(Box::into_raw(boxed(Bounce { pool, home })?))
    })
}

/// Writes the size of the tables that furlong_bounce_create_in needs for this plan to bytes.
///
/// Returns 0, -EINVAL (an argument is NULL, the plan is invalid) or -EOVERFLOW (more slots than can
/// be numbered).
/// Threads: any thread.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_table_bytes(
    plan: Option<&BouncePlan>,
    bytes: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    answer_in(bytes, || {
        let (plan, _) = plan.given()?.read()?;
        let tables = Pool::table_bytes(&plan)?;
        Ok(tables.saturating_add(footprint::<Bounce>(1)))
    })
}

/// Makes a pool of one block in memory that the caller supplies: tables for the pool's state, and a
/// region. The block has all slots of the plan, whatever its block_min. Devices see the region from
/// address on, which must be a multiple of 2048 and should be one of 256 KiB. The pool never
/// allocates. Originals are copied by their address, as by memcpy. The caller gets all memory back
/// when the pool is destroyed without mappings.
///
/// Returns 0, -EINVAL (an argument is NULL, the plan is invalid), -EOVERFLOW (more slots than can
/// be numbered), -ENOMEM (table_bytes or region_bytes are too few) or -EADDRNOTAVAIL (address is
/// not a multiple of 2048, or the block would end beyond the plan's reach).
/// Threads: any thread.
///
/// # Safety
/// Both are valid for reading and writing, and nobody else uses them until the pool is destroyed.
/// Devices may use the region.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_bounce_create_in(
    bounce: Option<&mut MaybeUninit<*mut Bounce>>,
    plan: Option<&BouncePlan>,
    tables: *mut c_void,
    table_bytes: usize,
    region: *mut c_void,
    region_bytes: usize,
    address: u64,
) -> c_int {
    answer_in(bounce, || {
        let (plan, cpu) = plan.given()?.read()?;
        // SAFETY: the caller vouches for the tables.
        let tables = unsafe { handle::given(tables, table_bytes) }?;
        // SAFETY: the caller vouches for the region.
        let region = unsafe { handle::given(region, region_bytes) }?;
        let (place, tables) = place::<Bounce>(tables)?;
        // An invalid plan is refused before its address is looked at.
        Pool::table_bytes(&plan)?;
        let address = addr::Iova::new(address);
        if last_byte(address, &plan).is_none_or(|last| last > plan.reach) {
            return Err(GrowError::Misplaced.into());
        }
        // The whole block or none.
        let plan = Plan {
            block_min: plan.slots,
            ..plan
        };
        let memory = RegionMemory::new(region, address);
        let pool = Pool::with_config_in(tables, BounceMemory::of_region(memory), cpu, &plan)?;
        let home = Home::Given;
        Ok(ptr::from_mut(place.write(Bounce { pool, home })))
    })
}

/// The last byte of the first block, if it begins at an address.
fn last_byte(address: addr::Iova, plan: &Plan) -> Option<addr::Iova> {
    let bytes = (plan.slots as u64).checked_mul(SLOT)?;
    address.checked_add(bytes.checked_sub(1)?)
}

/// Destroys a pool; NULL is ignored. Memory that is still mapped is leaked on purpose, because a
/// device may use it.
///
/// Threads: exclusive; the pool must not be used afterwards.
///
/// # Safety
/// bounce came from furlong_bounce_create or furlong_bounce_create_in and has not been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_bounce_destroy(bounce: *mut Bounce) {
    // SAFETY: the caller vouches for it.
    unsafe { handle::end(bounce, |bounce| bounce.home) };
}

/// Obtains one more block, if the plan lets the pool grow. The number of its slots is written to
/// slots, unless that is NULL.
///
/// Returns 0, -EINVAL (bounce is NULL), -EPERM (the plan lets the pool never grow), -ENOSPC (the
/// pool has its largest number of blocks), -ENOMEM, -EADDRNOTAVAIL (the new memory is not at the
/// requested address) or -EAGAIN (another thread is growing the pool): nothing has changed.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_grow(
    bounce: Option<&Bounce>,
    slots: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    answer(|| {
        put(slots, bounce.given()?.pool.grow()?);
        Ok(())
    })
}

/// Does deferred work: grows the pool if a map requested it, and frees a block that stays empty.
/// The numbers of slots added and removed are written to grown and given_back, unless they are
/// NULL.
///
/// Returns 0, or -EINVAL (bounce is NULL).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_tend(
    bounce: Option<&Bounce>,
    grown: Option<&mut MaybeUninit<usize>>,
    given_back: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    answer(|| {
        let tended = bounce.given()?.pool.tend();
        put(grown, tended.grown);
        put(given_back, tended.given_back);
        Ok(())
    })
}

/// The number of slots in all blocks; 0 for NULL.
///
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_slots(bounce: Option<&Bounce>) -> usize {
    bounce.map_or(0, |bounce| bounce.pool.slots())
}

/// The number of free slots; 0 for NULL. Exact while no thread maps or unmaps.
///
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_free_slots(bounce: Option<&Bounce>) -> usize {
    bounce.map_or(0, |bounce| bounce.pool.free_slots())
}

/// The number of mapped slots; 0 for NULL. Exact while no thread maps or unmaps.
///
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_used_slots(bounce: Option<&Bounce>) -> usize {
    bounce.map_or(0, |bounce| bounce.pool.used_slots())
}

/// The largest number of slots mapped at one time; 0 for NULL.
///
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_high_water(bounce: Option<&Bounce>) -> usize {
    bounce.map_or(0, |bounce| bounce.pool.high_water())
}

/// Checks all invariants of the pool, which only a defect or a stray write can break. Exact while
/// no thread maps or unmaps.
///
/// Returns 0, -EINVAL (bounce is NULL) or -ENOTRECOVERABLE (one is broken).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_check(bounce: Option<&Bounce>) -> c_int {
    answer(|| bounce.given()?.pool.check().map_err(|_| Errno::BROKEN))
}
