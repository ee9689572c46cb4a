//! Readers: lookups that take no lock and never wait.

use alloc::boxed::Box;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

use furlong::addr::{Pfn, PhysAddr};
use furlong::phys::{Standard, View};
use furlong::rcu::{Guard, Reader};

use super::Phys;
use super::page::PhysPage;
use super::table::Table;
use crate::answer::{Given, answer, put};
use crate::errno::Errno;
use crate::handle::{self, Home, Housed, boxed, footprint, place};

/// Who looks frames up: a thread, a CPU, whatever enters and leaves. A table has up to 64.
#[derive(Debug)]
pub struct PhysReader {
    /// While it is inside; dropped before what it came from.
    guard: Option<Guard<'static>>,
    /// How often it has entered and not left.
    depth: usize,
    reader: Reader<'static>,
    table: &'static Table,
    home: Home,
}

impl Housed for PhysReader {
    fn home(&self) -> Home {
        self.home
    }
}

impl PhysReader {
    /// What it sees while it is inside.
    fn view(&self) -> Result<View<'_, PhysPage, Standard>, Errno> {
        let guard = self.guard.as_ref().ok_or(Errno::OUTSIDE)?;
        Ok(self.table.read(guard))
    }
}

/// A reader that is not inside.
///
/// # Safety
/// The table stays where it is until the reader has ended.
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
/// Answers 0, -EINVAL (an argument is NULL), -EUSERS (there are 64) or -ENOMEM.
/// Threads: side by side with everything.
///
/// # Safety
/// The table is not destroyed before its readers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_phys_reader_create(
    phys: Option<&Phys>,
    reader: Option<&mut MaybeUninit<*mut PhysReader>>,
) -> c_int {
    answer(|| {
        let (phys, out) = (phys.given()?, reader.given()?);
        // SAFETY: the caller vouches for the table.
        let reader = unsafe { outside(phys, Home::Heap) }?;
        out.write(Box::into_raw(boxed(reader)?));
        Ok(())
    })
}

/// The bytes that furlong_phys_reader_create_in wants.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_reader_bytes() -> usize {
    footprint::<PhysReader>(1)
}

/// Makes a reader in memory of bytes bytes, which is the caller's again when the reader is
/// destroyed.
///
/// Answers 0, -EINVAL (an argument is NULL), -EUSERS (there are 64) or -ENOMEM (bytes are too few).
/// Threads: side by side with everything.
///
/// # Safety
/// The table is not destroyed before its readers. The memory is good for reading and writing, and
/// nobody else's until the reader is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_phys_reader_create_in(
    phys: Option<&Phys>,
    reader: Option<&mut MaybeUninit<*mut PhysReader>>,
    memory: *mut c_void,
    bytes: usize,
) -> c_int {
    answer(|| {
        let (phys, out) = (phys.given()?, reader.given()?);
        // SAFETY: the caller vouches for the memory.
        let memory = unsafe { handle::given(memory, bytes) }?;
        let (place, _) = place::<PhysReader>(memory)?;
        // SAFETY: the caller vouches for the table.
        let reader = unsafe { outside(phys, Home::Given) }?;
        out.write(ptr::from_mut(place.write(reader)));
        Ok(())
    })
}

/// Ends a reader, which leaves if it is inside; NULL is none.
///
/// Threads: nobody else uses the reader any more.
///
/// # Safety
/// reader came from furlong_phys_reader_create or furlong_phys_reader_create_in and has not been
/// destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_phys_reader_destroy(reader: *mut PhysReader) {
    if let Some(reader) = NonNull::new(reader) {
        // SAFETY: as the caller vouches.
        unsafe { handle::end(reader) };
    }
}

/// Goes inside: what the reader then finds stays until it leaves as often as it has entered.
///
/// Answers 0, or -EINVAL (reader is NULL).
/// Threads: side by side with everything; a reader is used by one thread at a time, and leaves in
/// the thread in which it has entered.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_enter(reader: Option<&mut PhysReader>) -> c_int {
    answer(|| {
        let reader = reader.given()?;
        reader.depth = reader.depth.checked_add(1).given()?;
        if reader.guard.is_none() {
            // SAFETY: the guard is dropped before the reader that it comes from, and refers to
            // nothing in it, but to its slot in the table, which outlives both.
            let own: &'static Reader<'static> = unsafe { &*ptr::from_ref(&reader.reader) };
            reader.guard = Some(own.enter());
        }
        Ok(())
    })
}

/// Leaves.
///
/// Answers 0, -EINVAL (reader is NULL) or -EPERM (it is not inside).
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

/// Whether a segment has frame. Writes which of the segment's frames it is, counted from 0, to
/// offset, unless that is NULL. Beside a change the segment is one that had the frame at a moment
/// of the call.
///
/// Answers 0, -EINVAL (reader is NULL), -EPERM (it is not inside) or -ENOENT (no segment has the
/// frame, it is isolated, or the table has not started).
/// Threads: as furlong_phys_enter. Wait-free; it writes nothing that others read.
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

/// The descriptor of the frame that has the byte at address; NULL where furlong_phys_find does not
/// answer 0.
///
/// Threads: as furlong_phys_find.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_page(reader: Option<&PhysReader>, address: u64) -> *mut PhysPage {
    let view = reader.and_then(|reader| reader.view().ok());
    let page = view.and_then(|view| view.page(PhysAddr::new(address)));
    page.map_or(ptr::null_mut(), |page| ptr::from_ref(page).cast_mut())
}
