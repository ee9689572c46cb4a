//! Recorded traces, replayed on the subjects of their system, with every answer checked.
//!
//! # Words
//! A **trace** is a file of any **form**; a form recognises its traces and runs them. A **subject**
//! is an arm of the library, by its name in the experiments.
//!
//! # Files
//! - `input`: sources of a trace; `form`: the seam, and all forms.
//! - `outcome`: the result as `furlong.replay/1`; `page`: the same for a terminal.
//! - `malloc`: recordings of allocations.
//! - `phys`: memory maps, and recordings of plugs and unplugs; `vmspace`: recordings of address
//!   spaces.

mod form;
mod input;
mod malloc;
mod outcome;
mod page;
mod phys;
mod vmspace;

pub use form::replay;
pub use input::Input;
pub(crate) use malloc::{HEADING as MALLOC_HEADING, Life, PROBE, Script, parse};
pub use outcome::{Differing, Judge, Kind, Outcome, SubjectOutcome};
pub use page::page;
