//! The adapter files that may have `unsafe`: they implement foreign interfaces.
#![forbid(unsafe_code)]

/// Each file with its reason.
pub(crate) const UNSAFE_IN_ADAPTERS: &[(&str, &str)] = &[
    ("crates/furlong-adapters/src/virtio.rs", "a foreign trait"),
    (
        "crates/furlong-adapters/tests/free_list.rs",
        "the original's unsafe call, which is compared",
    ),
    (
        "crates/furlong-adapters/tests/virtio/machine.rs",
        "memory that a driver and a device share",
    ),
    (
        "crates/furlong-adapters/tests/virtio/main.rs",
        "unsafe calls of the driver",
    ),
];
