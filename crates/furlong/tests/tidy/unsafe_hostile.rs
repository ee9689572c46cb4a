//! The files of the hostile caller that may have `unsafe`; the attacking code itself is safe.
#![forbid(unsafe_code)]

/// Each file with its reason.
pub(crate) const UNSAFE_IN_HOSTILE: &[(&str, &str)] = &[
    (
        "crates/furlong-spec/src/hostile/policies.rs",
        "implements what unsafe code relies on, and panics in it",
    ),
    (
        "crates/furlong-spec/tests/hostile_bounce/memory.rs",
        "the contract of bounce memory, kept by memory that panics and lies",
    ),
    (
        "crates/furlong-spec/tests/hostile_bounce/raw.rs",
        "mappings that are made and ended by address",
    ),
    (
        "crates/furlong-spec/tests/hostile_bounce/restored.rs",
        "mappings that are claimed and ended by address",
    ),
    (
        "crates/furlong-spec/tests/hostile_iova/user.rs",
        "a lock that counts itself",
    ),
    (
        "crates/furlong-spec/tests/hostile_tree/items.rs",
        "names structs that are freed as soon as they may be",
    ),
];
