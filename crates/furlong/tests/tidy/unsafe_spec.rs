//! The files of the specification that may have `unsafe`.
#![forbid(unsafe_code)]

/// Each file with its reason.
pub(super) const UNSAFE_IN_SPEC: &[(&str, &str)] = &[
    (
        "crates/furlong-spec/src/maple/metered.rs",
        "memory for nodes that is counted",
    ),
    (
        "crates/furlong-spec/src/phys/ground.rs",
        "memory lent for good to a table that it outlives",
    ),
    (
        "crates/furlong-spec/src/bounce/machine.rs",
        "acts as a kernel with memory of its own",
    ),
    (
        "crates/furlong-spec/src/bounce/subject.rs",
        "vouches for originals in that memory",
    ),
    (
        "crates/furlong-spec/src/tree/intrusive.rs",
        "names such structs for the specification",
    ),
    (
        "crates/furlong-spec/src/heap.rs",
        "an allocator that fails when it is told to",
    ),
    (
        "crates/furlong-spec/tests/phys_memory/heap.rs",
        "an allocator that fails when it is told to",
    ),
    (
        "crates/furlong-spec/tests/vmspace_memory/heap.rs",
        "an allocator that fails when it is told to",
    ),
    (
        "crates/furlong-spec/tests/bounce_by_address.rs",
        "maps, syncs and unmaps by address",
    ),
    (
        "crates/furlong-spec/tests/bounce_state.rs",
        "maps, claims and unmaps by address",
    ),
    (
        "crates/furlong-spec/tests/iova_domain_memory.rs",
        "watches the memory that is obtained, and counts locks",
    ),
    (
        "crates/furlong-spec/tests/phys_interrupt/signal.rs",
        "signals are the interrupts that a program has",
    ),
    (
        "crates/furlong-spec/tests/phys_read_only/mapping.rs",
        "takes the right to write from memory that is read",
    ),
    (
        "crates/furlong-spec/tests/vmspace_kernel/kernel/process.rs",
        "a process that makes the system calls it is told",
    ),
    (
        "crates/furlong-spec/tests/maple_memory.rs",
        "memory for nodes that fails when it is told to",
    ),
];
