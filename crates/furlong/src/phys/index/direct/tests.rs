//! Spare pieces for one change, and for the isolated frames that will be removed or taken back.
#![forbid(unsafe_code)]

use super::geometry::LOW_FRAMES;
use super::runs::{List, Runs, Spares};
use super::update::{LEAVES, LEAVES_HELD, SPARES};
use crate::addr::{Extent, Pfn};
use crate::check::Check;
use crate::phys::{Custom, Descriptor, Direct, Frames, Memory, SECTION_FRAMES, SegmentTable};
use crate::rcu::{Domain, Rcu};
use crate::sync::SpinLock;

struct Page(#[expect(dead_code, reason = "it has an address")] u8);

impl Descriptor for Page {
    fn of_frame(_: Pfn) -> Self {
        Self(0)
    }
}

fn frames(start: u64, end: u64) -> Extent<Pfn> {
    Extent::from_end(Pfn::new(start), Pfn::new(end)).unwrap()
}

/// Beyond the frames of a near leaf.
const FAR: u64 = 1 << 18;

/// A table that has started, with one segment.
fn started(start: u64, end: u64) -> SegmentTable<Page, Custom<Direct>, 4> {
    let table = SegmentTable::with_config(SpinLock::new(), Domain::new());
    let mut segments = table.lock();
    segments.grow_on_heap();
    segments.start().unwrap();
    segments.plug(frames(start, end)).unwrap();
    drop(segments);
    table
}

#[test]
fn what_isolated_frames_will_take_is_kept_and_no_more_than_for_one_change_beside() {
    let table = started(FAR, FAR + (10 << 12));
    let mut segments = table.lock();
    // Each range is in the middle of a section that its segment had whole, so it takes a leaf.
    for held in 1..=8 {
        let start = FAR + (held << 12) + 100;
        drop(segments.isolate(frames(start, start + 10)).unwrap());
        let (held, private) = (held as usize, &segments.core.index);
        let leaves = private.spare_len;
        assert!(leaves >= LEAVES_HELD * held, "{leaves} leaves for {held}");
        assert!(leaves <= LEAVES + LEAVES_HELD * held, "{leaves} for {held}");
        assert_eq!(private.spare_runs.len, SPARES * (1 + held));
    }
    // The spares are freed together with the isolations.
    for held in (0..8).rev() {
        let isolated = segments.isolated().next().unwrap();
        let token = segments.adopt(isolated.start()).unwrap();
        segments.abort(token).unwrap();
        let private = &segments.core.index;
        assert!(private.spare_len <= LEAVES + LEAVES_HELD * held);
        assert_eq!(private.spare_runs.len, SPARES * (1 + held));
    }
    segments.check().unwrap();
}

#[test]
fn a_segment_has_a_shared_cell_as_long_as_it_has_a_whole_section() {
    const S: u64 = SECTION_FRAMES;
    let table = started(FAR, FAR + 2 * S);
    let mut segments = table.lock();
    segments.plug(frames(FAR + 4 * S, FAR + 6 * S)).unwrap();
    // Removed one after another: a frame, all but a part behind the first whole section, a whole
    // section, and the middle of the last one.
    for (start, end, cells) in [
        (0, 1, 2),
        (S + 100, 2 * S, 1),
        (5 * S, 6 * S, 1),
        (4 * S + 5, 4 * S + 10, 0),
    ] {
        segments.unplug(frames(FAR + start, FAR + end)).unwrap();
        let snapshot = segments.snapshot();
        let entries = snapshot.order.iter(snapshot.all);
        let marks = entries.map(|index| snapshot.all.get(index).mark(0));
        let found = marks.filter(|mark| !mark.is_null()).count();
        assert_eq!(found, cells, "after {start}..{end}");
        segments.check().unwrap();
    }
}

#[test]
fn a_table_is_wide_from_its_first_frame_beyond_the_low_ones_on() {
    for (end, is_wide) in [(LOW_FRAMES, false), (LOW_FRAMES + 1, true)] {
        let table = started(LOW_FRAMES - 10, end);
        assert_eq!(table.lock().core.index.wide.is_used(), is_wide, "{end}");
    }
}

#[test]
fn a_word_gives_the_segments_of_its_list_in_the_bytes_that_the_table_says() {
    let mut memory = Memory::new();
    memory.grow_on_heap();
    let mut spares = Spares::new();
    // The lowest index, the number of frames, each a segment of its own, and bytes of the piece.
    for (least, count, bytes) in [
        (5, 1, None),
        ((1 << 30) - 1, 1, None),
        (1 << 30, 1, Some(8 + 4)),
        (5, 2, Some(8 + 2 * 2)),
        ((1 << 16) - 64, 64, Some(8 + 2 * 64)),
        ((1 << 16) - 63, 64, Some(8 + 4 * 64)),
        (1 << 20, 3, Some(8 + 4 * 3)),
    ] {
        let mut list = List::new();
        for at in 0..count {
            list.push(Frames::between(at, at + 1), least + at as u32);
        }
        let before = memory.live();
        let runs = Runs::new(&list, &mut memory, &mut spares);
        assert!(runs.says(&list), "{least}");
        for at in 0..count {
            assert_eq!(runs.segment(at, || ()), least + at as u32);
        }
        let layout = runs.piece().map(|(_, layout)| layout.size());
        assert_eq!(layout, bytes, "{least}");
        let taken = bytes.map_or(0, |bytes| bytes.next_multiple_of(8));
        assert_eq!((memory.live() - before, runs.bytes()), (taken, taken));
    }
}

#[test]
fn holes_removed_from_below_beside_a_reader_need_nothing_for_the_isolations_above() {
    const S: u64 = SECTION_FRAMES;
    let table = started(FAR, FAR + 200 * S);
    // Each goes over the end of a section: two sections of one stretch each, with an own cell.
    let holes = (1..100).map(|hole| FAR + 2 * hole * S);
    let isolate = |at: u64| table.lock().isolate(frames(at - 10, at + 10)).unwrap();
    let isolated: Vec<_> = holes.map(isolate).collect();
    let reader = table.rcu().register().unwrap();
    let period = table.rcu().snapshot();
    while !table.rcu().elapsed(period) {
        table.rcu().advance();
    }
    let _guard = reader.enter();
    for isolated in isolated {
        let mut segments = table.lock();
        segments.remove(isolated).unwrap();
        segments.check().unwrap();
    }
    // A segment below each hole, and one above the last: all are found where they are.
    let mut segments = table.lock();
    assert_eq!(segments.len(), 100);
    for at in (0..100).map(|part| FAR + 2 * part * S + S) {
        let (id, _) = segments.find(Pfn::new(at)).unwrap();
        let whole = segments.get(id).unwrap().frames;
        assert!(whole.contains(Pfn::new(at + S - 11)), "{at:x}");
        assert!(
            segments.unplug(frames(at, at + 1)).is_err(),
            "a reader is inside"
        );
    }
}
