//! Unplugging of ranges that host their own bookkeeping.

use core::mem::MaybeUninit;

use super::{frames, lent};
use crate::addr::{Address, Extent, Pfn};
use crate::check::Check;
use crate::phys::segment::Frames;
use crate::phys::storage::by_address::tests::LOOKED_AT;
use crate::phys::{
    BrokenTable, Descriptor, Isolated, Segment, SegmentTable, Segments, SetError, Standard,
    UnplugError,
};

/// A descriptor of 16 bytes; one frame is pinned.
struct Page(Pfn, u64);

const PINNED: u64 = 199_999;

impl Descriptor for Page {
    fn of_frame(frame: Pfn) -> Self {
        Self(frame, 0)
    }

    fn is_pinned(&self) -> bool {
        self.0.raw() == PINNED
    }
}

type Writer<'a> = Segments<'a, Page, Standard, 4>;
type Table = SegmentTable<Page, Standard, 4>;

/// Plugs a range that hosts itself. Returns the address and size of its memory.
fn plug(segments: &mut Writer<'_>, range: Extent<Pfn>) -> (*const MaybeUninit<u8>, usize) {
    let need = segments.hosted_bytes(range).unwrap();
    let memory = lent(need);
    let place = (memory.as_ptr(), memory.len());
    segments.plug_hosted(range, memory).unwrap();
    place
}

/// A table that has started, with frames 0..10.
fn table() -> Table {
    let table = Table::new();
    let mut segments = table.lock();
    segments.grow_on_heap();
    segments.plug(frames(0, 10)).unwrap();
    segments.start().unwrap();
    drop(segments);
    table
}

/// Removes frames that nobody is reading.
fn remove(segments: &mut Writer<'_>, mut isolated: Isolated) -> Result<(), UnplugError> {
    for _ in 0..8 {
        match segments.remove(isolated) {
            Ok(()) => return Ok(()),
            Err(error) if error.cause != UnplugError::Readers => return Err(error.cause),
            Err(error) => isolated = error.frames,
        }
    }
    Err(UnplugError::Readers)
}

#[test]
fn a_range_that_hosts_itself_leaves_whole_and_its_memory_comes_back() {
    let table = table();
    let mut segments = table.lock();
    let before = segments.memory_bytes();
    for range in [frames(4096, 40_000), frames(5000, 41_000)] {
        let place = plug(&mut segments, range);
        segments.make(range.start()).unwrap();
        segments.make(range.last()).unwrap();
        assert!(segments.take_back().is_none(), "it is in use");
        segments.unplug(range).unwrap();
        segments.check().unwrap();
        let back = segments.take_back().unwrap();
        assert_eq!((back.as_ptr(), back.len()), place);
        assert!(segments.take_back().is_none(), "it comes back once");
        back.fill(MaybeUninit::new(0xa5));
        segments.check().unwrap();
    }
    segments.plug(frames(4096, 5000)).unwrap();
    segments.unplug(frames(4096, 5000)).unwrap();
    let after = segments.memory_bytes();
    // The near leaf reaches to the highest frame that there was, and an eighth further.
    let index = 41_000 / 64 * 24 * 9 / 8;
    assert!(
        after < before + index + 1024,
        "{before} bytes, then {after}"
    );
}

/// The items of trees by address that plugging and unplugging 64 frames visits, with `hosts` ranges
/// that host themselves in the table.
fn looked_at_beside(hosts: u64) -> u64 {
    let table = table();
    let mut segments = table.lock();
    for at in 1..=hosts {
        plug(&mut segments, frames(at << 13, (at << 13) + 4096));
    }
    let start = ((hosts / 2) << 13) + 5000;
    let beside = frames(start, start + 64);
    let mut least = u64::MAX;
    for _ in 0..8 {
        let before = LOOKED_AT.get();
        segments.plug(beside).unwrap();
        segments.unplug(beside).unwrap();
        least = least.min(LOOKED_AT.get() - before);
    }
    segments.check().unwrap();
    least
}

#[test]
fn what_a_plug_and_an_unplug_look_at_hardly_grows_with_the_number_of_hosts() {
    let (few, many) = (looked_at_beside(100), looked_at_beside(2000));
    // With twenty times the hosts, a balanced tree is half as deep again. The depth of this tree
    // depends on the addresses.
    assert!(few > 10 && many * 2 <= few * 5, "{few}, then {many}");
}

