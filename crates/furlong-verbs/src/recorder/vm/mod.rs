//! Recorder of a command's address spaces, as a trace that `furlong replay` can run directly.
//!
//! # Words
//! A **means** is a tool that watches the command. `perf` sees system calls, page faults and the
//! mappings of an exec. `strace` needs no permission and sees everything but faults. A **tape** is
//! the sequence of events seen.
//!
//! # Files
//! - `means`: the seam, its two implementations, and their availability.
//! - `perf`, `sample`: runs perf; parses a line of it. `strace`, `call`: the same for strace.
//! - `maps`: a line of `/proc/PID/maps`.
//! - `system_call`: a call as an event. `tape`: events in order, and the file.

mod call;
mod maps;
mod means;
mod perf;
mod sample;
mod strace;
mod system_call;
mod tape;

pub use means::{Means, Unable, choose};
pub use tape::Recorded;
use tape::Tape;

/// Parses a time in seconds with this many decimals, as a number of units of the last one.
fn ticks(time: &str, decimals: u32) -> Option<u64> {
    let (seconds, part) = time.split_once('.')?;
    let seconds: u64 = seconds.parse().ok()?;
    let part: u64 = part
        .parse()
        .ok()
        .filter(|_| part.len() == decimals as usize)?;
    seconds.checked_mul(10_u64.pow(decimals))?.checked_add(part)
}
