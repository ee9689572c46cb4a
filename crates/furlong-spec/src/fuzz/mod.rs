//! What a fuzzer runs: bytes choose a world, an arm and every operation in it, and the arm is held
//! against the model; or bytes are what somebody has written, and a reader is held to its promises.
//!
//! The operations are those of the streams from seeds, decoded by the same code: each number that a
//! seed would draw is read from the [`Bytes`](crate::Bytes) instead. So whoever looks for bytes by
//! what they reach, as libFuzzer does, looks for operations. The targets in `fuzz/` call these
//! functions, and the ordinary test `fuzz_corpus` calls them for every input that is kept there.
#![forbid(unsafe_code)]

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

/// What came of an input: nothing, or what is wrong.
pub type Held = Result<(), String>;

/// A function that a fuzzer runs.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, which is also that of its file and of its folder of inputs.
    pub name: &'static str,
    /// Holds what it is about to what the bytes ask of it.
    pub run: fn(&[u8]) -> Held,
}

impl Target {
    const fn new(name: &'static str, run: fn(&[u8]) -> Held) -> Self {
        Self { name, run }
    }
}

/// All of them.
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
