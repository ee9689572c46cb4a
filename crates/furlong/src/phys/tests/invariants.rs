//! Breaks every invariant once; `check` names it.

use super::{Page, started};
use crate::addr::Pfn;
use crate::check::Check;
use crate::phys::index::snapshot::{Hidden, Piece};
use crate::phys::segment::Frames;
use crate::phys::{Branchless, BrokenTable, Custom, Direct, Segments};

type Writer<'a> = Segments<'a, Page, Custom<Direct>, 4>;

/// The error of `check` for a table with segments 10..20 and 30..40 after `damage`.
fn broken_by(damage: impl FnOnce(&mut Writer<'_>)) -> BrokenTable {
    let table = started::<Direct>(&[(10, 20), (30, 40)]);
    let mut segments = table.lock();
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

/// The error's name and, where a row gives them, its values.
type Named = (&'static str, fn(&mut Writer<'_>));

#[test]
fn every_broken_invariant_is_named() {
    let damages: [Named; 12] = [
        ("Order(segment 1.0)", |segments| {
            let above = Frames { start: 50, end: 60 };
            segments.all.get(0).set_frames(above);
            segments.all.get(0).set_avail(above);
        }),
        ("Order(", |segments| segments.core.order.turn(segments.all)),
        ("Avail(", |segments| {
            segments.all.get(0).set_avail(Frames { start: 15, end: 21 });
        }),
        ("Avail(", |segments| segments.all.get(0).set_hint(11)),
        ("Entry(", |segments| segments.core.used += 1),
        ("Entry(1)", |segments| segments.all.get(1).turn()),
        ("Isolated(", |segments| {
            segments.core.hidden.push(hidden(18, 22));
        }),
        ("Splits { counted: 1, found: 0 }", |segments| {
            segments.core.splits += 1;
        }),
        ("Managed { counted: 21, found: 20 }", |segments| {
            segments.core.managed += 1;
        }),
        // A lookup finds frames that are isolated.
        ("Lookup(", |segments| {
            segments.core.hidden.push(hidden(10, 13));
        }),
        ("Descriptors(", |segments| {
            segments.all.get(0).forget_pages();
        }),
        // A descriptor that no segment has.
        ("Slabs {", |segments| {
            let taken = segments.core.slabs.take(1);
            assert!(taken.is_some(), "the slab has room");
        }),
    ];
    for (name, damage) in damages {
        let broken = format!("{:?}", broken_by(damage));
        assert!(broken.starts_with(name), "{name}: {broken}");
    }
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

/// The error of `check` for a table of the sorted arm with `segments`, whose lookups find `found`.
fn lookups_wrong_about(segments: &[(u64, u64)], found: &[(u64, u64)]) -> Option<BrokenTable> {
    let table = started::<Branchless>(segments);
    let mut writer = table.lock();
    writer.check().unwrap();
    let all = Frames::between(0, 1 << 40);
    for (start, end) in found {
        let taken = writer.site().private.take(all).unwrap();
        let index = writer.snapshot().find(taken.start).unwrap();
        let piece = writer.snapshot().pieces_of(index).next().unwrap();
        let frames = Frames::between(*start, *end);
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
fn every_broken_invariant_says_its_number() {
    let broken = broken_by(|segments| segments.core.managed += 1);
    assert!(broken.to_string().starts_with("I5: 21 frames"));
}
