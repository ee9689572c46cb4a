//! Device addresses: reservations, and searches for free ranges.

mod nodes;
pub mod range;
pub mod request;

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;

use alloc::boxed::Box;

use furlong::addr;
use furlong::check::Check;
use furlong::iova::{Space, Standard};

use self::nodes::{Nodes, SpaceNode};
use crate::answer::{Given, answer, answer_in};
use crate::errno::Errno;
use crate::extent::extent;
use crate::handle::{self, Home, boxed, footprint, place};

/// A device's address space, with its reserved ranges.
///
/// It reserves whole granules. A range is released by its addresses: C may copy a grant, so each
/// release is looked up, in O(log n), and checked.
pub struct Iova {
    pub(crate) space: Space<Standard, Nodes>,
    home: Home,
}

/// Makes a space on the heap, of the addresses from start to last, with nothing reserved, in
/// granules of granule bytes.
///
/// Returns 0, -EINVAL (iova is NULL, last is below start, granule is not a power of two, the space
/// does not consist of whole granules) or -ENOMEM.
/// Threads: any thread.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_iova_create(
    iova: Option<&mut MaybeUninit<*mut Iova>>,
    start: u64,
    last: u64,
    granule: u64,
) -> c_int {
    answer_in(iova, || {
        let all = extent::<addr::Iova>(start, last)?;
        let space = Space::new(all, granule, Nodes::on_heap())?;
        let home = Home::Heap;
        Ok(Box::into_raw(boxed(Iova { space, home })?))
    })
}

/// The size in bytes that furlong_iova_create_in needs for a space of so many reserved ranges.
///
/// Threads: any thread.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_iova_bytes(ranges: usize) -> usize {
    footprint::<Iova>(1).saturating_add(footprint::<SpaceNode>(ranges))
}

/// Makes a space in memory of bytes bytes that the caller supplies. It never allocates: when all
/// that memory is in use, a reservation returns -ENOMEM. The caller gets the memory back when the
/// space is destroyed.
///
/// Returns 0, -EINVAL (an argument is NULL; otherwise as furlong_iova_create) or -ENOMEM (bytes are
/// too few for an empty space).
/// Threads: any thread.
///
/// # Safety
/// The memory is valid for reading and writing, and nobody else uses it until the space is
/// destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_iova_create_in(
    iova: Option<&mut MaybeUninit<*mut Iova>>,
    memory: *mut c_void,
    bytes: usize,
    start: u64,
    last: u64,
    granule: u64,
) -> c_int {
    answer_in(iova, || {
        let all = extent::<addr::Iova>(start, last)?;
        // SAFETY: the caller vouches for the memory.
        let memory = unsafe { handle::given(memory, bytes) }?;
        let (place, rest) = place::<Iova>(memory)?;
        let space = Space::new(all, granule, Nodes::in_memory(rest))?;
        let home = Home::Given;
        Ok(ptr::from_mut(place.write(Iova { space, home })))
    })
}

/// Destroys a space; NULL is ignored.
///
/// Threads: exclusive; the space must not be used afterwards.
///
/// # Safety
/// iova came from furlong_iova_create or furlong_iova_create_in and has not been destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn furlong_iova_destroy(iova: *mut Iova) {
    // SAFETY: the caller vouches for it.
    unsafe { handle::end(iova, |iova| iova.home) };
}

/// Obtains memory for so many reservations, which then allocate nothing.
///
/// Returns 0, -EINVAL (iova is NULL) or -ENOMEM.
/// Threads: exclusive, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_iova_prepare(iova: Option<&mut Iova>, reservations: usize) -> c_int {
    answer(|| Ok(iova.given()?.space.prepare(reservations)?))
}

/// The number of reserved ranges; 0 for NULL.
///
/// Threads: read-only.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_iova_len(iova: Option<&Iova>) -> usize {
    iova.map_or(0, |iova| iova.space.len())
}

/// Checks all invariants of the space, which only a defect or a stray write can break.
///
/// Returns 0, -EINVAL (iova is NULL) or -ENOTRECOVERABLE (one is broken).
/// Threads: read-only.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_iova_check(iova: Option<&Iova>) -> c_int {
    answer(|| iova.given()?.space.check().map_err(|_| Errno::BROKEN))
}
