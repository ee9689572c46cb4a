//! Recordings of the address-space calls of real programs, and their replay.
//!
//! # Words
//! A **trace** is a file of the form `vmtrace 1`, with an **event** on each line, in order of time.
//! A **script** is a trace in which the processes have been told apart, so that each **step** names
//! its space. The **replay** needs no such work, so none of it is timed.
//!
//! # What always holds
//! - Any bytes give the events before the first faulty line, its number, and the fault.
//! - A trace that is written reads as the same trace.
//! - If the kernel chose a place, the replay checks that the place is free and maps there, so that
//!   later events agree with it. A fixed mapping must have the same result as in the kernel.
//! - Every result that differs is listed with its line and kind.
//!
//! # Files
//! - `event`: events; `line`: one as text; `file`: files, compressed or not; `fault`: faults.
//! - `script`: processes; `address_space`: the subject's interface; `replay`: the replay; `report`:
//!   its results.

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
