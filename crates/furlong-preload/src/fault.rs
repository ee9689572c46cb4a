//! The library's own panic handler: prints one line, and ends the program.

use core::fmt::Write;
use core::panic::PanicInfo;

use crate::report::Text;

// The compiled parts of Rust's library refer to this personality routine, which is never called. It
// is hidden, since a Rust program has its own.
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
    // Text cuts off what does not fit, and never fails.
    let _ = writeln!(text, "furlong malloc: {info}");
    text.print(2);
    // SAFETY: no contract.
    unsafe { libc::abort() }
}