#[test]
fn a_reader_keeps_a_hosted_descriptor_until_it_leaves() {
    let table = table();
    let range = frames(4096, 40_000);
    plug(&mut table.lock(), range);
    table.lock().make(Pfn::new(39_000)).unwrap();
    let reader = table.rcu().register().unwrap();
    let guard = reader.enter();
    let page = table.read(&guard).page_of(Pfn::new(39_001)).unwrap();
    assert_eq!(table.lock().unplug(range), Err(UnplugError::Readers));
    assert!(table.read(&guard).page_of(Pfn::new(39_001)).is_some());
    let isolated = table.lock().isolate(range).unwrap();
    assert!(table.read(&guard).page_of(Pfn::new(39_001)).is_none());
    assert_eq!(
        remove(&mut table.lock(), isolated),
        Err(UnplugError::Readers)
    );
    assert_eq!((page.0, page.1), (Pfn::new(39_001), 0));
    assert!(table.lock().take_back().is_none());
    drop(guard);
    let isolated = table.lock().adopt(Pfn::new(5000)).unwrap();
    remove(&mut table.lock(), isolated).unwrap();
    assert!(table.lock().take_back().is_some());
    table.lock().check().unwrap();
}

#[test]
fn a_host_stays_while_frames_that_it_describes_do() {
    let table = table();
    let mut segments = table.lock();
    plug(&mut segments, frames(4096, 40_000));
    let avail = segments.iter().last().unwrap().avail_start.raw();
    let host = UnplugError::Bookkeeping(frames(4096, avail));
    segments.unplug(frames(20_000, 21_000)).unwrap();
    assert_eq!(segments.unplug(frames(4096, 20_000)), Err(host));
    assert_eq!(segments.unplug(frames(4096, 5000)), Err(host));
    segments.unplug(frames(21_000, 40_000)).unwrap();
    segments.unplug(frames(4096, 20_000)).unwrap();
    assert!(segments.take_back().is_some());
    segments.check().unwrap();
}

#[test]
fn a_hole_leaves_two_parts_with_made_and_unmade_sections_each() {
    let table = table();
    let mut segments = table.lock();
    let (base, section) = (1 << 20, 4096);
    plug(&mut segments, frames(base, base + 8 * section));
    segments.make(Pfn::new(base + 6 * section)).unwrap();
    let hole = frames(base + 2 * section + 64, base + 3 * section + 64);
    segments.unplug(hole).unwrap();
    segments.check().unwrap();
    let page = segments.view().page_of(Pfn::new(base + 6 * section));
    assert!(page.is_some());
    segments
        .unplug(frames(base + 3 * section + 64, base + 8 * section))
        .unwrap();
    segments.check().unwrap();
}

#[test]
fn a_pinned_frame_keeps_a_hosted_range() {
    let table = table();
    let mut segments = table.lock();
    plug(&mut segments, frames(150_000, 200_000));
    segments.make(Pfn::new(PINNED)).unwrap();
    let refused = segments.unplug(frames(150_000, 200_000));
    assert_eq!(refused, Err(UnplugError::Pinned(Pfn::new(PINNED))));
    segments.check().unwrap();
}

/// A table with no other memory than that of its first range, and a second range below. The first
/// range ends at a high address, so that the index need not grow.
fn hosted_only() -> Table {
    let table = Table::new();
    let mut segments = table.lock();
    segments.start().unwrap();
    plug(&mut segments, frames(1 << 20, (1 << 20) + 40_000));
    plug(&mut segments, frames(100_000, 140_000));
    segments.check().unwrap();
    drop(segments);
    table
}

#[test]
fn the_first_range_of_a_table_without_other_memory_stays() {
    let table = hosted_only();
    let mut segments = table.lock();
    segments.unplug(frames(100_000, 140_000)).unwrap();
    assert!(segments.take_back().is_some());
    plug(&mut segments, frames(100_000, 140_000));
    let refused = segments.unplug(frames(1 << 20, (1 << 20) + 40_000));
    assert!(
        matches!(refused, Err(UnplugError::Bookkeeping(_))),
        "{refused:?}"
    );
    segments.check().unwrap();
    let last = Pfn::new((1 << 20) + 39_999);
    assert!(segments.view().find(last).is_some(), "it is found again");
}

