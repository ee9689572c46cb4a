//! Breaks every invariant once; `check` names it.
#![forbid(unsafe_code)]

use super::{Page, frames, table};
use crate::addr::Pfn;
use crate::check::Check;
use crate::phys::index::snapshot::{Hidden, Piece};
use crate::phys::segment::Frames;
use crate::phys::{Branchless, BrokenTable, Custom, Direct, SegmentId, Segments};

type Writer<'a> = Segments<'a, Page, Custom<Direct>, 4>;

/// The error of `check` for a table with segments 10..20 and 30..40 after `damage`.
fn broken_by(damage: impl FnOnce(&mut Writer<'_>)) -> BrokenTable {
    let table = table::<Direct>();
    let mut segments = table.lock();
    segments.grow_on_heap();
    segments.plug(frames(10, 20)).unwrap();
    segments.plug(frames(30, 40)).unwrap();
    segments.start().unwrap();
    segments.check().unwrap();
    damage(&mut segments);
    segments.check().unwrap_err()
}

fn hidden(start: u64, end: u64) -> Hidden {
    Hidden {
        frames: Frames { start, end },
        ..Hidden::NONE
    }
}

#[test]
fn segments_out_of_order_break_i1() {
    let above = Frames { start: 50, end: 60 };
    let broken = broken_by(|segments| {
        segments.all.get(0).set_frames(above);
        segments.all.get(0).set_avail(above);
    });
    assert_eq!(
        broken,
        BrokenTable::Order(SegmentId {
            index: 1,
            generation: 1
        })
    );
    let broken = broken_by(|segments| segments.core.order.turn(segments.all));
    assert!(matches!(broken, BrokenTable::Order(_)), "{broken}");
}

#[test]
fn available_frames_outside_their_segment_break_i2() {
    let outside = Frames { start: 15, end: 21 };
    let broken = broken_by(|segments| segments.all.get(0).set_avail(outside));
    assert!(matches!(broken, BrokenTable::Avail(_)), "{broken}");
    let broken = broken_by(|segments| segments.all.get(0).set_hint(11));
    assert!(matches!(broken, BrokenTable::Avail(_)), "{broken}");
}

#[test]
fn a_lost_entry_breaks_i3() {
    let broken = broken_by(|segments| segments.core.used += 1);
    assert!(matches!(broken, BrokenTable::Entry(_)), "{broken}");
    let broken = broken_by(|segments| segments.all.get(1).turn());
    assert_eq!(broken, BrokenTable::Entry(1));
}

#[test]
fn an_isolation_without_a_segment_breaks_i4() {
    let broken = broken_by(|segments| segments.core.hidden.push(hidden(18, 22)));
    assert!(matches!(broken, BrokenTable::Isolated(_)), "{broken}");
}

#[test]
fn isolations_that_overlap_or_are_empty_break_i4() {
    for (start, end, frame) in [(12, 15, 12), (13, 13, 13)] {
        let broken = broken_by(|segments| {
            segments.core.hidden.push(hidden(10, 13));
            segments.core.hidden.push(hidden(start, end));
        });
        assert_eq!(broken, BrokenTable::Isolated(Pfn::new(frame)));
    }
}

#[test]
fn a_split_too_many_in_the_count_breaks_i4() {
    let broken = broken_by(|segments| segments.core.splits += 1);
    let expected = BrokenTable::Splits {
        counted: 1,
        found: 0,
    };
    assert_eq!(broken, expected);
}

#[test]
fn a_frame_too_many_in_the_count_breaks_i5() {
    let broken = broken_by(|segments| segments.core.managed += 1);
    let expected = BrokenTable::Managed {
        counted: 21,
        found: 20,
    };
    assert_eq!(broken, expected);
}

#[test]
fn a_lookup_that_finds_what_is_isolated_breaks_i6() {
    let broken = broken_by(|segments| segments.core.hidden.push(hidden(10, 13)));
    assert!(matches!(broken, BrokenTable::Lookup(_)), "{broken}");
}

/// The error of `check` for a table of the sorted arm with `segments`, whose lookups find `found`.
fn lookups_wrong_about(segments: &[(u64, u64)], found: &[(u64, u64)]) -> Option<BrokenTable> {
    let table = table::<Branchless>();
    let mut writer = table.lock();
    writer.grow_on_heap();
    for (start, end) in segments {
        writer.plug(frames(*start, *end)).unwrap();
    }
    writer.start().unwrap();
    writer.check().unwrap();
    let all = Frames {
        start: 0,
        end: 1 << 40,
    };
    for (start, end) in found {
        let taken = writer.site().private.take(all).unwrap();
        let index = writer.snapshot().find(taken.start).unwrap();
        let piece = writer.snapshot().pieces_of(index).next().unwrap();
        let frames = Frames {
            start: *start,
            end: *end,
        };
        writer.site().private.reserve(2).unwrap();
        writer.site().private.put(Piece { frames, ..piece });
    }
    writer.check().err()
}

#[test]
fn a_lookup_that_is_wrong_about_one_frame_at_an_edge_breaks_i6() {
    let one = [(0, 200)];
    for (found, frame) in [((1, 200), 0), ((0, 199), 199), ((0, 201), 200)] {
        let wrong = Some(BrokenTable::Lookup(Pfn::new(frame)));
        assert_eq!(lookups_wrong_about(&one, &[found]), wrong);
    }
    // Below a segment that begins with a block, and above one that ends with a block.
    for (found, frame) in [((255, 320), 255), ((256, 321), 320), ((257, 320), 256)] {
        let wrong = Some(BrokenTable::Lookup(Pfn::new(frame)));
        assert_eq!(lookups_wrong_about(&[(256, 320)], &[found]), wrong);
    }
}

#[test]
fn a_segment_without_descriptors_breaks_i7() {
    let broken = broken_by(|segments| segments.all.get(0).forget_pages());
    assert!(matches!(broken, BrokenTable::Descriptors(_)), "{broken}");
}

#[test]
fn a_descriptor_that_no_segment_has_breaks_i8() {
    let broken = broken_by(|segments| {
        let taken = segments.core.slabs.take(1);
        assert!(taken.is_some(), "the slab has room");
    });
    assert!(matches!(broken, BrokenTable::Slabs { .. }), "{broken}");
}

#[test]
fn every_broken_invariant_says_its_number() {
    let broken = broken_by(|segments| segments.core.managed += 1);
    assert!(broken.to_string().starts_with("I5: 21 frames"));
}
