//! The files of the example kernel that may have `unsafe`: below them is only the machine.
#![forbid(unsafe_code)]

/// Each file with its reason.
pub(crate) const UNSAFE_IN_KERNEL: &[(&str, &str)] = &[
    ("examples/kernel/src/boot.rs", "where the loader jumps to"),
    (
        "examples/kernel/src/bounce.rs",
        "pages of the bus as a pool's memory",
    ),
    ("examples/kernel/src/direct.rs", "all memory by its address"),
    ("examples/kernel/src/disk.rs", "registers of a device"),
    (
        "examples/kernel/src/exception.rs",
        "tables that the CPU reads, and where it jumps to",
    ),
    ("examples/kernel/src/exit.rs", "stops the CPU"),
    (
        "examples/kernel/src/malloc.rs",
        "pages for an allocator, and whose heap it is",
    ),
    ("examples/kernel/src/mem.rs", "copies for the compiler"),
    (
        "examples/kernel/src/once.rs",
        "writes a static before anybody looks",
    ),
    ("examples/kernel/src/paging.rs", "page tables"),
    (
        "examples/kernel/src/phys.rs",
        "takes memory over from the loader",
    ),
    ("examples/kernel/src/port.rs", "instructions for ports"),
    ("examples/kernel/src/serial.rs", "ports of the serial line"),
    (
        "examples/kernel/src/start_info.rs",
        "reads what the loader has left",
    ),
    (
        "examples/kernel/src/vmspace.rs",
        "looks at memory behind page tables",
    ),
];