#[test]
fn a_range_that_had_to_take_the_index_in_stays_too() {
    let table = Table::new();
    let mut segments = table.lock();
    segments.start().unwrap();
    plug(&mut segments, frames(0, 40_000));
    // The address is so high that the first host has no room for the index.
    let far = frames(1 << 38, (1 << 38) + 400_000);
    plug(&mut segments, far);
    let refused = segments.unplug(far);
    assert!(
        matches!(refused, Err(UnplugError::Bookkeeping(_))),
        "{refused:?}"
    );
    segments.check().unwrap();
    segments
        .unplug(frames((1 << 38) + 390_000, (1 << 38) + 400_000))
        .unwrap();
    segments.check().unwrap();
}

#[test]
fn an_isolated_host_that_is_aborted_is_as_it_was() {
    let table = hosted_only();
    let mut segments = table.lock();
    let range = frames(100_000, 140_000);
    segments.make(Pfn::new(120_000)).unwrap();
    let found = segments.view().find(Pfn::new(120_000));
    for _ in 0..3 {
        let isolated = segments.isolate(range).unwrap();
        assert!(segments.view().find(Pfn::new(120_000)).is_none());
        segments.abort(isolated).unwrap();
        segments.check().unwrap();
        assert_eq!(segments.view().find(Pfn::new(120_000)), found);
        assert!(segments.view().page_of(Pfn::new(120_001)).is_some());
    }
    segments.unplug(range).unwrap();
}

#[test]
fn a_hosted_plug_succeeds_whatever_other_memory_fails() {
    for allocations in 0.. {
        let table = table();
        let mut segments = table.lock();
        segments.core.memory.until_failure = Some(allocations);
        let range = frames(1 << 29, (1 << 29) + 300_000);
        plug(&mut segments, range);
        let failed = segments.core.memory.until_failure == Some(0);
        segments.core.memory.until_failure = None;
        segments.check().unwrap();
        segments.make(range.last()).unwrap();
        segments.check().unwrap();
        if !failed {
            assert!(allocations > 5, "something was taken");
            segments.unplug(range).unwrap();
            assert!(segments.take_back().is_some());
            return;
        }
    }
}

#[test]
fn a_listing_names_every_part_of_every_segment() {
    let table = table();
    let mut segments = table.lock();
    let range = frames(4096, 40_000);
    let (_, bytes) = plug(&mut segments, range);
    let id = segments.last().unwrap();
    segments.set_user(id, 0xfee).unwrap();
    segments.set_start_hint(id, 5).unwrap();
    drop(segments.isolate(frames(30_000, 30_016)).unwrap());
    let hosting = 4096 + bytes.div_ceil(4096);
    let expected = format!(
        "0000000000000-0000000009fff : segment 0.0, node 0, 10 frames\n  \
           0000000000000-0000000009fff : available\n\
         0000001000000-0000009c3ffff : segment 1.0, node 0, 35904 frames, hint 5, user 0xfee\n  \
           0000001000000-{:013x} : bookkeeping\n  \
           {:013x}-0000009c3ffff : available\n  \
           0000007530000-000000753ffff : isolated\n\
         2 segments, 35914 frames; {} managed\n\
         {} bytes of index, {} bytes of bookkeeping in all\n",
        (hosting << 12) - 1,
        hosting << 12,
        10 + 40_000 - hosting,
        segments.index_bytes(),
        segments.memory_bytes(),
    );
    assert_eq!(segments.listing().to_string(), expected);
}

#[test]
fn frames_that_host_bookkeeping_are_not_made_available() {
    let table = table();
    let mut segments = table.lock();
    plug(&mut segments, frames(4096, 40_000));
    let segment = segments.iter().last().unwrap();
    let Segment {
        id, avail_start, ..
    } = segment;
    let below = Pfn::new(avail_start.raw() - 1);
    for (start, end) in [(Pfn::new(4096), Pfn::new(4097)), (below, Pfn::new(40_000))] {
        assert_eq!(segments.set_avail(id, start, end), Err(SetError::Avail));
    }
    assert_eq!(segments.get(id), Ok(segment));
    segments.set_avail(id, avail_start, avail_start).unwrap();
    segments
        .set_avail(id, avail_start, Pfn::new(40_000))
        .unwrap();
    segments.check().unwrap();
    let all = Frames::between(4096, 40_000);
    let managed = all.len() - segment.avail.unwrap().len().unwrap();
    segments.all.get(id.index).set_avail(all);
    segments.core.managed += managed;
    let broken = segments.check().unwrap_err();
    assert_eq!(broken, BrokenTable::Host(Pfn::new(4096)));
}
