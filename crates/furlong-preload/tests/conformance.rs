//! What C says of an allocator, a row each: a preloaded library answers as the machine's own.

use core::{
    ffi::{c_int, c_void},
    ptr,
};
use std::{
    env,
    path::PathBuf,
    process::{Command, Output},
};

/// Says to this test's program what it is to do.
const INSIDE: &str = "FURLONG_TEST_INSIDE";

const LIBRARIES: [&str; 5] = [
    "furlong_malloc",
    "furlong_malloc_plain",
    "furlong_malloc_secure",
    "furlong_malloc_outlined",
    "furlong_malloc_per_call",
];

unsafe extern "C" {
    fn valloc(size: usize) -> *mut c_void;
    fn pvalloc(size: usize) -> *mut c_void;
    fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void;
    fn aligned_alloc(align: usize, size: usize) -> *mut c_void;
    fn memalign(align: usize, size: usize) -> *mut c_void;
}

fn errno() -> c_int {
    // SAFETY: it is this thread's.
    unsafe { *libc::__errno_location() }
}

fn set_errno(value: c_int) {
    // SAFETY: it is this thread's.
    unsafe { *libc::__errno_location() = value };
}

/// Asks, with `errno` cleared, and says what it was afterwards where the answer is null.
fn asked(ask: impl FnOnce() -> *mut c_void) -> String {
    set_errno(0);
    let block = ask();
    if block.is_null() {
        return format!("null, errno {}", errno());
    }
    // SAFETY: a block of the allocator's.
    unsafe { libc::free(block) };
    "a block".to_owned()
}

/// Whether a block begins at a multiple, and is freed.
fn at_multiple(block: *mut c_void, align: usize) -> String {
    let right = !block.is_null() && block.addr() % align == 0;
    // SAFETY: null, or a block of the allocator's.
    unsafe { libc::free(block) };
    format!("{right}")
}

