//! Recordings of what real programs ask of their address spaces, and their replay.
//!
//! # Words
//! A **trace** is a file of the form `vmtrace 1`: a line an **event**, in order of time. A
//! **script** is a trace whose processes have been told apart, so that each **step** names the
//! space that it is for; nothing of that is left to do, or to time, in the **replay**.
//!
//! # What always holds
//! - Any bytes give the events before the first line that is wrong, that line's number, and why.
//! - A trace that is written is read as the same trace.
//! - Where the kernel has chosen a place, the place is asked to be free, and imposed: later events
//!   agree with it. What is fixed has to come out as the kernel's answer.
//! - Every answer that differs is listed with its line and kind; none is left out.
//!
//! # Files
//! - `event`: events; `line`: one as text; `file`: files, packed or not; `fault`: what is wrong.
//! - `script`: processes; `address_space`: what can be replayed on; `replay`: the replay; `report`:
//!   what it has shown.
#![forbid(unsafe_code)]

mod address_space;
mod event;
mod fault;
mod file;
mod line;
mod replay;
mod report;
mod script;

pub use address_space::AddressSpace;
pub use event::{Answer, Event, What};
pub use fault::{Fault, TraceError};
pub use file::{HEADING, Trace, parse, read};
pub use replay::{Class, Unwatched, Watch, replay, replay_keeping};
pub use report::{Kind, Mismatch, Report};
pub use script::{Script, Step, Stepped};
