//! Checks that no name is missing from a library: a program that uses the name would reach the C
//! library's heap.
#![forbid(unsafe_code)]

mod library;

use std::path::PathBuf;
use std::process::Command;

use library::library;

const LIBRARIES: [&str; 6] = [
    "furlong_malloc",
    "furlong_malloc_checked",
    "furlong_malloc_plain",
    "furlong_malloc_secure",
    "furlong_malloc_outlined",
    "furlong_malloc_per_call",
];

/// The libraries that also check where the program copies to.
const CHECKS_WRITES: &[&str] = &["furlong_malloc_checked", "furlong_malloc_secure"];

/// The allocation functions of the C library, its users and C++.
const NAMES: &[&str] = &[
    "malloc",
    "free",
    "calloc",
    "realloc",
    "reallocarray",
    "aligned_alloc",
    "posix_memalign",
    "memalign",
    "valloc",
    "pvalloc",
    "malloc_usable_size",
    "cfree",
    "free_sized",
    "furlong_heap_create",
    "furlong_heap_destroy",
    "furlong_heap_malloc",
    "furlong_heap_calloc",
    "furlong_heap_aligned_alloc",
    "furlong_heap_realloc",
    "furlong_heap_free",
    "furlong_heap_profile",
    "furlong_malloc_on_trouble",
    "furlong_malloc_statistics",
    "free_aligned_sized",
    "malloc_trim",
    "malloc_stats",
    "malloc_info",
    "mallopt",
    "mallinfo",
    "mallinfo2",
    "__libc_malloc",
    "__libc_free",
    "__libc_calloc",
    "__libc_realloc",
    "__libc_memalign",
    "__libc_valloc",
    "__libc_pvalloc",
    "__libc_cfree",
    "__posix_memalign",
    // The registration of fork handlers, which must come after the allocator's own.
    "__register_atfork",
    "_Znwm",
    "_Znam",
    "_ZnwmRKSt9nothrow_t",
    "_ZnamRKSt9nothrow_t",
    "_ZnwmSt11align_val_t",
    "_ZnamSt11align_val_t",
    "_ZnwmSt11align_val_tRKSt9nothrow_t",
    "_ZnamSt11align_val_tRKSt9nothrow_t",
    "_ZdlPv",
    "_ZdaPv",
    "_ZdlPvm",
    "_ZdaPvm",
    "_ZdlPvRKSt9nothrow_t",
    "_ZdaPvRKSt9nothrow_t",
    "_ZdlPvSt11align_val_t",
    "_ZdaPvSt11align_val_t",
    "_ZdlPvmSt11align_val_t",
    "_ZdaPvmSt11align_val_t",
    "_ZdlPvSt11align_val_tRKSt9nothrow_t",
    "_ZdaPvSt11align_val_tRKSt9nothrow_t",
];

#[test]
fn every_library_has_exactly_the_names_of_an_allocator() {
    for name in LIBRARIES {
        let found = Command::new("nm")
            .args(["-D", "--defined-only"])
            .arg(library(name))
            .output();
        let found = found.expect("nm is of the tools that link this test");
        let found = String::from_utf8_lossy(&found.stdout).into_owned();
        let mut found: Vec<&str> = found
            .lines()
            .filter_map(|line| line.split(' ').nth(2))
            .collect();
        let mut names = NAMES.to_vec();
        if CHECKS_WRITES.contains(&name) {
            names.push("memcpy");
        }
        found.sort_unstable();
        names.sort_unstable();
        assert_eq!(found, names, "{name}");
    }
}

/// Thread-local storage whose place is known at load time, symbols that are bound then, and code
/// that stays mapped for threads that end after the library was closed.
#[test]
fn every_library_is_bound_when_it_is_loaded_and_stays() {
    for name in LIBRARIES {
        let found = Command::new("readelf")
            .args(["-dW"])
            .arg(library(name))
            .output();
        let found = found.expect("readelf is of the tools that link this test");
        let found = String::from_utf8_lossy(&found.stdout).into_owned();
        for flag in ["STATIC_TLS", "NOW", "NODELETE"] {
            assert!(found.contains(flag), "{name} lacks {flag}: {found}");
        }
    }
}

/// A program prints the same and exits the same with a library and without.
#[test]
fn programs_of_the_shell_end_as_without() {
    let script = "ls / | sort | tail -n 3; printf '%s\\n' c b a | sort | tr a-z A-Z; exit 7";
    let run = |library: Option<PathBuf>| {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command.envs(library.map(|path| ("LD_PRELOAD", path)));
        let output = command.output().expect("there is a shell");
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
        )
    };
    let without = run(None);
    assert_eq!(without.0, Some(7));
    for name in LIBRARIES {
        assert_eq!(run(Some(library(name))), without, "{name}");
    }
}

/// The environment sets a profile; invalid values are named and ignored.
#[test]
fn nonsense_in_the_environment_is_named_and_changes_nothing() {
    let long = "99999999999999999999999";
    for (name, value, is_known) in [
        ("PROFILE", "conservative", true),
        ("PROFILE", "\u{7f}nonsense", false),
        ("PREFAULT", "1", true),
        ("PREFAULT", long, false),
        ("STATISTICS", "yes", false),
        ("PURGE_DELAY_MS", "0", true),
        ("PURGE_DELAY_MS", "", true),
        ("PURGE_DELAY_MS", long, false),
        ("GUARDED", "1000", true),
        ("GUARDED", "few", false),
        ("HUGE_PAGES", "off", true),
        ("HUGE_PAGES", "arenas", true),
        ("HUGE_PAGES", "all", false),
        ("HEAP_PROFILE_BYTES", "0", false),
        ("HEAP_PROFILE_SIGNAL", "12", true),
        ("HEAP_PROFILE_SIGNAL", "65", false),
    ] {
        let name = format!("FURLONG_MALLOC_{name}");
        let output = Command::new("/bin/sh")
            .args(["-c", "echo right"])
            .env("LD_PRELOAD", library("furlong_malloc"))
            .env(&name, value)
            .output()
            .expect("there is a shell");
        assert!(output.status.success(), "{name}={value}");
        assert_eq!(output.stdout, b"right\n");
        let said = String::from_utf8_lossy(&output.stderr);
        let warning =
            format!("furlong malloc: {name} has no value that is known, and is ignored\n");
        assert_eq!(said, if is_known { "" } else { &warning }, "{name}={value}");
    }
}
