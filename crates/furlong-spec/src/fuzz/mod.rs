//! Entry points for a fuzzer. The bytes choose a world, an arm and every operation, and the arm is
//! compared with the model. Or the bytes are a text, and a reader is held to its promises.
//!
//! The operations are those of the seeded streams, decoded by the same code: each number that a
//! seed would supply is read from [`Bytes`](crate::Bytes). So a fuzzer that searches for bytes by
//! coverage, such as libFuzzer, searches for operations. The targets in `fuzz/` call these
//! functions, and the test `fuzz_corpus` calls them for every input in the corpus.
#![forbid(unsafe_code)]

use core::fmt::Display;

use crate::Located;

mod bounce;
mod iova;
#[cfg(target_os = "linux")]
mod malloc;
mod maple;
mod maps;
mod phys;
mod states;
mod vmspace;
mod vmtrace;

pub use bounce::bounce;
pub use iova::iova;
#[cfg(target_os = "linux")]
pub use malloc::malloc;
pub use maple::maple;
pub use maps::maps;
pub use phys::phys;
pub use states::states;
pub use vmspace::vmspace;
pub use vmtrace::vmtrace;

/// The result of an input: nothing, or the error found.
pub type Held = Result<(), String>;

/// The longest message, in bytes.
const MESSAGE_MAX: usize = 400;

/// Checks that a message names the file and is one printable line.
fn one_line<F: Display>(name: &str, error: &Located<F>) -> Held {
    let message = error.to_string();
    let is_named = message.starts_with(&format!("{name}: "));
    let is_one = is_named && !message.chars().any(char::is_control);
    match is_one && message.len() < MESSAGE_MAX && error.line != Some(0) {
        true => Ok(()),
        false => Err(format!("{message:?} is no message")),
    }
}

/// A function that a fuzzer runs.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The target's name, and that of its file and of its corpus folder.
    pub name: &'static str,
    /// Runs one input.
    pub run: fn(&[u8]) -> Held,
}

impl Target {
    const fn new(name: &'static str, run: fn(&[u8]) -> Held) -> Self {
        Self { name, run }
    }
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target::new("bounce", bounce),
    Target::new("iova", iova),
    #[cfg(target_os = "linux")]
    Target::new("malloc", malloc),
    Target::new("maple", maple),
    Target::new("maps", maps),
    Target::new("phys", phys),
    Target::new("states", states),
    Target::new("vmspace", vmspace),
    Target::new("vmtrace", vmtrace),
];