const MOST: usize = isize::MAX as usize;
type Row = (&'static str, fn() -> String);

// SAFETY of all: the functions are asked for what C lets a program ask for, and blocks are freed
// once.
const ROWS: &[Row] = &[
    ("malloc of 0", || {
        // SAFETY: as above.
        let (one, two) = unsafe { (libc::malloc(0), libc::malloc(0)) };
        let said = format!("{} {}", !one.is_null(), one != two);
        // SAFETY: as above.
        unsafe { libc::free(one) };
        // SAFETY: as above.
        unsafe { libc::free(two) };
        said
    }),
    // SAFETY: as above.
    ("malloc of too much", || {
        asked(|| unsafe { libc::malloc(MOST + 1) })
    }),
    // SAFETY: as above.
    ("malloc of nearly all", || {
        asked(|| unsafe { libc::malloc(usize::MAX - 100) })
    }),
    // SAFETY: as above.
    ("calloc beyond all", || {
        asked(|| unsafe { libc::calloc(1 << 33, 1 << 33) })
    }),
    ("reallocarray beyond all", || {
        // SAFETY: as above.
        asked(|| unsafe { reallocarray(ptr::null_mut(), 1 << 33, 1 << 33) })
    }),
    // SAFETY: as above.
    ("aligned_alloc of too much", || {
        asked(|| unsafe { aligned_alloc(64, MOST - 8) })
    }),
    // SAFETY: as above.
    ("memalign of too much", || {
        asked(|| unsafe { memalign(4096, usize::MAX - 64) })
    }),
    // SAFETY: as above.
    ("pvalloc of too much", || {
        asked(|| unsafe { pvalloc(usize::MAX - 1) })
    }),
    ("realloc of too much", || {
        // SAFETY: as above.
        let block: *mut u8 = unsafe { libc::malloc(100) }.cast();
        // SAFETY: it has 100 bytes.
        unsafe { block.write_bytes(7, 100) };
        // SAFETY: as above.
        let said = asked(|| unsafe { libc::realloc(block.cast(), MOST + 1) });
        // SAFETY: it is as it was.
        let last = unsafe { block.wrapping_add(99).read() };
        // SAFETY: as above.
        unsafe { libc::free(block.cast()) };
        format!("{said}, byte {last}")
    }),
    ("posix_memalign", || {
        let mut said = String::new();
        for (align, size) in [(24, 1), (4, 1), (0, 1), (64, 1), (8, usize::MAX - 64)] {
            let mut block = ptr::without_provenance_mut(1);
            // SAFETY: a variable for the block.
            let code = unsafe { libc::posix_memalign(&raw mut block, align, size) };
            said += &format!("{code} {} ", block.addr() == 1);
            if code == 0 {
                // SAFETY: as above.
                unsafe { libc::free(block) };
            }
        }
        said
    }),
    // SAFETY: as above.
    ("aligned_alloc at 48", || {
        at_multiple(unsafe { aligned_alloc(48, 10) }, 64)
    }),
    // SAFETY: as above.
    ("aligned_alloc at 0", || {
        at_multiple(unsafe { aligned_alloc(0, 10) }, 16)
    }),
    // SAFETY: as above.
    ("aligned_alloc of part", || {
        at_multiple(unsafe { aligned_alloc(64, 65) }, 64)
    }),
    // SAFETY: as above.
    ("memalign at 2 MiB", || {
        at_multiple(unsafe { memalign(2 << 20, 1) }, 2 << 20)
    }),
    // SAFETY: as above.
    ("memalign at 1 GiB", || {
        at_multiple(unsafe { memalign(1 << 30, 1) }, 1 << 30)
    }),
    // SAFETY: as above.
    ("valloc", || at_multiple(unsafe { valloc(10) }, 4096)),
    ("pvalloc", || {
        // SAFETY: as above.
        let block = unsafe { pvalloc(1) };
        // SAFETY: as above.
        let whole = unsafe { libc::malloc_usable_size(block) } >= 4096;
        format!("{whole} {}", at_multiple(block, 4096))
    }),
    ("realloc to 0", || {
        // SAFETY: as above.
        let block = unsafe { libc::malloc(10) };
        // SAFETY: as above; it is freed by it.
        format!("{}", unsafe { libc::realloc(block, 0) }.is_null())
    }),
    // SAFETY: as above.
    ("realloc of null", || {
        asked(|| unsafe { libc::realloc(ptr::null_mut(), 10) })
    }),
    ("alignment of small blocks", || {
        // SAFETY: as above.
        let all = (1..=16).map(|size| at_multiple(unsafe { libc::malloc(size) }, 16));
        all.collect::<Vec<_>>().join(" ")
    }),
    ("usable size", || {
        // SAFETY: as above.
        let none = unsafe { libc::malloc_usable_size(ptr::null_mut()) };
        let enough = [1_usize, 100, 1000, 5000, 100_000, 3 << 20].map(|size| {
            // SAFETY: as above.
            let block = unsafe { libc::malloc(size) };
            // SAFETY: as above.
            let usable = unsafe { libc::malloc_usable_size(block) };
            // SAFETY: all of it may be written.
            unsafe { block.cast::<u8>().write_bytes(1, usable) };
            // SAFETY: as above.
            unsafe { libc::free(block) };
            usable >= size
        });
        format!("{none} {enough:?}")
    }),
    ("free and errno", || {
        let kept = [0_usize, 100, 100_000, 8 << 20].map(|size| {
            // SAFETY: as above.
            let block = unsafe { libc::malloc(size) };
            set_errno(77);
            // SAFETY: as above.
            unsafe { libc::free(block) };
            errno()
        });
        set_errno(78);
        // SAFETY: as above.
        unsafe { libc::free(ptr::null_mut()) };
        format!("{kept:?} {}", errno())
    }),
    ("calloc of freed blocks", || {
        let zero = [24_usize, 700, 20_000, 150_000, 5 << 20].map(|size| {
            // SAFETY: as above.
            let block: *mut u8 = unsafe { libc::malloc(size) }.cast();
            // SAFETY: it has as many bytes.
            unsafe { block.write_bytes(0xff, size) };
            // SAFETY: as above.
            unsafe { libc::free(block.cast()) };
            // SAFETY: as above.
            let block: *mut u8 = unsafe { libc::calloc(size, 1) }.cast();
            // SAFETY: it has as many bytes, all of which were written.
            let bytes = unsafe { core::slice::from_raw_parts(block, size) };
            let zero = bytes.iter().all(|byte| *byte == 0);
            // SAFETY: as above.
            unsafe { libc::free(block.cast()) };
            zero
        });
        format!("{zero:?}")
    }),
    ("malloc_trim", || {
        // SAFETY: no contract.
        unsafe { libc::malloc_trim(0) };
        "it returns".to_owned()
    }),
];

/// Allocates until the limit of the process is reached, and again after everything was freed.
fn to_the_limit() {
    for _ in 0..3 {
        let mut held = Vec::with_capacity(100_000);
        let refused = loop {
            set_errno(0);
            // SAFETY: as above.
            let block: *mut u8 = unsafe { libc::malloc(40_000) }.cast();
            if block.is_null() {
                break errno();
            }
            held.push(block);
        };
        assert_eq!(refused, libc::ENOMEM);
        assert!(held.len() > 5000, "{} blocks of 40,000 bytes", held.len());
        for block in held {
            // SAFETY: as above.
            unsafe { libc::free(block.cast()) };
        }
    }
}

fn library(name: &str) -> PathBuf {
    let test = env::current_exe().expect("a test has a path");
    let target = test.ancestors().nth(2);
    let target = target.expect("a test lies two folders below the target's");
    let path = target.join(format!("examples/lib{name}.so"));
    assert!(path.exists(), "{path:?}: cargo build --examples");
    path
}

/// This program again, to do something inside; `limit` is of its address space, in KiB.
fn inside(what: &str, test: &str, name: Option<&str>, limit: &str) -> Output {
    let program = env::current_exe().expect("a test has a path");
    let script = format!("ulimit -v {limit}; exec \"$0\" --exact {test} --nocapture");
    Command::new("/bin/sh")
        .args(["-c", &script])
        .arg(program)
        .env(INSIDE, what)
        .envs(name.map(|name| ("LD_PRELOAD", library(name))))
        .output()
        .expect("there is a shell")
}

#[test]
fn every_row_is_answered_as_by_the_c_library() {
    if env::var_os(INSIDE).is_some() {
        for (name, row) in ROWS {
            println!("row {name}: {}", row());
        }
        return;
    }
    let rows = |name| {
        let test = "every_row_is_answered_as_by_the_c_library";
        let output = inside("rows", test, name, "unlimited");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{name:?}: {said}");
        let rows = said.lines().filter(|line| line.starts_with("row "));
        rows.map(str::to_owned).collect::<Vec<_>>()
    };
    let expected = rows(None);
    assert_eq!(expected.len(), ROWS.len());
    for name in LIBRARIES {
        assert_eq!(rows(Some(name)), expected, "{name}");
    }
}

#[test]
fn a_limit_of_address_space_is_refused_with_enomem_and_survived() {
    if env::var_os(INSIDE).is_some() {
        return to_the_limit();
    }
    let test = "a_limit_of_address_space_is_refused_with_enomem_and_survived";
    for name in LIBRARIES {
        let output = inside("limit", test, Some(name), "500000");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{name}: {said}");
    }
}

#[test]
fn statistics_are_printed_at_exit_on_request() {
    for (value, expected) in [("1", true), ("yes", false)] {
        let output = Command::new(env::current_exe().expect("a test has a path"))
            .arg("--list")
            .env("LD_PRELOAD", library("furlong_malloc"))
            .env("FURLONG_MALLOC_STATISTICS", value)
            .output()
            .expect("this program can be run");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let has = said.lines().any(|line| line.starts_with("used_bytes "));
        assert_eq!(has, expected, "{said}");
        assert!(output.status.success());
    }
}
