//! Bounce buffers: memory that a device can reach, for buffers that it cannot.

pub mod device;
pub mod map;
mod memory;
pub mod plan;
mod pool;

use alloc::boxed::Box;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

use furlong::addr;
use furlong::bounce::RegionMemory;
use furlong::check::Check;

use self::memory::BounceMemory;
use self::plan::BouncePlan;
use self::pool::Pool;
use crate::answer::{Given, answer, put};
use crate::errno::Errno;
use crate::handle::{self, Home, Housed, boxed, footprint, place};

/// A pool of bounce memory, shared by many CPUs and devices.
///
/// A buffer is mapped: it is copied into the pool, the device works there, and what it has written
/// is copied back. What of a run of slots lies around a mapping is zeroed first.
#[derive(Debug)]
pub struct Bounce {
    pub(crate) pool: Pool,
    home: Home,
}

impl Housed for Bounce {
    fn home(&self) -> Home {
        self.home
    }
}

/// Makes a pool as planned, whose memory comes from the heap: devices have a byte at the address
/// that the program has.
///
/// Answers 0, -EINVAL (an argument is NULL, there can be no such pool), -EOVERFLOW (more slots than
/// can be numbered) or -ENOMEM.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_create(
    bounce: Option<&mut MaybeUninit<*mut Bounce>>,
    plan: Option<&BouncePlan>,
) -> c_int {
    answer(|| {
        let (out, (plan, cpu)) = (bounce.given()?, plan.given()?.read()?);
        let pool = Pool::with_config(BounceMemory::on_heap(), cpu, &plan)?;
        let home = Home::Heap;
        out.write(Box::into_raw(boxed(Bounce { pool, home })?));
        Ok(())
    })
}

/// Writes the bytes of tables that furlong_bounce_create_in wants for such a pool to bytes.
///
/// Answers 0, -EINVAL (an argument is NULL, there can be no such pool) or -EOVERFLOW (more slots
/// than can be numbered).
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_table_bytes(
    plan: Option<&BouncePlan>,
    bytes: Option<&mut MaybeUninit<usize>>,
) -> c_int {
    answer(|| {
        let ((plan, _), out) = (plan.given()?.read()?, bytes.given()?);
        let tables = Pool::table_bytes(&plan)?;
        out.write(tables.saturating_add(footprint::<Bounce>(1)));
        Ok(())
    })
}

/// Makes a pool of one block in memory that the caller hands in: tables for what the pool knows,
/// and a region that devices see from address on, a multiple of 2048, better of 256 KiB. It never
/// allocates. Originals are copied by their address, as by memcpy. All of it is the caller's again
/// when the pool is destroyed with nothing mapped.
///
/// Answers 0, -EINVAL (an argument is NULL, there can be no such pool), -EOVERFLOW (more slots than
/// can be numbered), -ENOMEM (table_bytes or region_bytes are too few) or -EADDRNOTAVAIL (address
/// is no multiple of 2048, or beyond the plan's reach).
/// Threads: any.
///
/// # Safety
/// Both are good for reading and writing, and nobody else's (the region: but devices') until the
/// pool is destroyed.
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
    answer(|| {
        let (out, (plan, cpu)) = (bounce.given()?, plan.given()?.read()?);
        // SAFETY: the caller vouches for the tables.
        let tables = unsafe { handle::given(tables, table_bytes) }?;
        // SAFETY: the caller vouches for the region.
        let region = unsafe { handle::given(region, region_bytes) }?;
        let (place, tables) = place::<Bounce>(tables)?;
        let memory = RegionMemory::new(region, addr::Iova::new(address));
        let pool = Pool::with_config_in(tables, BounceMemory::of_region(memory), cpu, &plan)?;
        let home = Home::Given;
        out.write(ptr::from_mut(place.write(Bounce { pool, home })));
        Ok(())
    })
}

/// Ends a pool; NULL is none. Memory in which something is mapped still is lost on purpose: a
/// device may use it.
///
/// Threads: nobody else uses the pool any more.
///
/// # Safety
/// bounce came from furlong_bounce_create or furlong_bounce_create_in and has not been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_bounce_destroy(bounce: *mut Bounce) {
    if let Some(bounce) = NonNull::new(bounce) {
        // SAFETY: as the caller vouches.
        unsafe { handle::end(bounce) };
    }
}

/// Obtains a further block, if the plan lets the pool grow. Its slots are written to slots, unless
/// that is NULL.
///
/// Answers 0, -EINVAL (bounce is NULL), -EPERM (the plan lets the pool never grow), -ENOSPC (there
/// are as many blocks as there may be), -ENOMEM, -EADDRNOTAVAIL (the memory is not where it was
/// asked for) or -EAGAIN (somebody else makes the pool grow): nothing has changed.
/// Threads: side by side with everything.
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

/// Does what can wait: grows if a map asked for it, and gives a block back that stays empty. By how
/// many slots is written to grown and given_back, unless they are NULL.
///
/// Answers 0, or -EINVAL (bounce is NULL).
/// Threads: side by side with everything.
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

/// The slots of all blocks; 0 for NULL.
///
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_slots(bounce: Option<&Bounce>) -> usize {
    bounce.map_or(0, |bounce| bounce.pool.slots())
}

/// The slots that are free; 0 for NULL. Exact while nobody maps or unmaps.
///
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_free_slots(bounce: Option<&Bounce>) -> usize {
    bounce.map_or(0, |bounce| bounce.pool.free_slots())
}

/// The slots that are mapped; 0 for NULL. Exact while nobody maps or unmaps.
///
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_used_slots(bounce: Option<&Bounce>) -> usize {
    bounce.map_or(0, |bounce| bounce.pool.used_slots())
}

/// How many slots were mapped at a time, at most; 0 for NULL.
///
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_high_water(bounce: Option<&Bounce>) -> usize {
    bounce.map_or(0, |bounce| bounce.pool.high_water())
}

/// Walks all invariants of the pool, which only a defect or a stray write can break. Exact while
/// nobody maps or unmaps.
///
/// Answers 0, -EINVAL (bounce is NULL) or -ENOTRECOVERABLE (one is broken).
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_bounce_check(bounce: Option<&Bounce>) -> c_int {
    answer(|| bounce.given()?.pool.check().map_err(|_| Errno::BROKEN))
}
