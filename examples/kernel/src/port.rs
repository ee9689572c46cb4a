//! Ports: how the CPU speaks to the oldest devices.

use core::arch::asm;

/// Reads a byte.
///
/// # Safety
/// Reading the port does nothing to memory.
pub(crate) unsafe fn read_byte(port: u16) -> u8 {
    let byte;
    // SAFETY: the caller's promise; the instruction touches no memory and no flags.
    unsafe { asm!("in al, dx", in("dx") port, out("al") byte, options(nomem, nostack)) };
    byte
}

/// Writes a byte.
///
/// # Safety
/// Writing the port does nothing to memory.
pub(crate) unsafe fn write_byte(port: u16, byte: u8) {
    // SAFETY: as in `read_byte`.
    unsafe { asm!("out dx, al", in("dx") port, in("al") byte, options(nomem, nostack)) };
}
