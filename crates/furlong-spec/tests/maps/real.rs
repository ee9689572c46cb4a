//! The maps and recordings of `traces/phys`. They name their origin, and agree with further
//! statements of their own sources.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use furlong::addr::{Address, Extent, Pfn};
use furlong::check::Check;
use furlong_spec::phys::SortedList;
use furlong_spec::phys_map::{
    Form, Kind, MemoryMap, Operation, REAL_MAPS, RealMap, Recording, Segment, parse, parse_as,
    provenance,
};

/// Start, end and node of a segment.
type Frames = (u64, u64, Option<u32>);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/phys")
}

fn named(name: &str) -> RealMap {
    *REAL_MAPS.iter().find(|map| map.name == name).unwrap()
}

fn frames(segment: &Segment) -> Frames {
    let (start, last) = (segment.frames.start().raw(), segment.frames.last().raw());
    (start, last + 1, segment.node)
}

fn segments(name: &str) -> Vec<Frames> {
    let map = named(name).map().unwrap();
    map.segments(12).iter().map(frames).collect()
}

/// The early ranges of nodes that a map quotes from its kernel's log, in frames. Adjacent ranges of
/// a node are joined.
fn started_with(text: &str) -> Vec<Frames> {
    let mut found: Vec<Frames> = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("# node   ")) {
        let said = line.trim_start_matches("# node   ");
        let (node, range) = said.split_once(": [mem ").unwrap();
        let (start, last) = range.trim_end_matches(']').split_once('-').unwrap();
        let of = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap();
        let (start, end) = (of(start) / 4096, (of(last) + 1) / 4096);
        let node = Some(node.parse().unwrap());
        match found.last_mut() {
            Some(before) if (before.1, before.2) == (start, node) => before.1 = end,
            _ => found.push((start, end, node)),
        }
    }
    found
}

/// The page counts that a map quotes from its kernel's log, by node.
fn totals(text: &str) -> BTreeMap<Option<u32>, u64> {
    let lines = text.lines().filter_map(|line| line.split_once("On node "));
    lines
        .map(|(_, said)| {
            let (node, pages) = said.split_once(" totalpages: ").unwrap();
            (Some(node.parse().unwrap()), pages.parse().unwrap())
        })
        .collect()
}

#[test]
fn every_map_says_where_it_comes_from() {
    for map in REAL_MAPS {
        let all: BTreeMap<&str, &str> = provenance(map.text).into_iter().collect();
        for key in ["machine", "source", "date", "nodes", "unknown"] {
            let said = all
                .get(key)
                .unwrap_or_else(|| panic!("{}: no {key}", map.file));
            assert!(!said.is_empty(), "{}: {key}", map.file);
        }
        let kept = fs::read_to_string(folder().join(map.file)).unwrap();
        assert_eq!(kept, map.text, "{}: not what was compiled in", map.file);
    }
}

#[test]
fn every_map_is_written_and_read_as_itself() {
    for real in REAL_MAPS {
        let map = real.map().unwrap();
        assert_eq!(map.check(), Ok(()), "{}", real.name);
        assert!(!map.segments(12).is_empty(), "{}", real.name);
        let written = map.to_string();
        let back = parse("copy", written.as_bytes()).unwrap();
        assert_eq!(back, map, "{}", real.name);
        assert_eq!(back.to_string(), written);
        let form = Form::of(real.text).unwrap();
        assert_eq!(
            parse_as(form, real.file, real.text.as_bytes()).unwrap(),
            map
        );
    }
}

#[test]
fn carriage_returns_change_no_map() {
    for real in REAL_MAPS {
        let text = real.text.replace('\n', "\r\n");
        let map = parse(real.file, text.as_bytes()).unwrap();
        assert_eq!(map, real.map().unwrap(), "{}", real.name);
    }
}

#[test]
fn segments_are_what_the_kernels_started_with() {
    for name in ["laptop", "two-socket", "arm64-server"] {
        let text = named(name).text;
        assert_eq!(segments(name), started_with(text), "{name}");
        let mut counted: BTreeMap<Option<u32>, u64> = BTreeMap::new();
        for (start, end, node) in segments(name) {
            *counted.entry(node).or_default() += end - start;
        }
        assert_eq!(counted, totals(text), "{name}");
    }
}

