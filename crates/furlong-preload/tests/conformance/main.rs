//! The rules of C for an allocator, one a row: a preloaded library must answer as the machine's
//! own.
#![expect(clippy::print_stdout, reason = "what is asked is read from there")]

mod c;
#[path = "../library/mod.rs"]
mod library;

use core::ptr;
use std::env;
use std::process::{Command, Output};

use c::Block;
use library::library;

/// The environment variable that tells this test's program what to do.
const INSIDE: &str = "FURLONG_TEST_INSIDE";

const LIBRARIES: [&str; 5] = [
    "furlong_malloc",
    "furlong_malloc_plain",
    "furlong_malloc_secure",
    "furlong_malloc_outlined",
    "furlong_malloc_per_call",
];

/// Runs a call with `errno` cleared; reports `errno` if the result is null.
fn asked(ask: impl FnOnce() -> Block) -> String {
    c::set_errno(0);
    let block = ask();
    if block.is_null() {
        return format!("null, errno {}", c::errno());
    }
    c::free(block);
    "a block".to_owned()
}

/// Frees a block, and reports if it was at a multiple of `align`.
fn at_multiple(block: Block, align: usize) -> String {
    let right = !block.is_null() && block.addr().is_multiple_of(align);
    c::free(block);
    right.to_string()
}

