//! The files of the allocator that may have `unsafe`: they access memory by its address.
#![forbid(unsafe_code)]

/// Each file with its reason.
pub(crate) const UNSAFE_IN_MALLOC: &[(&str, &str)] = &[
    (
        "crates/furlong/src/malloc/front/malloc.rs",
        "its gates touch the blocks that they take and give",
    ),
    (
        "crates/furlong/src/malloc/front/api2.rs",
        "the contract of collections' allocators",
    ),
    (
        "crates/furlong/src/malloc/os/block.rs",
        "the memory of blocks, by its address",
    ),
    (
        "crates/furlong/src/malloc/thread/object_cache.rs",
        "objects in blocks of a zone",
    ),
    (
        "crates/furlong/src/malloc/os/current.rs",
        "the contract of whoever keeps heaps",
    ),
    (
        "crates/furlong/src/malloc/field.rs",
        "links to records that live for ever",
    ),
    (
        "crates/furlong/src/malloc/front/maintain.rs",
        "the contract of whoever forks",
    ),
    (
        "crates/furlong/src/malloc/front/global.rs",
        "the contract of Rust's allocators",
    ),
    (
        "crates/furlong/src/malloc/thread/thread_heap.rs",
        "makes a heap of mapped memory",
    ),
    (
        "crates/furlong/src/malloc/central/map.rs",
        "from an address to a record",
    ),
    (
        "crates/furlong/src/malloc/thread/refill.rs",
        "touches blocks on their slow ways",
    ),
    (
        "crates/furlong/src/malloc/front/resize.rs",
        "copies blocks of callers",
    ),
    (
        "crates/furlong/src/malloc/os/source.rs",
        "the contract of whoever brings pages",
    ),
    (
        "crates/furlong/src/malloc/thread/bins.rs",
        "arrays of addresses, by the address of a word",
    ),
    (
        "crates/furlong/src/malloc/os/system.rs",
        "vouches for what the records say is mapped",
    ),
    (
        "crates/furlong/src/malloc/tests.rs",
        "an allocator a thread, all with one type",
    ),
    (
        "crates/furlong/src/malloc/tests/borders.rs",
        "brings pages, and gives blocks back",
    ),
    (
        "crates/furlong/src/malloc/tests/ledger.rs",
        "brings pages, and gives blocks back",
    ),
    (
        "crates/furlong/src/malloc/tests/latches.rs",
        "brings pages, and gives blocks back",
    ),
    (
        "crates/furlong/src/malloc/tests/purge.rs",
        "brings pages, and gives blocks back",
    ),
    (
        "crates/furlong/src/malloc/under_loom.rs",
        "cells that loom watches",
    ),
    (
        "crates/furlong/src/malloc/tests/exchange.rs",
        "frees what another thread has allocated",
    ),
    (
        "crates/furlong/src/malloc/thread/zone.rs",
        "frees blocks of callers",
    ),
    (
        "crates/furlong-spec/src/malloc/block.rs",
        "fills memory that an allocator gave",
    ),
    (
        "crates/furlong-spec/src/malloc/pages.rs",
        "brings memory to an allocator",
    ),
    (
        "crates/furlong-spec/src/malloc/parts.rs",
        "says whose heap the caller has",
    ),
    (
        "crates/furlong-preload/tests/attack_corpus/attack.rs",
        "does what no program may",
    ),
    (
        "crates/furlong-preload/tests/attack_corpus/main.rs",
        "wants no cores of what it ends",
    ),
    (
        "crates/furlong-preload/tests/conformance/c.rs",
        "calls the functions of C",
    ),
    (
        "crates/furlong-preload/tests/forked_threads.rs",
        "forks by hand",
    ),
    (
        "crates/furlong/tests/malloc_context.rs",
        "brings pages, and says whose heap the caller has",
    ),
    (
        "crates/furlong/tests/malloc_fork.rs",
        "forks by hand, and frees blocks",
    ),
    (
        "crates/furlong/tests/compiler/left_blocks.rs",
        "a program that leaves blocks uninitialised",
    ),
    (
        "crates/furlong/tests/malloc_arguments.rs",
        "frees what it was given",
    ),
    (
        "crates/furlong/tests/malloc_misuse.rs",
        "brings pages, and frees what it must not",
    ),
    (
        "crates/furlong/tests/malloc_overlap.rs",
        "holds blocks and fills them",
    ),
    (
        "crates/furlong/tests/malloc_zones.rs",
        "frees blocks, and makes objects of pointers",
    ),
    (
        "crates/furlong-preload/src/aligned.rs",
        "pointers of callers in C",
    ),
    (
        "crates/furlong-preload/src/current.rs",
        "thread-local storage by its own instructions",
    ),
    (
        "crates/furlong-preload/src/cxx.rs",
        "functions of the C++ library, and exceptions",
    ),
    ("crates/furlong-preload/src/fault.rs", "ends the program"),
    (
        "crates/furlong-preload/src/report.rs",
        "writes to files of the C library",
    ),
    (
        "crates/furlong-preload/src/plain.rs",
        "pointers of callers in C",
    ),
    (
        "crates/furlong-preload/src/symbols.rs",
        "exports functions of C",
    ),
    (
        "crates/furlong-experiments/malloc-work/block.rs",
        "blocks of the allocator that is measured",
    ),
    (
        "crates/furlong/src/malloc/os/linux.rs",
        "calls the C library",
    ),
    (
        "crates/furlong/src/malloc/os/linux/latch.rs",
        "calls the C library",
    ),
    ("crates/furlong-preload/src/start.rs", "calls the C library"),
];
