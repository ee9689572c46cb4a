//! What a kernel brings, where there is no C library: a heap, and an end for what is at fault.

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;
use core::fmt::{self, Write};
use core::panic::PanicInfo;

unsafe extern "C" {
    /// Memory of size bytes at a multiple of align, a power of two; NULL if there is none. To be
    /// written by a kernel that links the library without Rust's standard library, and by nobody
    /// else.
    ///
    /// Threads: side by side with everything.
    fn furlong_port_allocate(size: usize, align: usize) -> *mut c_void;

    /// Takes memory back that furlong_port_allocate gave, with the same size and align. As that, to
    /// be written by a kernel.
    ///
    /// Threads: side by side with everything.
    fn furlong_port_free(memory: *mut c_void, size: usize, align: usize);

    /// Ends the program, for the library has found itself at fault; message has len bytes. As
    /// furlong_port_allocate, to be written by a kernel. It does not return.
    ///
    /// Threads: any.
    fn furlong_port_panic(message: *const u8, len: usize) -> !;
}

/// The kernel's heap.
struct Port;

// SAFETY: the kernel promises what its two functions say, which is what this trait asks for.
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

// What the compiled parts of Rust's library name as their guide to unwinding; nobody follows it.
#[cfg(panic = "abort")]
core::arch::global_asm!(
    ".pushsection .text.furlong_personality,\"ax\",@progbits",
    ".hidden rust_eh_personality",
    ".globl rust_eh_personality",
    "rust_eh_personality:",
    ".long 0",
    ".popsection",
);

/// What is said of a panic, as far as it fits.
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
    // It takes what fits, and refuses nothing.
    let _ = write!(text, "furlong: {info}");
    // SAFETY: the text has so many bytes.
    unsafe { furlong_port_panic(text.bytes.as_ptr(), text.len) }
}
