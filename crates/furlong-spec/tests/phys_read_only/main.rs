//! Readers write nothing to the table: all of its memory is mapped read-only while they read.
//!
//! The table with its static entries and its root lies in one mapping. All memory for leaves,
//! words, runs, further entries, slabs and descriptors lies in another. A reader does write its
//! slot in the RCU domain when it enters and leaves. That lies outside of both, because the domain
//! is the user's and the table only refers to it.
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

/// Outside of the table.
static READERS: Domain = Domain::new();

type Table = SegmentTable<Page, Custom<Direct, SpinLock, &'static Domain>, 4>;

/// Segments of every kind: several in a block, with descriptors in several slabs. Across sections;
/// with whole sections; at high addresses; across the border to high frames; at the very end.
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

/// Unplugged holes of all kinds; one more range is only isolated.
const UNPLUGGED: [(u64, u64); 4] = [(5, 9), (19, 20), (8000 + 4096, 8000 + 4200), (4000, 4010)];
const ISOLATED: (u64, u64) = (62, 65);

fn frames((start, end): (u64, u64)) -> Extent<Pfn> {
    Extent::from_end(Pfn::new(start), Pfn::new(end)).unwrap()
}

/// A table in two mappings.
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
        // One by one after the start, so that each plug uses slabs that earlier ones left partly
        // filled.
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

    /// Looks up every frame near a border, and some frames in all segments and between them.
    /// Returns the number of frames found.
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

/// The environment variable that tells a child process its deed.
const DEED: &str = "FURLONG_TEST_DEED";

/// Runs the test of the same name in a child process that does the deed.
fn ends_with(deed: &str) -> ExitStatus {
    let mut child = Command::new(env::current_exe().unwrap());
    child
        .args(["--exact", "who_writes_is_stopped"])
        .env(DEED, deed);
    // A sanitizer would report the fault, and exit with a status of its own.
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
