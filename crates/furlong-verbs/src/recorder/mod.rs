//! Recorders: they write real programs' calls of a system to a trace that can be replayed.
//!
//! # Files
//! - `program`: a command to record.
//! - `malloc`: calls of malloc; `heap`: samples of them, by their callers.
//! - `vm`: changes of address spaces, for `vmspace`.
//!
//! A recorder of another system is a folder beside `vm`, with a verb in `cmd/record.rs`.

pub mod heap;
pub mod malloc;
mod program;
pub mod vm;

pub use program::Program;

/// Descriptions of what a recording misses, each with its count if that is not 0.
fn missed<const N: usize>(counts: [(u64, &str); N]) -> Vec<String> {
    let some = counts.into_iter().filter(|(count, _)| *count > 0);
    some.map(|(count, what)| format!("{count} {what}"))
        .collect()
}
