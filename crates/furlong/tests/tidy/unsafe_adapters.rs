//! The files of the façades that may have `unsafe`: what stands behind others' names.
#![forbid(unsafe_code)]

/// Each with why it must.
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
