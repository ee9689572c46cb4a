//! Recorded traces, run again through the subjects of their system, every answer checked.
//!
//! # Words
//! A **trace** is a file of any **form**; a form knows its own and runs it. A **subject** is an arm
//! of the library by the name that the experiments have for it.
//!
//! # Files
//! - `input`: where a trace comes from; `form`: the seam, and all forms.
//! - `outcome`: what came of it, as `furlong.replay/1` has it; `page`: the same for a terminal.
//! - `malloc`: recordings of allocations.
//! - `phys`: memory maps, and recordings of plugs and unplugs; `vmspace`: recordings of address
//!   spaces.
#![forbid(unsafe_code)]

mod form;
mod input;
mod malloc;
mod outcome;
mod page;
mod phys;
mod vmspace;

pub use form::{Choice, replay};
pub use input::Input;
pub(crate) use malloc::HEADING as MALLOC_HEADING;
pub use outcome::{Differing, Judge, Kind, Outcome, SubjectOutcome};
pub use page::page;
