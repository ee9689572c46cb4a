//! Physical segments, plugged and unplugged during lookups of pages.

pub mod boot;
pub mod page;
pub mod reader;
pub mod segment;
mod table;
pub mod unplug;

use alloc::boxed::Box;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;

use furlong::check::Check;

use self::table::{Locked, Table};
use crate::answer::{Given, answer, answer_in};
use crate::errno::Errno;
use crate::handle::{self, Home, footprint, on_heap, place};

/// Segments of physical memory in frames of 4 KiB. After the start of the table, each frame has a
/// descriptor of 64 bytes.
///
/// A spin lock of the table protects all changes, and all queries except lookups. Any thread may
/// call them concurrently. A handler that may have interrupted such a call must not make one.
/// Lookups use a reader and take no lock.
///
/// A segment is identified by any of its frames.
pub struct Phys {
    pub(crate) table: Table,
    home: Home,
}

impl Phys {
    /// A table without segments. It is a constant and copied to its place, because a kernel's stack
    /// has no room for its 12 KiB.
    const fn empty(home: Home) -> Self {
        let table = Table::new();
        Self { table, home }
    }

    pub(crate) fn lock(&self) -> Locked<'_> {
        self.table.lock()
    }
}

/// Makes an empty table on the heap, which also allocates there later.
///
/// Returns 0, -EINVAL (phys is NULL) or -ENOMEM.
/// Threads: any thread.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_create(phys: Option<&mut MaybeUninit<*mut Phys>>) -> c_int {
    answer_in(phys, || {
        let phys = Box::write(on_heap()?, const { Phys::empty(Home::Heap) });
        phys.lock().grow_on_heap();
        Ok(Box::into_raw(phys))
    })
}

/// The size in bytes that furlong_phys_create_in needs for a table of up to 32 segments before its
/// start. The start and later changes need 64 bytes for each frame and about 100 KiB more, in this
/// memory or from furlong_phys_donate.
///
/// Threads: any thread.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_bytes() -> usize {
    footprint::<Phys>(1)
}

/// Makes an empty table in memory of bytes bytes that the caller supplies. It keeps the rest of the
/// memory for later use, and never allocates. The caller gets the memory back when the table is
/// destroyed.
///
/// Returns 0, -EINVAL (an argument is NULL) or -ENOMEM (bytes are too few).
/// Threads: any thread.
///
/// # Safety
/// The memory is valid for reading and writing, and nobody else uses it until the table is
/// destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_phys_create_in(
    phys: Option<&mut MaybeUninit<*mut Phys>>,
    memory: *mut c_void,
    bytes: usize,
) -> c_int {
    answer_in(phys, || {
        // SAFETY: the caller vouches for the memory.
        let memory = unsafe { handle::given(memory, bytes) }?;
        let (place, rest) = place::<Phys>(memory)?;
        let phys = place.write(const { Phys::empty(Home::Given) });
        phys.lock().donate(rest);
        Ok(ptr::from_mut(phys))
    })
}

/// Destroys a table, with all descriptors; NULL is ignored.
///
/// Threads: exclusive; the table has no readers, and must not be used afterwards.
///
/// # Safety
/// phys came from furlong_phys_create or furlong_phys_create_in and has not been destroyed. All its
/// readers have been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_phys_destroy(phys: *mut Phys) {
    // SAFETY: the caller vouches for it.
    unsafe { handle::end(phys, |phys| phys.home) };
}

/// Gives the table memory for later use: a static array, or frames outside of all segments.
///
/// Returns 0, or -EINVAL (an argument is NULL).
/// Threads: concurrent.
///
/// # Safety
/// The memory is valid for reading and writing, and nobody else uses it until the table is
/// destroyed.
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

/// Frees memory that no reader uses any more. Each change does so by itself; call this to free it
/// earlier.
///
/// Returns 0, or -EINVAL (phys is NULL).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_sweep(phys: Option<&Phys>) -> c_int {
    answer(|| {
        phys.given()?.lock().sweep();
        Ok(())
    })
}

/// The number of bytes in use, of memory that was supplied or came from the heap; 0 for NULL.
///
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_memory_bytes(phys: Option<&Phys>) -> usize {
    phys.map_or(0, |phys| phys.lock().memory_bytes())
}

/// Checks all invariants of the table, which only a defect or a stray write can break.
///
/// Returns 0, -EINVAL (phys is NULL) or -ENOTRECOVERABLE (one is broken).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_check(phys: Option<&Phys>) -> c_int {
    answer(|| phys.given()?.lock().check().map_err(|_| Errno::BROKEN))
}
