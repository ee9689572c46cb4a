//! The parts that differ between the libraries.
#![forbid(unsafe_code)]

use furlong::malloc::{Config, Malloc};

/// A preloaded allocator: its parts, and its static.
pub trait Kind: Config + Sized {
    /// The process's allocator of this kind.
    fn allocator() -> &'static Malloc<Self>;
}
