//! A program that frees blocks which it marks as uninitialised, under each hardening. With an
//! argument it reads one of them, which the sanitizer must detect.
#![no_main]

use core::ffi::{c_int, c_void};
use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, Ordering};
use furlong::malloc::{
    Batched, Checked, Config, CurrentHeap, Hardening, Heap, Inlined, Malloc, Misuse, NoHardening,
    PageSource, Secure,
};

unsafe extern "C" {
    fn mmap(at: *mut c_void, len: usize, may: c_int, how: c_int, of: c_int, at: i64) -> *mut u8;
    fn abort() -> !;
    /// A function of the sanitizer: marks memory as uninitialised.
    fn __msan_poison(start: *const c_void, len: usize);
}

struct Pages;

// SAFETY: fresh pages, never unmapped.
unsafe impl PageSource for Pages {
    fn map(&self, len: usize, align: usize) -> Option<NonNull<u8>> {
        // SAFETY: a private mapping of no file, wherever the system places it.
        let start = unsafe { mmap(ptr::null_mut(), len + align, 3, 0x22, -1, 0) };
        NonNull::new(start.wrapping_add(start.align_offset(align)))
    }

    unsafe fn unmap(&self, _: NonNull<u8>, _: usize) {}

    unsafe fn purge(&self, _: NonNull<u8>, _: usize) -> bool {
        false
    }

    fn random(&self) -> u64 {
        0x9e37_79b9_7f4a_7c15
    }

    fn stop(&self, _: Misuse, _: usize) -> ! {
        // SAFETY: no contract.
        unsafe { abort() }
    }
}

/// The heap of the only thread, for one hardening.
struct One<H>(PhantomData<H>);

macro_rules! allocators {
    ($($hardening:ident: $heap:ident, $malloc:ident, $parts:ident;)*) => {$(
        static $heap: AtomicPtr<Heap> = AtomicPtr::new(ptr::null_mut());

        // SAFETY: there is only one thread.
        unsafe impl CurrentHeap for One<$hardening> {
            type Pin = ();

            fn pin() {}

            fn get() -> &'static Heap {
                let heap = $heap.load(Ordering::SeqCst);
                // SAFETY: null, or a heap, and heaps are never freed.
                unsafe { heap.as_ref() }.unwrap_or(Heap::vacant())
            }

            unsafe fn set(heap: &'static Heap) {
                $heap.store(ptr::from_ref(heap).cast_mut(), Ordering::SeqCst);
            }
        }

        struct $parts;

        impl Config for $parts {
            type Source = Pages;
            type Current = One<$hardening>;
            type Hardening = $hardening;
            type Gate = Inlined;
            type Tier = Batched;
        }

        // SAFETY: no other allocator stores its heaps there.
        static $malloc: Malloc<$parts> = unsafe { Malloc::new(Pages) };
    )*};
}

allocators! {
    NoHardening: PLAIN_HEAP, PLAIN, Plain;
    Checked: CHECKED_HEAP, CHECKED, Looked;
    Secure: SECURE_HEAP, SECURE, Sealed;
}

/// An uninitialised block.
fn left<C: Config>(malloc: &'static Malloc<C>, size: usize) -> *mut u8 {
    let block = malloc.allocate(size);
    if !block.is_null() {
        // SAFETY: a block of this size.
        unsafe { __msan_poison(block.cast(), size) };
    }
    block
}

fn leave<C: Config>(malloc: &'static Malloc<C>) {
    let mut size = 1;
    while size < 1 << 20 {
        for _ in 0..20 {
            // SAFETY: a live block, not used afterwards.
            unsafe { malloc.free(left(malloc, size)) };
            let block = left(malloc, size);
            // SAFETY: as above.
            let longer = unsafe { malloc.resize(block, size * 2, 16) };
            // SAFETY: as above.
            unsafe { malloc.free(longer) };
        }
        size = size * 5 / 3 + 1;
    }
}

#[unsafe(no_mangle)]
extern "C" fn main(arguments: c_int, _: *const *const u8) -> c_int {
    leave(&PLAIN);
    leave(&CHECKED);
    leave(&SECURE);
    if arguments > 1 {
        // SAFETY: a block of this size; the read of uninitialised memory is the purpose.
        let read = unsafe { left(&CHECKED, 8).read_volatile() };
        return c_int::from(read > 7);
    }
    0
}
