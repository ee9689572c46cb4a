//! What a command asks of its address spaces, as a trace that `furlong replay` runs at once.
//!
//! # Words
//! The **means** is what watches the command: `perf` sees system calls, page faults and what an
//! exec maps; `strace` needs no right and sees all but the faults. A **tape** is what was seen, in
//! order.
//!
//! # Files
//! - `means`: the seam: both, and which of them there is.
//! - `perf`, `sample`: runs it; understands a line of it. `strace`, `call`: likewise.
//! - `system_call`: a call as an event. `tape`: events in order, and the file.
#![forbid(unsafe_code)]

mod call;
mod means;
mod perf;
mod sample;
mod strace;
mod system_call;
mod tape;

pub use means::{Means, Unable, choose};
pub use tape::Recorded;
use tape::Tape;
