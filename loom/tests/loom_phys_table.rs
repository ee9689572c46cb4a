//! Loom models of `phys` apart from the index: descriptors that are made late, the start, and
//! handles of segments that come and go, beside a reader.
//!
//! Sections are small here (see `direct/geometry.rs`). Loom tracks every access to a descriptor.

mod number;
mod orders;
mod phys_world;

use std::mem::MaybeUninit;
use std::sync::Arc;

use furlong::{
    addr::{Extent, Pfn},
    rcu::{Rcu, Reader},
};
use loom::thread;
use phys_world::{beside, frames, reader, remove, started, table};

type Table = phys_world::Table<2>;
type Writer<'a> = phys_world::Writer<'a, 2>;

/// Checks that a descriptor found for a frame is that frame's own.
fn look_for(table: &Table, reader: &Reader<'_>, frame: u64) {
    let guard = reader.enter();
    let view = table.read(&guard);
    let page = view.page_of(Pfn::new(frame));
    assert!(page.is_none_or(|page| page.get() == frame));
}

fn plug_hosted(writer: &mut Writer<'_>, range: Extent<Pfn>) {
    let need = writer.hosted_bytes(range).unwrap();
    let memory = Box::leak(vec![MaybeUninit::uninit(); need].into_boxed_slice());
    writer.plug_hosted(range, memory).unwrap();
}

#[test]
fn a_page_of_a_section_that_is_being_made_is_found_whole_or_not() {
    let make = || {
        // In the same block as the hosted range, so that the path goes through the segment.
        let table = started(&[(0, 1)]);
        plug_hosted(&mut table.lock(), frames(1, 17));
        table
    };
    let look = |table: &Table, reader: &Reader<'_>| look_for(table, reader, 16);
    beside(make, look, |writer| {
        writer.make(Pfn::new(16)).unwrap();
    });
}

#[test]
fn a_page_of_a_table_that_starts_is_found_whole_or_not() {
    let look = |table: &Table, reader: &Reader<'_>| look_for(table, reader, 1);
    beside(
        || table(&[(0, 2)]),
        look,
        |writer| {
            writer.start().unwrap();
        },
    );
}

#[test]
fn a_page_of_a_frame_that_is_being_plugged_is_found_whole_or_not() {
    let look = |table: &Table, reader: &Reader<'_>| look_for(table, reader, 1);
    beside(
        || started(&[(0, 1)]),
        look,
        |writer| {
            writer.plug(frames(1, 2)).unwrap();
        },
    );
}

#[test]
fn a_grace_period_that_others_drive_is_not_taken_for_that_of_an_isolation() {
    fn look(table: &Table, reader: &Reader<'_>) {
        // As another user of the domain may do that retires objects of its own.
        for _ in 0..3 {
            table.rcu().advance();
        }
        look_for(table, reader, 1);
    }
    beside(
        || started(&[(0, 2)]),
        look,
        |writer| {
            let isolated = writer.isolate(frames(1, 2)).unwrap();
            remove(writer, isolated);
        },
    );
}

#[test]
fn the_handle_of_a_segment_is_its_own_when_its_entry_is_used_again() {
    fn look(table: &Table, reader: &Reader<'_>) {
        let guard = reader.enter();
        let view = table.read(&guard);
        let found = view.find(Pfn::new(65));
        let page = view.page_of(Pfn::new(65));
        if let (Some((id, _)), Some(page)) = (found, page) {
            assert_eq!(view.frame_in(id, page).is_some(), page.get() == 65);
        }
    }
    beside(
        || started(&[(0, 1), (64, 66)]),
        look,
        |writer| {
            let isolated = writer.isolate(frames(64, 66)).unwrap();
            if remove(writer, isolated) {
                writer.plug(frames(65, 67)).unwrap();
            }
        },
    );
}

#[test]
fn a_stale_handle_never_names_a_frame_of_another_segment() {
    loom::model(|| {
        let table: Arc<Table> = table(&[]);
        let mut writer = table.lock();
        let stale = writer.plug(frames(0, 1)).unwrap();
        writer.plug(frames(64, 65)).unwrap();
        writer.start().unwrap();
        drop(writer);
        let reader = reader(&table);
        let mine = Arc::clone(&table);
        let looking = thread::spawn(move || {
            {
                let guard = reader.enter();
                let view = mine.read(&guard);
                let page = view.page_of(Pfn::new(64)).expect("it stays");
                assert_eq!(view.frame_in(stale, page), None);
            }
            drop(reader);
        });
        let mine = Arc::clone(&table);
        let writing = thread::spawn(move || {
            let mut writer = mine.lock();
            let isolated = writer.isolate(frames(0, 1)).unwrap();
            if remove(&mut writer, isolated) {
                writer.plug(frames(66, 68)).unwrap();
            }
        });
        looking.join().unwrap();
        writing.join().unwrap();
    });
}
