//! A kernel that uses all five systems of furlong, and checks what they do.
//!
//! It is booted by QEMU, says a line a system over the serial line, then PASS, and ends the
//! machine; where anything is not as it should be it says FAIL and why. There is no operating
//! system and no standard library, and before `malloc` runs there is no heap but that of `small`.
//!
//! - `boot`, `exception`, `start_info`, `port`, `serial`, `exit`, `mem`: the machine.
//! - `direct`, `paging`: memory by its address, and page tables.
//! - `phys`, `iova`, `malloc`, `vmspace`, `bounce`, `disk`: what the kernel makes of furlong, one
//!   file a system, and a driver of somebody else's.
//! - `small`: a heap of 64 KiB, before any of them.
//! - `once`: a static that is set once.
#![no_std]
#![no_main]

extern crate alloc;

mod boot;
mod bounce;
mod direct;
mod disk;
mod exception;
mod exit;
mod iova;
mod malloc;
mod mem;
mod once;
mod paging;
mod phys;
mod port;
mod serial;
mod small;
mod start_info;
mod vmspace;

use core::panic::PanicInfo;

use exit::{Ending, exit};
use serial::say;
use start_info::MemoryMap;

/// All of it, in the order in which a kernel gets to it.
fn main(map: &MemoryMap) -> ! {
    small::run();
    malloc::unused(|| {
        phys::run(map);
        iova::open();
    });
    malloc::run();
    iova::run();
    vmspace::run();
    bounce::run();
    disk::run();
    say!("PASS", "five systems, no operating system");
    exit(Ending::Pass)
}

#[panic_handler]
fn panicked(info: &PanicInfo<'_>) -> ! {
    match info.location() {
        Some(at) => say!("FAIL", "{}:{}: {}", at.file(), at.line(), info.message()),
        None => say!("FAIL", "{}", info.message()),
    }
    exit(Ending::Fail)
}
