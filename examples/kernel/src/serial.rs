//! The serial line: where the kernel says what it has seen.

use core::fmt::{self, Write};

use crate::port;

/// The first line of a PC.
const DATA: u16 = 0x3f8;
const STATUS: u16 = DATA + 5;
/// In the status: there is room for a byte.
const HAS_ROOM: u8 = 1 << 5;

struct Serial;

impl Write for Serial {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.bytes().for_each(put);
        Ok(())
    }
}

fn put(byte: u8) {
    // SAFETY: a status register of a serial line.
    while unsafe { port::read_byte(STATUS) } & HAS_ROOM == 0 {}
    // SAFETY: its data register.
    unsafe { port::write_byte(DATA, byte) };
}

/// Writes a line about a system.
pub(crate) fn line(about: &str, what: fmt::Arguments<'_>) {
    // Nothing fails here.
    let _ = writeln!(Serial, "{about:<8} {what}");
}

/// Says a line about a system: its name, and a format with its arguments.
macro_rules! say {
    ($about:expr, $($what:tt)*) => {
        $crate::serial::line($about, format_args!($($what)*))
    };
}
pub(crate) use say;
