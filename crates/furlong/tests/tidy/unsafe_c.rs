//! The files of the C interface that may have `unsafe`: exporting a function requires it.
#![forbid(unsafe_code)]

/// Each file with its reason.
pub(crate) const UNSAFE_IN_C: &[(&str, &str)] = &[
    (
        "crates/furlong-c/src/bounce.rs",
        "exports functions of C, and takes memory that C hands in",
    ),
    (
        "crates/furlong-c/src/bounce/device.rs",
        "exports functions of C, and takes a handle back",
    ),
    (
        "crates/furlong-c/src/bounce/map.rs",
        "exports functions of C, and trusts its pointers",
    ),
    (
        "crates/furlong-c/src/bounce/memory.rs",
        "forwards the contract of whoever brings memory",
    ),
    (
        "crates/furlong-c/src/bounce/plan.rs",
        "exports functions of C",
    ),
    (
        "crates/furlong-c/src/handle.rs",
        "objects by their address, and memory that C hands in",
    ),
    (
        "crates/furlong-c/src/iova.rs",
        "exports functions of C, and takes memory that C hands in",
    ),
    (
        "crates/furlong-c/src/iova/range.rs",
        "exports functions of C",
    ),
    (
        "crates/furlong-c/src/iova/request.rs",
        "exports functions of C",
    ),
    ("crates/furlong-c/src/maple.rs", "exports functions of C"),
    (
        "crates/furlong-c/src/maple/cursor.rs",
        "exports functions of C",
    ),
    (
        "crates/furlong-c/src/maple/displaced.rs",
        "exports functions of C, and writes to its arrays",
    ),
    (
        "crates/furlong-c/src/maple/gap.rs",
        "exports functions of C",
    ),
    (
        "crates/furlong-c/src/phys.rs",
        "exports functions of C, and takes memory that C hands in",
    ),
    (
        "crates/furlong-c/src/phys/boot.rs",
        "exports functions of C",
    ),
    (
        "crates/furlong-c/src/phys/page.rs",
        "exports functions of C",
    ),
    (
        "crates/furlong-c/src/phys/reader.rs",
        "exports functions of C, and keeps a guard beside its reader",
    ),
    (
        "crates/furlong-c/src/phys/segment.rs",
        "exports functions of C",
    ),
    (
        "crates/furlong-c/src/phys/unplug.rs",
        "exports functions of C",
    ),
    ("crates/furlong-c/src/port.rs", "calls a kernel's functions"),
];
