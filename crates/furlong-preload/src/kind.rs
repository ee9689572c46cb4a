//! What differs between the libraries.
#![forbid(unsafe_code)]

use furlong::malloc::{Config, Malloc};

/// A preloaded allocator: its parts, and the static that it is.
pub trait Kind: Config + Sized {
    /// The process's allocator of this kind.
    fn allocator() -> &'static Malloc<Self>;
}
