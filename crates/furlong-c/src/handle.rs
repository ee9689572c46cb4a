//! Objects that C knows by their address, and memory that it hands in.

use alloc::alloc::alloc;
use alloc::boxed::Box;
use core::alloc::Layout;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::slice;

use crate::errno::Errno;

/// Memory that was handed in. It is C's again when the object in it has been destroyed, and until
/// then nobody else's, which is all that `'static` says here.
pub(crate) type Given = &'static mut [MaybeUninit<u8>];

/// Where an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// On the heap.
    Heap,
    /// In memory that was handed in.
    Given,
}

/// An object that knows where it is.
pub(crate) trait Housed {
    /// Where it is.
    fn home(&self) -> Home;
}

/// A place for an object on the heap.
pub(crate) fn on_heap<T>() -> Result<Box<MaybeUninit<T>>, Errno> {
    const { assert!(size_of::<T>() > 0, "what has no size has no address") };
    // SAFETY: the size is not 0.
    let memory = unsafe { alloc(Layout::new::<T>()) };
    let memory = NonNull::new(memory).ok_or(Errno::NO_MEMORY)?.cast();
    // SAFETY: allocated as such a box is, whose content need not be written.
    Ok(unsafe { Box::from_raw(memory.as_ptr()) })
}

/// Puts an object on the heap.
pub(crate) fn boxed<T>(value: T) -> Result<Box<T>, Errno> {
    Ok(Box::write(on_heap()?, value))
}

/// Ends an object, and gives its memory back if that came from the heap.
///
/// # Safety
/// It came from `Box::into_raw` if it says that it is on the heap, has not ended, and nobody uses
/// it any more.
pub(crate) unsafe fn end<T: Housed>(object: NonNull<T>) {
    // SAFETY: the caller says that it lives.
    let home = unsafe { object.as_ref() }.home();
    match home {
        // SAFETY: it came out of a box, as the caller says, and is made one again once.
        Home::Heap => drop(unsafe { Box::from_raw(object.as_ptr()) }),
        // SAFETY: it lives, and nobody uses it any more.
        Home::Given => unsafe { object.drop_in_place() },
    }
}

/// Memory of `len` bytes from `start` on; none without an address or with a length that no memory
/// has.
///
/// # Safety
/// It is good for reading and writing, and nobody else's, until what is put into it has ended.
pub(crate) unsafe fn given(start: *mut c_void, len: usize) -> Result<Given, Errno> {
    let start = NonNull::new(start.cast()).ok_or(Errno::INVALID)?;
    let fits = isize::try_from(len).is_ok() && start.addr().get().checked_add(len).is_some();
    if !fits {
        return Err(Errno::INVALID);
    }
    // SAFETY: the caller vouches for the memory, of which no value is asked.
    Ok(unsafe { slice::from_raw_parts_mut(start.as_ptr(), len) })
}

/// An array of C's for `room` values, to be written; none without an address.
///
/// # Safety
/// If there is an address, there are so many places, nobody else's while the call lasts.
pub(crate) unsafe fn room<'a, T>(start: *mut T, room: usize) -> Option<&'a mut [MaybeUninit<T>]> {
    let start = NonNull::new(start)?.cast();
    // SAFETY: the caller vouches for the places, of which no value is asked.
    Some(unsafe { slice::from_raw_parts_mut(start.as_ptr(), room) })
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
    // SAFETY: the bytes were borrowed for good, are aligned, and as many as so many places have.
    Ok((unsafe { slice::from_raw_parts_mut(start, len) }, rest))
}

/// Bytes that `len` objects take at most, wherever the memory begins.
pub(crate) const fn footprint<T>(len: usize) -> usize {
    let all = size_of::<T>().saturating_mul(len);
    all.saturating_add(align_of::<T>() - 1)
}

/// The same places, each with `value`.
pub(crate) fn filled<T: Copy>(places: &'static mut [MaybeUninit<T>], value: T) -> &'static mut [T] {
    places.fill(MaybeUninit::new(value));
    let (start, len) = (places.as_mut_ptr().cast(), places.len());
    // SAFETY: they were borrowed for good, and each has just been written.
    unsafe { slice::from_raw_parts_mut(start, len) }
}
