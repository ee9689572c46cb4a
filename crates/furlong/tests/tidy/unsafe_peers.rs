//! The files around third-party implementations that may have `unsafe`.
#![forbid(unsafe_code)]

/// Each file with its reason.
pub(crate) const UNSAFE_IN_PEERS: &[(&str, &str)] = &[
    (
        "crates/furlong-peers/examples/buddy_malloc.rs",
        "begins before the program does",
    ),
    (
        "crates/furlong-peers/examples/talc_malloc.rs",
        "begins before the program does",
    ),
    (
        "crates/furlong-peers/heaps/buddy.rs",
        "brings memory to a heap, and blocks back to it",
    ),
    (
        "crates/furlong-peers/heaps/face.rs",
        "exports functions of C",
    ),
    (
        "crates/furlong-peers/heaps/heap.rs",
        "the contract of a heap",
    ),
    (
        "crates/furlong-peers/heaps/lock.rs",
        "a mutex of the C library",
    ),
    (
        "crates/furlong-peers/heaps/talc.rs",
        "brings memory to a heap, and blocks back to it",
    ),
    (
        "crates/furlong-peers/tests/kernel_heaps.rs",
        "forwards the contract of a heap",
    ),
    (
        "crates/furlong-peers/tests/malloc_answers/c.rs",
        "calls the functions of C",
    ),
    (
        "crates/furlong-peers/src/bounce/buddy_heap.rs",
        "a heap whose lists lie in the memory that it hands out",
    ),
    (
        "crates/furlong-peers/src/tree/intrusive.rs",
        "an intrusive tree names structs by their address",
    ),
    (
        "crates/furlong-peers/src/linux/library.rs",
        "loads a library that the user has built, and names its functions",
    ),
];
