//! Objects that C identifies by their address, and memory that it supplies.

use alloc::alloc::alloc;
use alloc::boxed::Box;
use core::alloc::Layout;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::slice;

use crate::errno::Errno;

/// Memory that the caller supplied. C gets it back when the object in it is destroyed. Until then
/// nobody else uses it, which is all that `'static` means here.
pub(crate) type Given = &'static mut [MaybeUninit<u8>];

/// The place of an object.
#[derive(Clone, Copy)]
pub(crate) enum Home {
    /// On the heap.
    Heap,
    /// In memory that the caller supplied.
    Given,
}

/// Allocates memory for an object on the heap.
pub(crate) fn on_heap<T>() -> Result<Box<MaybeUninit<T>>, Errno> {
    const { assert!(size_of::<T>() > 0, "what has no size has no address") };
    // SAFETY: the size is not 0.
    let memory = unsafe { alloc(Layout::new::<T>()) };
    let memory = NonNull::new(memory).ok_or(Errno::NO_MEMORY)?.cast();
    // SAFETY: allocated as such a box is; its content need not be initialised.
    Ok(unsafe { Box::from_raw(memory.as_ptr()) })
}

/// Puts an object on the heap.
pub(crate) fn boxed<T>(value: T) -> Result<Box<T>, Errno> {
    Ok(Box::write(on_heap()?, value))
}

/// Drops an object, and frees its memory if that came from the heap. `home` reads its place. Does
/// nothing for null.
///
/// # Safety
/// It came from `Box::into_raw` if its place is the heap. It has not been dropped, and nobody uses
/// it any more.
pub(crate) unsafe fn end<T>(object: *mut T, home: impl FnOnce(&T) -> Home) {
    let Some(object) = NonNull::new(object) else {
        return;
    };
    // SAFETY: the caller vouches that it is alive.
    match home(unsafe { object.as_ref() }) {
        // SAFETY: it came from a box, as the caller vouches, and becomes a box again only here.
        Home::Heap => drop(unsafe { Box::from_raw(object.as_ptr()) }),
        // SAFETY: it is alive, and nobody uses it any more.
        Home::Given => unsafe { object.drop_in_place() },
    }
}

/// Memory of `len` bytes from `start` on; an error for null, or for a length that no memory has.
///
/// # Safety
/// It is valid for reading and writing, and nobody else uses it until the object put into it is
/// dropped.
pub(crate) unsafe fn given(start: *mut c_void, len: usize) -> Result<Given, Errno> {
    let start = NonNull::new(start.cast()).ok_or(Errno::INVALID)?;
    if !is_memory(start.addr().get(), len) {
        return Err(Errno::INVALID);
    }
    // SAFETY: the caller vouches for the memory, which need not be initialised.
    Ok(unsafe { slice::from_raw_parts_mut(start.as_ptr(), len) })
}

/// An array of C's with places for `room` values, to be written; none for null. An error for a
/// number of places that no memory has.
///
/// # Safety
/// If `start` is not null, there are so many places, and nobody else uses them during the call.
pub(crate) unsafe fn room<'a, T>(
    start: *mut T,
    room: usize,
) -> Result<Option<&'a mut [MaybeUninit<T>]>, Errno> {
    let Some(start) = NonNull::new(start) else {
        return Ok(None);
    };
    let bytes = room.checked_mul(size_of::<T>()).ok_or(Errno::INVALID)?;
    if !is_memory(start.addr().get(), bytes) {
        return Err(Errno::INVALID);
    }
    // SAFETY: the caller vouches for the places, which need not be initialised.
    Ok(Some(unsafe {
        slice::from_raw_parts_mut(start.cast().as_ptr(), room)
    }))
}

/// True if memory can have so many bytes from an address on.
fn is_memory(start: usize, len: usize) -> bool {
    isize::try_from(len).is_ok() && start.checked_add(len).is_some()
}

/// A place for one object at the start of memory, and the rest of it.
pub(crate) fn place<T>(memory: Given) -> Result<(&'static mut MaybeUninit<T>, Given), Errno> {
    let (places, rest) = array(memory, 1)?;
    let place = places.first_mut().ok_or(Errno::NO_MEMORY)?;
    Ok((place, rest))
}

/// `len` places for objects at the start of memory, and the rest of it.
pub(crate) fn array<T>(
    memory: Given,
    len: usize,
) -> Result<(&'static mut [MaybeUninit<T>], Given), Errno> {
    let skip = memory.as_ptr().align_offset(align_of::<T>());
    let bytes = len.checked_mul(size_of::<T>()).ok_or(Errno::NO_MEMORY)?;
    let aligned = memory.get_mut(skip..).ok_or(Errno::NO_MEMORY)?;
    let (places, rest) = aligned
        .split_at_mut_checked(bytes)
        .ok_or(Errno::NO_MEMORY)?;
    let start = places.as_mut_ptr().cast();
    // SAFETY: the bytes were borrowed for good, are aligned, and suffice for so many places.
    Ok((unsafe { slice::from_raw_parts_mut(start, len) }, rest))
}

/// The largest number of bytes that `len` objects take, at any alignment of the memory.
pub(crate) const fn footprint<T>(len: usize) -> usize {
    let all = size_of::<T>().saturating_mul(len);
    all.saturating_add(align_of::<T>() - 1)
}

/// The same places, all initialised to `value`.
pub(crate) fn filled<T: Copy>(places: &'static mut [MaybeUninit<T>], value: T) -> &'static mut [T] {
    places.fill(MaybeUninit::new(value));
    let (start, len) = (places.as_mut_ptr().cast(), places.len());
    // SAFETY: they were borrowed for good, and each has just been written.
    unsafe { slice::from_raw_parts_mut(start, len) }
}
