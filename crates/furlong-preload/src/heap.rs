//! Heaps of a purpose for C: a [`Zone`] behind a handle. `include/furlong_malloc.h` documents them.
//!
//! A handle is the address of the zone, in a block of the process's allocator. So a heap that is
//! destroyed twice is found like a block that is freed twice.

use core::ffi::c_void;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

use furlong::malloc::{Malloc, Place, Zone};

use crate::aligned::invalid;
use crate::kind::Kind;

/// Blocks are at multiples of it, as those of `malloc`.
const ALIGN: usize = 16;

/// The process's allocator. Its place is a constant, so that `malloc` and `free` need not pass it
/// to their slow paths.
struct Process<K>(PhantomData<K>);

impl<K> Clone for Process<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Process<K> {}

// SAFETY: a process has one allocator.
unsafe impl<K: Kind> Place<K> for Process<K> {
    #[inline(always)]
    fn malloc(self) -> &'static Malloc<K> {
        K::allocator()
    }
}

type Heap<K> = Zone<K, Process<K>>;

/// The zone of a handle; `None` for null.
///
/// # Safety
/// `heap` is null or a handle that was not destroyed, and no other thread uses it.
unsafe fn zone<'h, K: Kind>(heap: *mut c_void) -> Option<&'h Heap<K>> {
    // SAFETY: the caller's promise.
    unsafe { heap.cast::<Heap<K>>().as_ref() }
}

/// A block for C; null without one.
fn found(block: Option<NonNull<u8>>) -> *mut c_void {
    block.map_or(ptr::null_mut(), NonNull::as_ptr).cast()
}

/// `furlong_heap_create`: a handle; null if out of memory.
pub fn create<K: Kind>() -> *mut c_void {
    let Some(zone) = Heap::<K>::of(Process(PhantomData)) else {
        return K::allocator().refuse().cast();
    };
    let place = K::allocator().allocate(size_of::<Heap<K>>());
    if !place.is_null() {
        // SAFETY: a new block of this size; blocks are aligned to 16.
        unsafe { place.cast::<Heap<K>>().write(zone) };
    }
    place.cast()
}

/// `furlong_heap_destroy`: frees a heap and all its blocks.
///
/// # Safety
/// `heap` is null or a handle that was not destroyed. Nobody uses it or a block of it from now on.
pub unsafe fn destroy<K: Kind>(heap: *mut c_void) {
    if heap.is_null() {
        return;
    }
    // SAFETY: the caller's promise.
    let zone = unsafe { heap.cast::<Heap<K>>().read() };
    // First, since that stops the program if the handle was destroyed already.
    // SAFETY: as above.
    unsafe { K::allocator().free(heap.cast()) };
    drop(zone);
}

/// `furlong_heap_malloc`: a block of at least `size` bytes.
///
/// # Safety
/// `heap` is null or a handle that was not destroyed, and no other thread uses it.
pub unsafe fn malloc<K: Kind>(heap: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the caller's promise.
    match unsafe { zone::<K>(heap) } {
        Some(zone) => found(zone.allocate(size, ALIGN)),
        None => invalid(),
    }
}

/// `furlong_heap_calloc`: `count` zeroed elements.
///
/// # Safety
/// As for [`malloc`].
pub unsafe fn calloc<K: Kind>(heap: *mut c_void, count: usize, size: usize) -> *mut c_void {
    // SAFETY: the caller's promise.
    let Some(zone) = (unsafe { zone::<K>(heap) }) else {
        return invalid();
    };
    match count.checked_mul(size) {
        Some(bytes) => found(zone.allocate_zeroed(bytes, ALIGN)),
        None => K::allocator().refuse().cast(),
    }
}

/// `furlong_heap_aligned_alloc`: a block at a multiple of `align`, a power of two.
///
/// # Safety
/// As for [`malloc`].
pub unsafe fn aligned_alloc<K: Kind>(heap: *mut c_void, align: usize, size: usize) -> *mut c_void {
    // SAFETY: the caller's promise.
    match unsafe { zone::<K>(heap) } {
        Some(zone) if align.is_power_of_two() => found(zone.allocate(size, align)),
        _ => invalid(),
    }
}

/// `furlong_heap_realloc`: as `realloc`.
///
/// # Safety
/// As for [`malloc`]; `block` is null or a live block of the heap.
pub unsafe fn realloc<K: Kind>(heap: *mut c_void, block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the caller's promise.
    let Some(zone) = (unsafe { zone::<K>(heap) }) else {
        return invalid();
    };
    match NonNull::new(block.cast()) {
        None => found(zone.allocate(size, ALIGN)),
        Some(block) if size == 0 => {
            // SAFETY: the caller's promise.
            unsafe { zone.free(block) };
            ptr::null_mut()
        }
        // SAFETY: as above.
        Some(block) => found(unsafe { zone.resize(block, size, ALIGN) }),
    }
}

/// `furlong_heap_free`: frees a block of the heap.
///
/// # Safety
/// As for [`realloc`].
pub unsafe fn free<K: Kind>(heap: *mut c_void, block: *mut c_void) {
    // SAFETY: the caller's promise.
    if let (Some(zone), Some(block)) = (unsafe { zone::<K>(heap) }, NonNull::new(block.cast())) {
        // SAFETY: as above.
        unsafe { zone.free(block) };
    }
}
