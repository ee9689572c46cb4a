//! Tests of maps: overlaps, nodes, frames, and the edges of the address space.

use furlong::addr::{Address, Extent, PhysAddr};
use furlong::check::Check;

use super::{Broken, Entry, Fault, Kind, MemoryMap};
use crate::Random;

const TOP: u64 = 1 << 52;

fn extent(start: u64, end: u64) -> Extent<PhysAddr> {
    Extent::from_end(PhysAddr::new(start), PhysAddr::new(end)).unwrap()
}

fn entry(start: u64, end: u64, kind: Kind) -> Entry {
    let extent = extent(start, end);
    let node = None;
    Entry { extent, kind, node }
}

/// Start, end, kind and node of each entry.
fn list(map: &MemoryMap) -> Vec<(u64, u64, Kind, Option<u32>)> {
    let one = |e: &Entry| {
        (
            e.extent.start().raw(),
            e.extent.last().raw() + 1,
            e.kind,
            e.node,
        )
    };
    map.entries().iter().map(one).collect()
}

#[test]
fn the_more_restrictive_kind_wins_whatever_the_order() {
    let usable = entry(0, 100, Kind::Usable);
    let acpi = entry(20, 60, Kind::Acpi);
    let reserved = entry(50, 70, Kind::Reserved);
    let expected = [
        (0, 20, Kind::Usable, None),
        (20, 50, Kind::Acpi, None),
        (50, 70, Kind::Reserved, None),
        (70, 100, Kind::Usable, None),
    ];
    for order in [
        [usable, acpi, reserved],
        [reserved, acpi, usable],
        [acpi, usable, reserved],
    ] {
        assert_eq!(list(&MemoryMap::new(order).unwrap()), expected);
    }
}

#[test]
fn neighbours_of_one_kind_become_one_entry() {
    let parts = [(10, 20), (0, 10), (15, 30), (31, 40)].map(|(s, e)| entry(s, e, Kind::Usable));
    let expected = [(0, 30, Kind::Usable, None), (31, 40, Kind::Usable, None)];
    assert_eq!(list(&MemoryMap::new(parts).unwrap()), expected);
}

#[test]
fn a_map_agrees_with_one_byte_after_the_other() {
    const BYTES: u64 = 64;
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let entries: Vec<Entry> = (0..random.below(9))
            .map(|_| {
                let start = random.below(BYTES);
                let end = start + 1 + random.below(BYTES - start);
                let node = [None, Some(0), Some(1)][random.index(3)];
                let kind = Kind::ALL[random.index(Kind::ALL.len())];
                Entry {
                    node,
                    ..entry(start, end, kind)
                }
            })
            .collect();
        let map = MemoryMap::new(entries.iter().copied()).unwrap();
        assert_eq!(map.check(), Ok(()), "seed {seed}");
        for byte in 0..=BYTES {
            let address = PhysAddr::new(byte);
            let here = entries.iter().filter(|e| e.extent.contains(address));
            let expected = here.map(|e| (e.kind, e.node)).max();
            let found = map
                .entries()
                .iter()
                .find(|e| e.extent.contains(address))
                .map(|e| (e.kind, e.node));
            assert_eq!(found, expected, "seed {seed}, byte {byte}");
        }
    }
}

#[test]
fn usable_frames_are_rounded_inward_and_others_outward() {
    let kinds = [
        (0x100, 0x9b400, Kind::Usable),
        (0x9b400, 0xa0001, Kind::Reserved),
    ];
    let map = MemoryMap::new(kinds.map(|(s, e, kind)| entry(s, e, kind))).unwrap();
    let [segment] = map.segments(12)[..] else {
        panic!("one segment, not {:?}", map.segments(12));
    };
    assert_eq!(
        (segment.frames.start().raw(), segment.frames.last().raw()),
        (1, 0x9a)
    );
}

#[test]
fn less_than_a_frame_is_no_segment() {
    for (start, end) in [(1, 4096), (0, 4095), (1, 8191), (4095, 8191)] {
        let map = MemoryMap::new([entry(start, end, Kind::Usable)]).unwrap();
        assert!(map.segments(12).is_empty(), "{start}..{end}");
        assert_eq!(map.segments(0).len(), 1);
        assert!(map.segments(63).is_empty() && map.segments(64).is_empty());
    }
}

#[test]
fn the_first_and_the_last_frame_of_the_width_are_segments() {
    let ends = [
        entry(0, 4096, Kind::Usable),
        entry(TOP - 4096, TOP, Kind::Usable),
    ];
    let segments = MemoryMap::new(ends).unwrap().segments(12);
    let found: Vec<u64> = segments.iter().map(|s| s.frames.start().raw()).collect();
    assert_eq!(found, [0, (1 << 40) - 1]);
    let beyond = MemoryMap::new([entry(TOP - 1, TOP + 1, Kind::Usable)]);
    assert!(matches!(beyond, Err(Fault::BeyondWidth { .. })));
    let all = Extent::from_last(PhysAddr::new(0), PhysAddr::new(u64::MAX)).unwrap();
    let whole = Entry {
        extent: all,
        ..ends[0]
    };
    assert!(matches!(
        MemoryMap::new([whole]),
        Err(Fault::BeyondWidth { .. })
    ));
}

#[test]
fn each_broken_invariant_is_named() {
    let of = |entries: &[Entry]| {
        MemoryMap {
            entries: entries.to_vec(),
        }
        .check()
    };
    let start = PhysAddr::new(8);
    let low = entry(0, 9, Kind::Usable);
    let high = entry(8, 16, Kind::Reserved);
    assert_eq!(of(&[low, high]), Err(Broken::Order { start }));
    let low = entry(0, 8, Kind::Reserved);
    assert_eq!(of(&[low, high]), Err(Broken::Split { start }));
    let wide = entry(8, TOP + 1, Kind::Usable);
    assert_eq!(of(&[low, wide]), Err(Broken::Width { start }));
    assert_eq!(of(&[]), Ok(()));
}
