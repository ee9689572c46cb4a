//! Functions that a kernel provides if there is no C library: a heap, and a panic handler.

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;
use core::fmt::{self, Write};
use core::panic::PanicInfo;

unsafe extern "C" {
    /// Allocates size bytes at a multiple of align, a power of two; NULL if out of memory. Only a
    /// kernel that links the library without Rust's standard library defines this function. It may
    /// be called under a spin lock of furlong_phys: it neither sleeps nor calls this library. align
    /// is at most 256 KiB.
    ///
    /// Threads: concurrent.
    fn furlong_port_allocate(size: usize, align: usize) -> *mut c_void;

    /// Frees memory from furlong_port_allocate, with the same size and align. Defined by a kernel,
    /// as that.
    ///
    /// Threads: concurrent.
    fn furlong_port_free(memory: *mut c_void, size: usize, align: usize);

    /// Ends the program after the library has found a defect in itself; message has len bytes.
    /// Defined by a kernel, as furlong_port_allocate. It does not return.
    ///
    /// Threads: any thread.
    fn furlong_port_panic(message: *const u8, len: usize) -> !;
}

/// The kernel's heap.
struct Port;

// SAFETY: the kernel promises for its two functions what this trait requires.
unsafe impl GlobalAlloc for Port {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: a layout's alignment is a power of two.
        unsafe { furlong_port_allocate(layout.size(), layout.align()) }.cast()
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: it was allocated with this layout, as the caller promises.
        unsafe { furlong_port_free(memory.cast(), layout.size(), layout.align()) };
    }
}

#[global_allocator]
static HEAP: Port = Port;

// The compiled parts of Rust's library refer to this symbol for unwinding, which never happens.
#[cfg(panic = "abort")]
core::arch::global_asm!(
    ".pushsection .text.furlong_personality,\"ax\",@progbits",
    ".hidden rust_eh_personality",
    ".globl rust_eh_personality",
    "rust_eh_personality:",
    ".long 0",
    ".popsection",
);

/// The panic message, as far as it fits.
struct Text {
    bytes: [u8; 256],
    len: usize,
}

impl Write for Text {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let room = &mut self.bytes[self.len..];
        let len = room.len().min(more.len());
        room[..len].copy_from_slice(&more.as_bytes()[..len]);
        self.len += len;
        Ok(())
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let mut text = Text {
        bytes: [0; 256],
        len: 0,
    };
    // `Text` truncates and never fails.
    let _ = write!(text, "furlong: {info}");
    // SAFETY: the text has so many bytes.
    unsafe { furlong_port_panic(text.bytes.as_ptr(), text.len) }
}
