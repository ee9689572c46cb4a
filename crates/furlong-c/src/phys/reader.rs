//! Readers: lookups that take no lock and never wait.

use alloc::boxed::Box;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;

use furlong::addr::{Pfn, PhysAddr};
use furlong::phys::{Standard, View};
use furlong::rcu::{Guard, Reader};

use super::Phys;
use super::page::PhysPage;
use super::table::Table;
use crate::answer::{Given, answer, answer_in, put};
use crate::errno::Errno;
use crate::handle::{self, Home, boxed, footprint, place};

/// A context that looks up frames, such as a thread or a CPU. A table has up to 64 readers.
pub struct PhysReader {
    /// The guard between enter and leave. Declared before `reader`, so it is dropped first.
    guard: Option<Guard<'static>>,
    /// The number of enters that were not left yet.
    depth: usize,
    reader: Reader<'static>,
    table: &'static Table,
    home: Home,
}

impl PhysReader {
    /// The view of the table, if the reader has entered.
    fn view(&self) -> Result<View<'_, PhysPage, Standard>, Errno> {
        let guard = self.guard.as_ref().ok_or(Errno::OUTSIDE)?;
        Ok(self.table.read(guard))
    }
}

/// A reader that has not entered.
///
/// # Safety
/// The table is not moved or destroyed before the reader has ended.
unsafe fn outside(phys: &Phys, home: Home) -> Result<PhysReader, Errno> {
    // SAFETY: the table outlives the reader, as the caller vouches.
    let table: &'static Table = unsafe { &*ptr::from_ref(&phys.table) };
    Ok(PhysReader {
        guard: None,
        depth: 0,
        reader: table.rcu().register()?,
        table,
        home,
    })
}

/// Makes a reader of a table, on the heap.
///
/// Returns 0, -EINVAL (an argument is NULL), -EUSERS (there are 64 readers) or -ENOMEM.
/// Threads: concurrent.
///
/// # Safety
/// The readers of a table are destroyed before it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_phys_reader_create(
    phys: Option<&Phys>,
    reader: Option<&mut MaybeUninit<*mut PhysReader>>,
) -> c_int {
    answer_in(reader, || {
        // SAFETY: the caller vouches for the table.
        let reader = unsafe { outside(phys.given()?, Home::Heap) }?;
        Ok(Box::into_raw(boxed(reader)?))
    })
}

/// The size in bytes that furlong_phys_reader_create_in needs.
///
/// Threads: any thread.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_reader_bytes() -> usize {
    footprint::<PhysReader>(1)
}

/// Makes a reader in memory of bytes bytes that the caller supplies. The caller gets the memory
/// back when the reader is destroyed.
///
/// Returns 0, -EINVAL (an argument is NULL), -EUSERS (there are 64 readers) or -ENOMEM (bytes are
/// too few).
/// Threads: concurrent.
///
/// # Safety
/// The readers of a table are destroyed before it. The memory is valid for reading and writing, and
/// nobody else uses it until the reader is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_phys_reader_create_in(
    phys: Option<&Phys>,
    reader: Option<&mut MaybeUninit<*mut PhysReader>>,
    memory: *mut c_void,
    bytes: usize,
) -> c_int {
    answer_in(reader, || {
        let phys = phys.given()?;
        // SAFETY: the caller vouches for the memory.
        let memory = unsafe { handle::given(memory, bytes) }?;
        let (place, _) = place::<PhysReader>(memory)?;
        // SAFETY: the caller vouches for the table.
        let reader = unsafe { outside(phys, Home::Given) }?;
        Ok(ptr::from_mut(place.write(reader)))
    })
}

/// Destroys a reader, which leaves first if it has entered; NULL is ignored.
///
/// Threads: exclusive; the reader must not be used afterwards.
///
/// # Safety
/// reader came from furlong_phys_reader_create or furlong_phys_reader_create_in and has not been
/// destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_phys_reader_destroy(reader: *mut PhysReader) {
    // SAFETY: the caller vouches for it.
    unsafe { handle::end(reader, |reader| reader.home) };
}

/// Enters: all finds of the reader stay valid until it has left as often as it has entered.
///
/// Returns 0, or -EINVAL (reader is NULL).
/// Threads: concurrent. A reader is used by one thread at a time, and leaves in the thread in which
/// it has entered. A handler that may have interrupted a call with a reader needs its own.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_enter(reader: Option<&mut PhysReader>) -> c_int {
    answer(|| {
        let reader = reader.given()?;
        reader.depth = reader.depth.checked_add(1).given()?;
        if reader.guard.is_none() {
            // SAFETY: the guard is dropped before the reader that it comes from. It refers to
            // nothing in the reader except the slot in the table, which outlives both.
            let own: &'static Reader<'static> = unsafe { &*ptr::from_ref(&reader.reader) };
            reader.guard = Some(own.enter());
        }
        Ok(())
    })
}

/// Leaves.
///
/// Returns 0, -EINVAL (reader is NULL) or -EPERM (it has not entered).
/// Threads: as furlong_phys_enter.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_leave(reader: Option<&mut PhysReader>) -> c_int {
    answer(|| {
        let reader = reader.given()?;
        reader.depth = reader.depth.checked_sub(1).ok_or(Errno::OUTSIDE)?;
        if reader.depth == 0 {
            reader.guard = None;
        }
        Ok(())
    })
}

/// Looks up the segment that contains frame. Writes the index of the frame in its segment, from 0,
/// to offset, unless that is NULL. Beside a change, the segment is one that contained the frame at
/// some moment during the call.
///
/// Returns 0, -EINVAL (reader is NULL), -EPERM (it has not entered) or -ENOENT (no segment contains
/// the frame, it is isolated, or the table has not started).
/// Threads: as furlong_phys_enter. It is wait-free, and writes no memory that others read.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_find(
    reader: Option<&PhysReader>,
    frame: u64,
    offset: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    answer(|| {
        let found = reader.given()?.view()?.find(Pfn::new(frame));
        let (_, at) = found.ok_or(Errno::NOT_FOUND)?;
        put(offset, at);
        Ok(())
    })
}

/// The descriptor of the frame that contains the byte at address; NULL if furlong_phys_find would
/// return an error.
///
/// Threads: as furlong_phys_find.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_page(reader: Option<&PhysReader>, address: u64) -> *mut PhysPage {
    let view = reader.and_then(|reader| reader.view().ok());
    let page = view.and_then(|view| view.page(PhysAddr::new(address)));
    page.map_or(ptr::null_mut(), |page| ptr::from_ref(page).cast_mut())
}