#[test]
fn segments_without_a_kernel_log_are_what_was_read_by_hand() {
    // This kernel counted 25,165,432 KiB: everything except frame 0, which it reserves for itself.
    let expected = [
        (0, 0x9f, None),
        (0x100, 0xc_0000, None),
        (0x10_0000, 0x64_0000, None),
    ];
    assert_eq!(segments("developer-vm"), expected);
    let frames: u64 = expected.iter().map(|(start, end, _)| end - start).sum();
    assert_eq!((frames - 1) * 4, 25_165_432);
    let boot = (0x10_0000, 0x14_0000, None);
    let device_0 = (0x14_0000, 0x15_8000, None);
    let device_1 = (0x34_0000, 0x34_8000, None);
    assert_eq!(segments("virtio-mem"), [boot, device_0, device_1]);
    let kinds = named("virtio-mem").map().unwrap().segments(12);
    let kinds: Vec<Kind> = kinds.iter().map(|segment| segment.kind).collect();
    assert_eq!(kinds, [Kind::Usable, Kind::Plugged, Kind::Plugged]);
}

#[test]
fn the_readme_has_each_map_with_its_segments() {
    let readme = fs::read_to_string(folder().join("README.md")).unwrap();
    for real in REAL_MAPS {
        let found = segments(real.name);
        let frames: u64 = found.iter().map(|(start, end, _)| end - start).sum();
        let row = format!("| [{0}]({0}) | {1} | {frames} |", real.file, found.len());
        assert!(readme.contains(&row), "README.md lacks {row}");
    }
}

fn recording(file: &str) -> Recording {
    let bytes = fs::read(folder().join(file)).unwrap();
    Recording::parse(file, &bytes).unwrap()
}

#[test]
fn every_recording_says_where_it_comes_from_and_is_written_and_read_as_itself() {
    for file in ["virtio-mem.plugs", "hotplug-chunks.plugs"] {
        let text = fs::read_to_string(folder().join(file)).unwrap();
        let said: BTreeMap<&str, &str> = provenance(&text).into_iter().collect();
        for key in ["machine", "source", "date", "unknown"] {
            assert!(said.contains_key(key), "{file}: no {key}");
        }
        let read = recording(file);
        let back = Recording::parse("copy", read.to_string().as_bytes()).unwrap();
        assert_eq!(back, read, "{file}");
    }
}

/// The outcomes of a recording's plugs and unplugs in a table that never merges segments: the
/// numbers done and refused, and the greatest number of segments.
fn outcomes(recording: &Recording) -> (usize, usize, usize) {
    let mut list = SortedList::new();
    let (mut done, mut refused, mut most) = (0, 0, 0);
    for operation in &recording.operations {
        let range = |it: &Extent<Pfn>| it.start().raw()..it.last().raw() + 1;
        let is_done = match operation {
            Operation::Find { .. } => continue,
            Operation::Plug { frames, .. } => list.plug(range(frames)).is_ok(),
            Operation::Unplug { frames } => list.unplug(range(frames)).is_ok(),
        };
        done += usize::from(is_done);
        refused += usize::from(!is_done);
        most = most.max(list.segments().len());
    }
    (done, refused, most)
}

#[test]
fn a_device_that_grows_and_shrinks_asks_for_nothing_that_is_refused() {
    let recording = recording("virtio-mem.plugs");
    let (done, refused, most) = outcomes(&recording);
    assert_eq!((refused, most), (0, 66));
    assert!(done > 150, "{done} plugs and unplugs");
    let finds = recording.operations.len() - done;
    assert!(finds >= 2 * done, "{finds} look-ups");
}

#[test]
fn chunks_that_are_cut_leave_a_segment_each_and_some_requests_are_refused() {
    let (done, refused, most) = outcomes(&recording("hotplug-chunks.plugs"));
    // The rest of each chunk stays as a segment, and its front is plugged again as another one.
    assert_eq!(most, 1 + 2 * 32);
    // A plug over existing frames, and unplugs across a segment's end, of missing frames, and of a
    // range in pieces.
    assert_eq!(refused, 4);
    assert!(done > 120, "{done} plugs and unplugs");
}

#[test]
fn a_boot_is_recorded_as_plugs_in_order() {
    let map = named("two-socket").map().unwrap();
    let plug = |segment: Segment| Operation::Plug {
        frames: segment.frames,
        node: segment.node,
    };
    let boot = Recording {
        page_shift: 12,
        operations: map.segments(12).into_iter().map(plug).collect(),
    };
    assert_eq!(boot.operations.len(), 6);
    let text = boot.to_string();
    let start = "furlong.plugs/1\npage 4096\nplug 0x1 0x9b 0\nplug 0x100 0x76231 0\n";
    assert!(text.starts_with(start), "{text}");
    assert!(text.ends_with("\nplug 0x1080000 0x2080000 1\n"), "{text}");
}

#[test]
fn a_map_is_no_recording_and_an_empty_one_has_nothing() {
    let error = Recording::parse("laptop", named("laptop").text.as_bytes()).unwrap_err();
    assert_eq!(error.line, Some(14));
    let empty = MemoryMap::default();
    assert!(empty.segments(12).is_empty() && empty.entries().is_empty());
}