const MOST: usize = isize::MAX as usize;
const BEYOND: usize = 1 << 33;
type Row = (&'static str, fn() -> String);

const ROWS: &[Row] = &[
    ("malloc of 0", || {
        let (one, two) = (c::malloc(0), c::malloc(0));
        let said = format!("{} {}", !one.is_null(), one != two);
        c::free(one);
        c::free(two);
        said
    }),
    ("malloc of too much", || asked(|| c::malloc(MOST + 1))),
    ("malloc of nearly all", || {
        asked(|| c::malloc(usize::MAX - 100))
    }),
    ("calloc beyond all", || asked(|| c::calloc(BEYOND, BEYOND))),
    ("reallocarray beyond all", || {
        asked(|| c::reallocarray(BEYOND, BEYOND))
    }),
    ("calloc of too much", || asked(|| c::calloc(MOST / 8, 9))),
    ("valloc of too much", || asked(|| c::valloc(MOST - 1))),
    ("reallocarray of a block beyond all", || {
        let block = c::malloc(100);
        c::fill(block, 100, 7);
        let said = asked(|| c::resize_array(block, BEYOND, BEYOND));
        let same = c::bytes(block, 100).iter().all(|byte| *byte == 7);
        c::free(block);
        format!("{said}, as before: {same}")
    }),
    ("reallocarray of a block", || {
        let block = c::malloc(10);
        c::fill(block, 10, 7);
        let block = c::resize_array(block, 1000, 3);
        let same = c::bytes(block, 10).iter().all(|byte| *byte == 7);
        format!("{} {same}", c::usable_size(block) >= 3000) + &at_multiple(block, 16)
    }),
    ("aligned_alloc of too much", || {
        asked(|| c::aligned_alloc(64, MOST - 8))
    }),
    ("memalign of too much", || {
        asked(|| c::memalign(4096, usize::MAX - 64))
    }),
    ("memalign beyond all powers of two", || {
        asked(|| c::memalign(usize::MAX, 10)) + &asked(|| c::memalign(MOST + 2, 10))
    }),
    ("pvalloc of too much", || {
        asked(|| c::pvalloc(usize::MAX - 1))
    }),
    ("realloc of too much", || {
        let block = c::malloc(100);
        c::fill(block, 100, 7);
        let said = asked(|| c::realloc(block, MOST + 1));
        let same = c::bytes(block, 100).iter().all(|byte| *byte == 7);
        c::free(block);
        format!("{said}, as before: {same}")
    }),
    ("posix_memalign", || {
        let mut said = String::new();
        for (align, size) in [(24, 1), (4, 1), (0, 1), (64, 1), (8, usize::MAX - 64)] {
            let (code, block) = c::posix_memalign(align, size);
            said += &format!("{code} {} ", block.addr() == 1);
            if code == 0 {
                c::free(block);
            }
        }
        said
    }),
    ("aligned_alloc at 48", || {
        at_multiple(c::aligned_alloc(48, 10), 64)
    }),
    ("aligned_alloc at 0", || {
        at_multiple(c::aligned_alloc(0, 10), 16)
    }),
    ("aligned_alloc of part", || {
        at_multiple(c::aligned_alloc(64, 65), 64)
    }),
    ("memalign at what is no power of two", || {
        let all = [0, 3, 24, 48, 5000]
            .map(|align: usize| at_multiple(c::memalign(align, 10), align.next_power_of_two()));
        all.join(" ")
    }),
    ("alignments of more than there is", || {
        // With or without a block: one allocator has the room, the other reports that it has not.
        let all = [1 << 40, 1 << 46, 1 << 62].map(|align| {
            c::set_errno(0);
            let block = c::memalign(align, 10);
            let refused = block.is_null() && c::errno() == libc::ENOMEM;
            let right = refused || !block.is_null() && block.addr().is_multiple_of(align);
            c::free(block);
            right
        });
        format!("{all:?}")
    }),
    ("memalign at 2 MiB", || {
        at_multiple(c::memalign(2 << 20, 1), 2 << 20)
    }),
    ("memalign at 1 GiB", || {
        at_multiple(c::memalign(1 << 30, 1), 1 << 30)
    }),
    ("valloc", || at_multiple(c::valloc(10), 4096)),
    ("pvalloc", || {
        let block = c::pvalloc(1);
        format!(
            "{} {}",
            c::usable_size(block) >= 4096,
            at_multiple(block, 4096)
        )
    }),
    ("realloc to 0", || {
        c::realloc(c::malloc(10), 0).is_null().to_string()
    }),
    ("realloc of null", || {
        asked(|| c::realloc(ptr::null_mut(), 10))
    }),
    ("realloc of an aligned block", || {
        let block = c::memalign(4096, 5000);
        c::fill(block, 5000, 9);
        let same = [20_000, 300_000, 5 << 20, 70]
            .iter()
            .try_fold(block, |block, size| {
                let block = c::realloc(block, *size);
                let first = c::bytes(block, 70);
                first.iter().all(|byte| *byte == 9).then_some(block)
            });
        same.map_or("lost".to_owned(), |block| at_multiple(block, 16))
    }),
    ("realloc within what is there", || {
        let stays = [100, 5000].map(|size| {
            let block = c::malloc(size);
            let same = c::realloc(block, c::usable_size(block)) == block;
            let shorter = c::realloc(block, size * 3 / 4);
            c::free(shorter);
            (same, shorter == block)
        });
        format!("{stays:?}")
    }),
    ("free of sized blocks", || {
        for size in [0, 1, 100, 5000, 100_000, 5 << 20] {
            c::free_sized(c::malloc(size), size);
        }
        c::free_sized(ptr::null_mut(), 10);
        "they are free".to_owned()
    }),
    ("alignment of small blocks", || {
        let all = (1..=16).map(|size| at_multiple(c::malloc(size), 16));
        all.collect::<Vec<_>>().join(" ")
    }),
    ("usable size", || {
        let none = c::usable_size(ptr::null_mut());
        let enough = [1, 100, 1000, 5000, 100_000, 3 << 20].map(|size| {
            let block = c::malloc(size);
            let usable = c::usable_size(block);
            c::fill(block, usable, 1);
            c::free(block);
            usable >= size
        });
        format!("{none} {enough:?}")
    }),
    ("free and errno", || {
        let kept = [0, 100, 100_000, 8 << 20].map(|size| {
            let block = c::malloc(size);
            c::set_errno(77);
            c::free(block);
            c::errno()
        });
        c::set_errno(78);
        c::free(ptr::null_mut());
        format!("{kept:?} {}", c::errno())
    }),
    ("calloc of freed blocks", || {
        let zero = [24, 700, 20_000, 150_000, 5 << 20].map(|size| {
            let block = c::malloc(size);
            c::fill(block, size, 0xff);
            c::free(block);
            let block = c::calloc(size, 1);
            let zero = c::bytes(block, size).iter().all(|byte| *byte == 0);
            c::free(block);
            zero
        });
        format!("{zero:?}")
    }),
    ("malloc_trim", || {
        c::trim();
        "it returns".to_owned()
    }),
];

/// Allocates until the process's limit is reached, three times, freeing everything in between.
fn to_the_limit() {
    for _ in 0..3 {
        let mut held = Vec::with_capacity(100_000);
        let refused = loop {
            c::set_errno(0);
            let block = c::malloc(40_000);
            if block.is_null() {
                break c::errno();
            }
            held.push(block);
        };
        assert_eq!(refused, libc::ENOMEM);
        assert!(held.len() > 5000, "{} blocks of 40,000 bytes", held.len());
        held.into_iter().for_each(c::free);
    }
}

/// Runs this program again for one task; `limit` is that of its address space, in KiB.
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

/// `sort` closes its standard error before it ends, and a shell's child is another process.
#[test]
fn statistics_name_their_process_and_appear_if_its_standard_error_is_closed() {
    let run = |script: &str| {
        let output = Command::new("sh")
            .args(["-c", script])
            .arg(env::current_exe().expect("a test has a path"))
            .env("LD_PRELOAD", library("furlong_malloc"))
            .env("FURLONG_MALLOC_STATISTICS", "1")
            .output()
            .expect("there is a shell");
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let [_, said] = run("ulimit -n 20; exec \"$0\" --list");
    assert!(said.starts_with("process "), "with few files: {said}");
    let [shell, said] = run("echo $$; sort /dev/null; exec 2>&-; exec ls /dev/null");
    let processes = said
        .lines()
        .filter_map(|line| line.strip_prefix("process "));
    let processes: Vec<(&str, &str)> = processes.filter_map(|line| line.split_once(' ')).collect();
    let names: Vec<&str> = processes.iter().map(|(_, name)| *name).collect();
    // The shell becomes `ls`, which has no standard error at all.
    assert_eq!(names, ["sort"], "{said}");
    let number: u32 = shell
        .lines()
        .next()
        .and_then(|line| line.parse().ok())
        .expect("its own");
    assert!(
        processes[0]
            .0
            .parse::<u32>()
            .is_ok_and(|child| child != number)
    );
    assert!(
        said.lines().any(|line| line.starts_with("used_bytes ")),
        "{said}"
    );
}
