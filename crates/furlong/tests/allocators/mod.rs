//! Separate allocators for each test: heaps of two must not meet in one thread, and the counts of
//! one must be its own.
#![forbid(unsafe_code)]

/// A type, its thread's heap, its static and its hardening, gate and tier.
macro_rules! allocators {
    ($($name:ident, $thread:ident, $malloc:ident: $hardening:ty, $gate:ty, $tier:ty;)*) => {$(
        struct $name;

        furlong::malloc::thread_heap!(
            $thread, static $malloc: Malloc<$name> = furlong::malloc::Linux
        );

        impl furlong::malloc::Config for $name {
            type Source = furlong::malloc::Linux;
            type Current = $thread;
            type Hardening = $hardening;
            type Gate = $gate;
            type Tier = $tier;
        }
    )*};
}

pub(crate) use allocators;
