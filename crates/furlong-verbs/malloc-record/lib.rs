//! Records a program's calls of malloc, the pages that it touches, and its memory outside the heap.
//! `furlong record malloc` preloads this library, which serves the calls from its own arena.
//!
//! The log is a file that all processes of the program have mapped. Each call claims the next place
//! in it with one addition and writes an [`Event`](log::Event) there. No buffer has to be flushed,
//! so a process's events survive however it ends, even by `kill -9`. Two kinds of events can be
//! lost: the one that each thread was writing at that moment, and those after the log is full,
//! which are counted.
//!
//! Like the program in `malloc-work`, it is compiled by `build.rs` and embedded. It has no standard
//! library, because that would allocate. `src/recorder/malloc/log.rs` reads the log.
#![no_std]

mod arena;
mod log;
mod sample;
mod streams;
mod symbols;
mod system;

// The compiled parts of Rust's library refer to this personality routine, which is never called. It
// is hidden, since a Rust program has its own.
core::arch::global_asm!(
    ".pushsection .text.furlong_personality,\"ax\",@progbits",
    ".hidden rust_eh_personality",
    ".globl rust_eh_personality",
    "rust_eh_personality:",
    ".long 0",
    ".popsection",
);

/// Never reached: nothing here panics.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: no contract.
    unsafe { log::abort() }
}
