//! Physical segments, plugged and unplugged while others look pages up.

pub mod boot;
pub mod page;
pub mod reader;
pub mod segment;
mod table;
pub mod unplug;

use alloc::boxed::Box;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

use furlong::check::Check;

use self::table::{Locked, Table};
use crate::answer::{Given, answer};
use crate::errno::Errno;
use crate::handle::{self, Home, Housed, footprint, on_heap, place};

/// Segments of physical memory in frames of 4 KiB, and a descriptor of 64 bytes for each frame once
/// the table has started.
///
/// All that changes a table, and all that asks for more than a frame, takes the table's own spin
/// lock: it may be called side by side, from any thread, but not by a handler that may have
/// interrupted another such call. Lookups go through a reader and take no lock.
///
/// A segment is named by any of its frames.
#[derive(Debug)]
pub struct Phys {
    pub(crate) table: Table,
    home: Home,
}

impl Housed for Phys {
    fn home(&self) -> Home {
        self.home
    }
}

impl Phys {
    /// A table without segments. It is a constant where it is made, and copied from there: a
    /// kernel's stack has no room for its 12 KiB.
    const fn empty(home: Home) -> Self {
        let table = Table::new();
        Self { table, home }
    }

    pub(crate) fn lock(&self) -> Locked<'_> {
        self.table.lock()
    }
}

/// Makes an empty table on the heap, where it also gets what it needs later.
///
/// Answers 0, -EINVAL (phys is NULL) or -ENOMEM.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_create(phys: Option<&mut MaybeUninit<*mut Phys>>) -> c_int {
    answer(|| {
        let out = phys.given()?;
        let phys = Box::write(on_heap()?, const { Phys::empty(Home::Heap) });
        phys.lock().grow_on_heap();
        out.write(Box::into_raw(phys));
        Ok(())
    })
}

/// The bytes that furlong_phys_create_in wants for a table of up to 32 segments that has not
/// started. For starting and what comes after it needs 64 bytes a frame and some 100 KiB more, here
/// or from furlong_phys_donate.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_bytes() -> usize {
    footprint::<Phys>(1)
}

/// Makes an empty table in memory of bytes bytes, of which it keeps the rest for what it needs
/// later. It never allocates. The memory is the caller's again when the table is destroyed.
///
/// Answers 0, -EINVAL (an argument is NULL) or -ENOMEM (bytes are too few).
/// Threads: any.
///
/// # Safety
/// The memory is good for reading and writing, and nobody else's until the table is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_phys_create_in(
    phys: Option<&mut MaybeUninit<*mut Phys>>,
    memory: *mut c_void,
    bytes: usize,
) -> c_int {
    answer(|| {
        let out = phys.given()?;
        // SAFETY: the caller vouches for the memory.
        let memory = unsafe { handle::given(memory, bytes) }?;
        let (place, rest) = place::<Phys>(memory)?;
        let phys = place.write(const { Phys::empty(Home::Given) });
        phys.lock().donate(rest);
        out.write(ptr::from_mut(phys));
        Ok(())
    })
}

/// Ends a table, with all descriptors; NULL is none.
///
/// Threads: nobody else uses the table any more, and it has no readers.
///
/// # Safety
/// phys came from furlong_phys_create or furlong_phys_create_in and has not been destroyed; its
/// readers have.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_phys_destroy(phys: *mut Phys) {
    if let Some(phys) = NonNull::new(phys) {
        // SAFETY: as the caller vouches.
        unsafe { handle::end(phys) };
    }
}

/// Gives the table memory for what it needs later: a static array, or frames that no segment has.
///
/// Answers 0, or -EINVAL (an argument is NULL).
/// Threads: side by side with everything.
///
/// # Safety
/// The memory is good for reading and writing, and nobody else's until the table is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_phys_donate(
    phys: Option<&Phys>,
    memory: *mut c_void,
    bytes: usize,
) -> c_int {
    answer(|| {
        let phys = phys.given()?;
        // SAFETY: the caller vouches for the memory.
        let memory = unsafe { handle::given(memory, bytes) }?;
        phys.lock().donate(memory);
        Ok(())
    })
}

/// Gives memory back that no reader looks at any more. Each change does so by itself; this is for
/// who wants it earlier.
///
/// Answers 0, or -EINVAL (phys is NULL).
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_sweep(phys: Option<&Phys>) -> c_int {
    answer(|| {
        phys.given()?.lock().sweep();
        Ok(())
    })
}

/// The bytes that the table has in use of the memory that it was given or took from the heap; 0 for
/// NULL.
///
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_memory_bytes(phys: Option<&Phys>) -> usize {
    phys.map_or(0, |phys| phys.lock().memory_bytes())
}

/// Walks all invariants of the table, which only a defect or a stray write can break.
///
/// Answers 0, -EINVAL (phys is NULL) or -ENOTRECOVERABLE (one is broken).
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_check(phys: Option<&Phys>) -> c_int {
    answer(|| phys.given()?.lock().check().map_err(|_| Errno::BROKEN))
}
