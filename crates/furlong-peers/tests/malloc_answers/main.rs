//! C's rules for an allocator, one a row, and the peers that break them: findings, whose tests fail
//! when the finding is gone.
#![cfg(target_os = "linux")]

mod c;

use std::env;
use std::process::{Command, ExitStatus};

use c::Block;
use furlong_peers::malloc::libraries;

/// The variable that tells this program, run again with a library preloaded, which row to run.
const ROW: &str = "FURLONG_TEST_ROW";

/// More memory than a program can have.
const MUCH: usize = isize::MAX as usize + 1;

/// A number whose square overflows to 0.
const BEYOND: usize = 1 << 32;

/// A row's name, and a function that returns true if the allocator obeys.
type Row = (&'static str, fn() -> bool);

const ROWS: &[Row] = &[
    ("malloc(0) twice", || {
        let (one, other) = (c::malloc(0), c::malloc(0));
        !one.is_null() && !other.is_null() && one != other
    }),
    ("malloc(PTRDIFF_MAX + 1)", || is_refused(c::malloc(MUCH))),
    ("malloc(SIZE_MAX - 100)", || {
        is_refused(c::malloc(usize::MAX - 100))
    }),
    ("errno after malloc(SIZE_MAX - 100)", || {
        !is_refused(c::malloc(usize::MAX - 100)) || c::errno() == libc::ENOMEM
    }),
    ("calloc(2^32, 2^32)", || {
        is_refused(c::calloc(BEYOND, BEYOND))
    }),
    ("reallocarray(NULL, 2^32, 2^32)", || {
        is_refused(c::reallocarray(std::ptr::null_mut(), BEYOND, BEYOND))
    }),
    ("aligned_alloc(64, SIZE_MAX - 63)", || {
        is_refused(c::aligned_alloc(64, usize::MAX - 63))
    }),
    ("memalign(4096, SIZE_MAX - 64)", || {
        is_refused(c::memalign(4096, usize::MAX - 64))
    }),
    ("pvalloc(SIZE_MAX - 1)", || {
        is_refused(c::pvalloc(usize::MAX - 1))
    }),
    ("posix_memalign(24, 1)", || {
        c::posix_memalign(24, 1).0 == libc::EINVAL
    }),
    ("posix_memalign(4, 1)", || {
        c::posix_memalign(4, 1).0 == libc::EINVAL
    }),
    ("posix_memalign(8, SIZE_MAX - 64)", || {
        c::posix_memalign(8, usize::MAX - 64).0 == libc::ENOMEM
    }),
    ("realloc(malloc(100), PTRDIFF_MAX + 1)", || {
        let block = c::malloc(100);
        c::fill(block, 100, 7);
        is_refused(c::realloc(block, MUCH)) && c::is_filled(block, 100, 7)
    }),
    ("calloc of what was written", || {
        let sizes = (4..22).map(|power| 1_usize << power);
        sizes.into_iter().all(|size| {
            let block = c::malloc(size);
            c::fill(block, size, 0xa5);
            c::free(block);
            let (one, other) = (c::calloc(1, size), c::calloc(size, 1));
            c::is_filled(one, size, 0) && c::is_filled(other, size, 0)
        })
    }),
    ("alignments up to 2^15", || are_aligned(3..16)),
    ("alignments from 2^16 on", || are_aligned(16..23)),
    ("realloc of an aligned block", || {
        [64, 4096, 1 << 15].into_iter().all(|align| {
            let block = c::aligned_alloc(align, align);
            c::fill(block, align, 3);
            let longer = c::realloc(block, 5 * align);
            let is_kept = c::is_filled(longer, align, 3);
            c::fill(longer, 5 * align, 4);
            let shorter = c::realloc(longer, 10);
            let is_kept = is_kept && c::is_filled(shorter, 10, 4);
            c::free(shorter);
            is_kept
        })
    }),
    ("malloc_usable_size", || {
        let sizes = (0..4000).step_by(7).chain([10_000, 100_000, 3_000_000]);
        let blocks = sizes.map(|size| (size, c::malloc(size)));
        let blocks: Vec<(usize, Block)> = blocks.collect();
        for (at, (_, block)) in blocks.iter().enumerate() {
            c::fill(*block, c::usable(*block), at as u8);
        }
        let mut blocks = blocks.iter().enumerate();
        blocks.all(|(at, (size, block))| {
            let usable = c::usable(*block);
            usable >= *size && c::is_filled(*block, usable, at as u8)
        })
    }),
];

/// True if there is no block. A block would be too short.
fn is_refused(block: Block) -> bool {
    block.is_null()
}

/// True if blocks with these alignments can be allocated and written.
fn are_aligned(powers: std::ops::Range<u32>) -> bool {
    powers.into_iter().all(|power| {
        let align = 1_usize << power;
        let (code, one) = c::posix_memalign(align, 100);
        let other = c::aligned_alloc(align, 3 * align);
        if code != 0 || other.is_null() {
            return false;
        }
        c::fill(one, 100, 1);
        c::fill(other, 3 * align, 2);
        let is_kept = c::is_filled(one, 100, 1);
        let are_aligned = [one, other].map(|block| block.addr().is_multiple_of(align));
        c::free(one);
        c::free(other);
        is_kept && are_aligned == [true, true]
    })
}

/// The rows that peers break.
const FINDINGS: &[(&str, &str)] = &[
    ("rpmalloc-1.4", "malloc(SIZE_MAX - 100)"),
    ("mimalloc-2.3", "errno after malloc(SIZE_MAX - 100)"),
    ("rpmalloc-1.4", "calloc(2^32, 2^32)"),
    ("rpmalloc-1.4", "reallocarray(NULL, 2^32, 2^32)"),
    ("rpmalloc-1.4", "aligned_alloc(64, SIZE_MAX - 63)"),
    ("rpmalloc-1.4", "memalign(4096, SIZE_MAX - 64)"),
    ("snmalloc-0.7", "pvalloc(SIZE_MAX - 1)"),
    ("rpmalloc-1.4", "pvalloc(SIZE_MAX - 1)"),
    ("rpmalloc-1.4", "posix_memalign(24, 1)"),
    ("rpmalloc-1.4", "posix_memalign(4, 1)"),
    ("rpmalloc-1.4", "posix_memalign(8, SIZE_MAX - 64)"),
    ("rpmalloc-1.4", "alignments from 2^16 on"),
];

/// Runs this program again for one row with a library, or with the C library.
fn asked(row: &str, library: Option<&std::path::Path>) -> ExitStatus {
    let mut command = Command::new(env::current_exe().expect("a test has a path"));
    let test = "peers_answer_as_c_has_it_but_for_the_findings";
    command.args(["--exact", test]).env(ROW, row);
    command.envs(library.map(|library| ("LD_PRELOAD", library)));
    let output = command.output().expect("this program can be run");
    output.status
}

#[test]
fn peers_answer_as_c_has_it_but_for_the_findings() {
    if let Ok(wanted) = env::var(ROW) {
        let row = ROWS.iter().find(|(name, _)| *name == wanted);
        let (_, is_right) = row.expect("the row is there");
        std::process::exit(i32::from(!is_right()));
    }
    let mut wrong = Vec::new();
    for (row, _) in ROWS {
        assert!(asked(row, None).success(), "the C library: {row}");
        for (name, file) in libraries() {
            assert!(file.is_file(), "{name}: cargo build --examples");
            if !asked(row, Some(file)).success() {
                wrong.push((name, *row));
            }
        }
    }
    let mut findings = FINDINGS.to_vec();
    findings.retain(|(name, _)| libraries().any(|(built, _)| built == *name));
    assert_eq!(wrong, findings);
}
