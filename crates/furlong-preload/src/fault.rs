//! A panic of the library's own: one line, and the end of the program.

use core::{fmt::Write, panic::PanicInfo};

use crate::report::Text;

// What the compiled parts of Rust's library name as their guide to unwinding; nobody follows it.
// Hidden, as a program in Rust has one that is.
core::arch::global_asm!(
    ".pushsection .text.furlong_personality,\"ax\",@progbits",
    ".hidden rust_eh_personality",
    ".globl rust_eh_personality",
    "rust_eh_personality:",
    "ud2",
    ".popsection",
);

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let mut text = Text::new();
    // Text takes what fits, and refuses nothing.
    let _ = writeln!(text, "furlong malloc: {info}");
    text.print();
    // SAFETY: no contract.
    unsafe { libc::abort() }
}
