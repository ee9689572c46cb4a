//! Loom models of `phys`: lookups beside plugs and unplugs; `ci/loom.sh` runs them.
//!
//! Every descriptor is dropped by a write that loom tracks: a reader still using it would fail the
//! model.
//!
//! Each ordering that readers of the index rely on was weakened once, and each pair of stores
//! swapped. A model failed, by an assertion or by a nonexistent address. One property is beyond any
//! model: that a table above 1 TiB (a top, a middle one or a page) is seen as initialised. It
//! consists of atomic words, and loom lets every thread read the initial value of an atomic word.
//! Nor does loom track the plain memory of runs and cells; there a reader fails at the entry that
//! they lead to.

mod number;
mod orders;
mod phys_world;

use std::sync::Arc;

use furlong::{addr::Pfn, rcu::Reader};
use loom::thread;
use phys_world::{Page, frames, reader, remove, started};

type Table = phys_world::Table<4>;
type Writer<'a> = phys_world::Writer<'a, 4>;

/// Frames of a section, frames covered by one leaf without sections, and the first high frame, with
/// the small geometry of these models.
const SECTION: u64 = 128;
const NEAR: u64 = 2 * SECTION;
const HIGH: u64 = 8 * SECTION;

/// Looks up frames that stay, and frames that may come or go, each with the start of its segment;
/// every result found must be right.
fn look(table: &Table, reader: &Reader<'_>, stay: &[u64], change: &[(u64, u64)]) {
    let guard = reader.enter();
    let view = table.read(&guard);
    for frame in stay {
        let page = view.page_of(Pfn::new(*frame));
        assert_eq!(page.map(Page::get), Some(*frame), "it stays");
        let (_, offset) = view.find(Pfn::new(*frame)).expect("it stays");
        assert!(offset <= *frame, "an offset counts from a start");
    }
    for (frame, start) in change {
        let found = view.find(Pfn::new(*frame));
        assert!(found.is_none_or(|(_, offset)| start + offset == *frame));
        let page = view.page_of(Pfn::new(*frame));
        assert!(page.is_none_or(|page| page.get() == *frame));
    }
}

/// A reader looks up frames while a writer makes a change.
fn beside(
    segments: &'static [(u64, u64)],
    stay: &'static [u64],
    change: &'static [(u64, u64)],
    write: fn(&mut Writer<'_>),
) {
    let make = move || started(segments);
    let look = move |table: &Table, reader: &Reader<'_>| look(table, reader, stay, change);
    phys_world::beside(make, look, write);
}

#[test]
fn a_frame_stays_found_while_its_neighbour_in_the_block_is_plugged() {
    beside(&[(0, 4)], &[3], &[(4, 4)], |writer| {
        writer.plug(frames(4, 6)).unwrap();
    });
}

#[test]
fn a_frame_stays_found_while_its_block_gets_descriptors_in_two_places() {
    // The second segment has the places beside those of the first.
    beside(&[(0, 4), (64, 67)], &[3], &[(6, 5)], |writer| {
        writer.plug(frames(5, 7)).unwrap();
    });
}

#[test]
fn a_frame_stays_found_while_the_last_leaf_gets_longer() {
    beside(&[(0, 4)], &[3], &[(65, 64)], |writer| {
        writer.plug(frames(64, 66)).unwrap();
    });
}

#[test]
fn a_frame_stays_found_while_segments_outgrow_the_static_ones() {
    beside(
        &[(0, 1), (2, 3), (4, 5), (6, 7)],
        &[6],
        &[(8, 8)],
        |writer| {
            writer.plug(frames(8, 9)).unwrap();
        },
    );
}

#[test]
fn a_high_frame_is_found_or_not_while_its_tables_are_made() {
    beside(&[(0, 2)], &[1], &[(HIGH + 1, HIGH)], |writer| {
        writer.plug(frames(HIGH, HIGH + 2)).unwrap();
    });
}

#[test]
fn a_frame_comes_into_an_empty_block_between_others() {
    beside(&[(0, 1), (128, 129)], &[128], &[(65, 64)], |writer| {
        writer.plug(frames(64, 66)).unwrap();
    });
}

#[test]
fn a_descriptor_that_is_made_late_is_found_whole_or_not() {
    loom::model(|| {
        let table: Arc<Table> = started(&[(0, 1)]);
        let reader = reader(&table);
        let mut writer = table.lock();
        let hosted = frames(64, 128);
        let bytes = writer.hosted_bytes(hosted).unwrap();
        let memory = Box::leak(Box::new_uninit_slice(bytes));
        writer.plug_hosted(hosted, memory).unwrap();
        drop(writer);
        let mine = Arc::clone(&table);
        let looking = thread::spawn(move || {
            look(&mine, &reader, &[], &[(100, 64)]);
            drop(reader);
        });
        assert_eq!(table.lock().make(Pfn::new(100)), Ok(true));
        looking.join().unwrap();
    });
}

#[test]
fn a_frame_stays_found_while_sections_take_the_place_of_one_leaf() {
    beside(&[(0, 4)], &[3], &[(NEAR + 1, NEAR)], |writer| {
        writer.plug(frames(NEAR, NEAR + 2)).unwrap();
    });
}

#[test]
fn a_frame_stays_found_while_there_come_more_sections() {
    const FAR: u64 = 2 * NEAR;
    const BEFORE: &[(u64, u64)] = &[(0, 2), (NEAR, NEAR + 2)];
    // One staying frame at a time: both together take three times as long.
    for stay in [&[1], &[NEAR + 1]] {
        beside(BEFORE, stay, &[(FAR + 1, FAR)], |writer| {
            writer.plug(frames(FAR, FAR + 2)).unwrap();
        });
    }
}

#[test]
fn a_frame_stays_found_while_pages_take_the_place_of_sections() {
    beside(
        &[(0, 2), (NEAR, NEAR + 2)],
        &[NEAR + 1],
        &[(HIGH + 1, HIGH)],
        |writer| {
            writer.plug(frames(HIGH, HIGH + 2)).unwrap();
        },
    );
}

#[test]
fn a_frame_stays_found_while_its_section_gets_a_second_stretch() {
    beside(
        &[(0, 2), (NEAR, NEAR + 4)],
        &[NEAR + 1],
        &[(NEAR + 6, NEAR + 6)],
        |writer| {
            writer.plug(frames(NEAR + 6, NEAR + 8)).unwrap();
        },
    );
}

#[test]
fn a_descriptor_is_dropped_only_when_no_reader_has_it() {
    beside(&[(0, 8)], &[7], &[(2, 0)], |writer| {
        let isolated = writer.isolate(frames(0, 4)).unwrap();
        remove(writer, isolated);
    });
}

#[test]
fn a_split_keeps_what_is_above_it_found() {
    beside(&[(0, 8)], &[6], &[(3, 0)], |writer| {
        let isolated = writer.isolate(frames(2, 4)).unwrap();
        remove(writer, isolated);
    });
}

#[test]
fn a_whole_section_that_comes_and_goes_is_found_or_not() {
    beside(
        &[(0, 4), (NEAR, NEAR + SECTION)],
        &[1],
        &[(NEAR, NEAR)],
        |writer| {
            let isolated = writer.isolate(frames(NEAR, NEAR + SECTION)).unwrap();
            writer.abort(isolated).unwrap();
        },
    );
}
