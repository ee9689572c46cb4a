//! Readers write nothing: all that they read of the table is mapped read-only while they read it.
//!
//! The table with its static entries and its root lies in one mapping, and all memory that it takes
//! for leaves, words, runs, further entries, slabs and descriptors in another. What a reader does
//! write, its own slot in the RCU domain on entering and leaving, lies outside: the domain is
//! the user's, and the table has a reference to it.
#![cfg(target_os = "linux")]

mod mapping;

use std::env;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

use furlong::addr::{Address, Extent, Pfn, PhysAddr};
use furlong::phys::{Custom, Descriptor, Direct, SegmentTable};
use furlong::rcu::Domain;
use furlong::sync::SpinLock;
use mapping::Mapping;

struct Page(u64);

impl Descriptor for Page {
    fn of_frame(frame: Pfn) -> Self {
        Self(frame.raw())
    }
}

/// Beside the table, not in it.
static READERS: Domain = Domain::new();

type Table = SegmentTable<Page, Custom<Direct, SpinLock, &'static Domain>, 4>;

/// Segments of every kind: several of a block, with descriptors in several slabs; across sections;
/// with whole sections; far up; across the border to high frames; at the very end.
const PLUGGED: [(u64, u64); 9] = [
    (3, 20),
    (20, 33),
    (40, 41),
    (60, 70),
    (4000, 4200),
    (8000, 8000 + 5 * 4096),
    ((1 << 20) + 5, (1 << 20) + 90),
    ((1 << 28) - 50, (1 << 28) + 70),
    ((1 << 40) - 100, 1 << 40),
];

/// Holes of all kinds, unplugged; one more is isolated only.
const UNPLUGGED: [(u64, u64); 4] = [(5, 9), (19, 20), (8000 + 4096, 8000 + 4200), (4000, 4010)];
const ISOLATED: (u64, u64) = (62, 65);

fn frames((start, end): (u64, u64)) -> Extent<Pfn> {
    Extent::from_end(Pfn::new(start), Pfn::new(end)).unwrap()
}

/// A table in mappings.
struct Mapped {
    table: &'static Table,
    mappings: [Mapping; 2],
}

impl Mapped {
    fn new() -> Self {
        let (statics, table) = Mapping::with(Table::with_parts(SpinLock::new(), &READERS));
        let (memory, bytes) = Mapping::of_bytes(1 << 22);
        let mut segments = table.lock();
        segments.donate(bytes);
        // One at a time after the start, so that each finds the slabs as the others left them.
        segments.plug(frames(PLUGGED[0])).unwrap();
        segments.start().unwrap();
        for range in &PLUGGED[1..] {
            segments.plug(frames(*range)).unwrap();
        }
        for range in UNPLUGGED {
            segments.unplug(frames(range)).unwrap();
        }
        let _isolated = segments.isolate(frames(ISOLATED)).unwrap();
        drop(segments);
        Self {
            table,
            mappings: [statics, memory],
        }
    }

    fn protect(&self, is_read_only: bool) {
        for mapping in &self.mappings {
            mapping.protect(is_read_only);
        }
    }

    /// Looks up every frame near a border, and some in every segment and between them. Returns how
    /// many were found.
    fn read_everything(&self) -> usize {
        let reader = READERS.register().unwrap();
        let guard = reader.enter();
        let view = self.table.read(&guard);
        let mut found = 0;
        for frame in everywhere() {
            let expected = PLUGGED.iter().any(|range| has(range, frame))
                && !UNPLUGGED
                    .iter()
                    .chain([&ISOLATED])
                    .any(|range| has(range, frame));
            let segment = view.find(Pfn::new(frame));
            assert_eq!(segment.is_some(), expected, "frame {frame:#x}");
            assert_eq!(view.page_of(Pfn::new(frame)).is_some(), expected);
            let Some((id, _)) = segment else {
                continue;
            };
            let page = view.page(PhysAddr::new(frame << 12)).unwrap();
            assert_eq!(page.0, frame);
            assert_eq!(view.frame_in(id, page), Some(Pfn::new(frame)));
            assert!(self.mappings[1].has(page), "descriptors are in the mapping");
            found += 1;
        }
        found
    }
}

fn has(range: &(u64, u64), frame: u64) -> bool {
    (range.0..range.1).contains(&frame)
}

fn everywhere() -> impl Iterator<Item = u64> {
    let ranges = PLUGGED.iter().chain(&UNPLUGGED).chain([&ISOLATED]);
    let edges = ranges.flat_map(|(start, end)| [*start, *end]);
    let near = edges.flat_map(|edge| edge.saturating_sub(70)..=edge.saturating_add(70));
    near.chain((0..1 << 16).step_by(37))
        .chain([1 << 30, 1 << 39, u64::MAX >> 12])
}

#[test]
fn readers_read_everything_of_a_table_that_is_read_only() {
    let mapped = Mapped::new();
    assert!(
        mapped.mappings[0].has(mapped.table),
        "the table is in the mapping"
    );
    let before = mapped.read_everything();
    mapped.protect(true);
    let found = mapped.read_everything();
    mapped.protect(false);
    assert_eq!(found, before);
    assert!(found > 1000, "{found} lookups found something");
    assert_eq!(mapped.table.lock().len(), 11);
}

/// What a process of its own is told to do, in the variable.
const DEED: &str = "FURLONG_TEST_DEED";

/// Runs the test of the same name again, as the process that does the deed.
fn ends_with(deed: &str) -> ExitStatus {
    let mut child = Command::new(env::current_exe().unwrap());
    child
        .args(["--exact", "who_writes_is_stopped"])
        .env(DEED, deed);
    // A sanitizer would make a report of it, and end in its own way.
    child.env("ASAN_OPTIONS", "handle_segv=0");
    child.output().unwrap().status
}

#[test]
fn who_writes_is_stopped() {
    if let Ok(deed) = env::var(DEED) {
        let mapped = Mapped::new();
        mapped.mappings[0].protect(deed == "lock");
        mapped.mappings[1].protect(deed == "plug");
        let mut segments = mapped.table.lock();
        let _ = segments.plug(frames((100, 110)));
        return;
    }
    for deed in ["lock", "plug"] {
        let status = ends_with(deed);
        assert_eq!(status.signal(), Some(libc::SIGSEGV), "{deed}: {status}");
    }
    assert!(ends_with("nothing").success());
}
