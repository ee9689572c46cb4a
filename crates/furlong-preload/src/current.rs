//! A thread's heap, in thread-local storage that needs no call.
//!
//! The variable uses the initial-exec model: its place is known when the library is loaded, and two
//! instructions read it. The default model of a library's `thread_local!` calls a function, which
//! may allocate.

use core::marker::PhantomData;

use furlong::malloc::{CurrentHeap, Heap, VACANT};

use crate::kind::Kind;
use crate::start;

/// The heap of a thread of this process, for the process's allocator.
#[derive(Debug)]
pub struct Thread<K>(PhantomData<K>);

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".pushsection .tdata.furlong_heap,\"awT\",@progbits",
    ".balign 8",
    ".hidden furlong_heap",
    ".globl furlong_heap",
    ".type furlong_heap,@object",
    ".size furlong_heap,8",
    "furlong_heap:",
    ".quad {vacant}",
    ".popsection",
    vacant = sym VACANT,
);

/// Reads the variable: the address of a heap.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn read() -> *const Heap {
    let heap: *const Heap;
    // SAFETY: it reads this thread's variable, which always exists.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr [rip + furlong_heap@gottpoff]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) heap,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    heap
}

#[cfg(target_arch = "x86_64")]
fn write(heap: &'static Heap) {
    // SAFETY: it writes this thread's variable, which always exists.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr [rip + furlong_heap@gottpoff]",
            "mov qword ptr fs:[{0}], {1}",
            out(reg) _,
            in(reg) core::ptr::from_ref(heap),
            options(nostack, preserves_flags),
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
std::thread_local! {
    static HEAP: core::cell::Cell<&'static Heap> = const { core::cell::Cell::new(&VACANT) };
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn read() -> *const Heap {
    HEAP.get()
}

#[cfg(not(target_arch = "x86_64"))]
fn write(heap: &'static Heap) {
    HEAP.set(heap);
}

// SAFETY: the variable begins as VACANT's address, and then holds the heap of the last `set` in the
// same thread, which no other thread reads.
unsafe impl<K: Kind> CurrentHeap for Thread<K> {
    type Pin = ();

    #[inline(always)]
    fn pin() {}

    #[inline(always)]
    fn get() -> &'static Heap {
        // SAFETY: the address of a heap, and heaps live for ever.
        unsafe { &*read() }
    }

    unsafe fn set(heap: &'static Heap) {
        write(heap);
    }

    fn bound() {
        start::thread_began::<K>();
    }
}
