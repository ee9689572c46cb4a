//! Writes down what a program asks of malloc: a library that is preloaded by `furlong record
//! malloc` and hands every call on to the C library's own allocator.
//!
//! The log is a file that all processes of the program have mapped. Each call takes the next place
//! in it with one addition and writes an [`Event`](log::Event) there; no buffer has to be written
//! out, so that what a process has asked is there however it ends, by `kill -9` too. What can be
//! lost is the one event of each thread that was being written at that moment, and what comes after
//! the log is full, which is counted.
//!
//! Like the launcher it is compiled by `build.rs` and embedded. It has no standard library, which
//! would allocate. `src/recorder/malloc/log.rs` reads what it writes.
#![no_std]

mod log;
mod symbols;

/// Nothing here panics.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: no contract.
    unsafe { log::abort() }
}
