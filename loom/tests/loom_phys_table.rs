//! Loom models of `phys` apart from the index: descriptors that are made late, the start, and
//! handles of segments that come and go, beside a reader.
//!
//! Sections are small here (see `direct/geometry.rs`). Loom tracks every access to a descriptor.

use std::mem::MaybeUninit;
use std::sync::Arc;

use furlong::{
    addr::{Address, Extent, Pfn},
    phys::{Custom, Descriptor, Direct, Isolated, SegmentTable, Segments},
    rcu::{Domain, Rcu, Reader, ReaderSlot},
    sync::{SpinLock, UnsafeCell},
};
use loom::thread;

/// A descriptor whose creation, reads and drop loom tracks.
struct Page(UnsafeCell<u64>);

// SAFETY: loom checks every access to the cell.
unsafe impl Sync for Page {}

impl Descriptor for Page {
    fn of_frame(frame: Pfn) -> Self {
        let page = Self(UnsafeCell::new(0));
        // SAFETY: it is not shared yet.
        page.0.with_mut(|it| unsafe { *it = frame.raw() });
        page
    }
}

impl Page {
    fn frame(&self) -> u64 {
        // SAFETY: loom fails the model on any concurrent write.
        self.0.with(|frame| unsafe { *frame })
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: loom fails the model on any other concurrent access.
        self.0.with_mut(|frame| unsafe { *frame = u64::MAX });
    }
}

type Config = Custom<Direct, SpinLock, Domain<[ReaderSlot; 1]>>;
type Table = SegmentTable<Page, Config, 2>;
type Writer<'a> = Segments<'a, Page, Config, 2>;

fn frames(start: u64, end: u64) -> Extent<Pfn> {
    Extent::from_end(Pfn::new(start), Pfn::new(end)).unwrap()
}

fn table() -> Arc<Table> {
    let domain = Domain::with_slots(ReaderSlot::array());
    let table = Table::with_config(SpinLock::new(), domain);
    table.lock().grow_on_heap();
    Arc::new(table)
}

/// A reader that may move to another thread of the model.
fn reader(table: &Arc<Table>) -> Reader<'static> {
    // SAFETY: each thread has an `Arc` of the table, which it drops after its reader.
    let table: &'static Table = unsafe { &*Arc::as_ptr(table) };
    table.rcu().register().unwrap()
}

/// A reader looks up frames while a writer writes, with either one spawned first.
fn beside(make: fn() -> Arc<Table>, look: fn(&Table, &Reader<'_>), write: fn(&mut Writer<'_>)) {
    for reader_first in [true, false] {
        loom::model(move || {
            let table = make();
            let reader = reader(&table);
            let mine = Arc::clone(&table);
            let looking = move || {
                look(&mine, &reader);
                drop(reader);
            };
            let mine = Arc::clone(&table);
            let writing = move || write(&mut mine.lock());
            let threads = if reader_first {
                [thread::spawn(looking), thread::spawn(writing)]
            } else {
                let writing = thread::spawn(writing);
                [writing, thread::spawn(looking)]
            };
            for thread in threads {
                thread.join().unwrap();
            }
        });
    }
}

/// Checks that a descriptor found for a frame is that frame's own.
fn look_for(table: &Table, reader: &Reader<'_>, frame: u64) {
    let guard = reader.enter();
    let view = table.read(&guard);
    let page = view.page_of(Pfn::new(frame));
    assert!(page.is_none_or(|page| page.frame() == frame));
}

fn plug_hosted(writer: &mut Writer<'_>, range: Extent<Pfn>) {
    let need = writer.hosted_bytes(range).unwrap();
    let memory = Box::leak(vec![MaybeUninit::uninit(); need].into_boxed_slice());
    writer.plug_hosted(range, memory).unwrap();
}

#[test]
fn a_page_of_a_section_that_is_being_made_is_found_whole_or_not() {
    fn make() -> Arc<Table> {
        let table = table();
        let mut writer = table.lock();
        // In the same block as the hosted range, so that the path goes through the segment.
        writer.plug(frames(0, 1)).unwrap();
        writer.start().unwrap();
        plug_hosted(&mut writer, frames(1, 17));
        drop(writer);
        table
    }
    let look = |table: &Table, reader: &Reader<'_>| look_for(table, reader, 16);
    beside(make, look, |writer| {
        writer.make(Pfn::new(16)).unwrap();
    });
}

#[test]
fn a_page_of_a_table_that_starts_is_found_whole_or_not() {
    fn make() -> Arc<Table> {
        let table = table();
        table.lock().plug(frames(0, 2)).unwrap();
        table
    }
    let look = |table: &Table, reader: &Reader<'_>| look_for(table, reader, 1);
    beside(make, look, |writer| {
        writer.start().unwrap();
    });
}

#[test]
fn a_page_of_a_frame_that_is_being_plugged_is_found_whole_or_not() {
    fn make() -> Arc<Table> {
        let table = table();
        table.lock().plug(frames(0, 1)).unwrap();
        table.lock().start().unwrap();
        table
    }
    let look = |table: &Table, reader: &Reader<'_>| look_for(table, reader, 1);
    beside(make, look, |writer| {
        writer.plug(frames(1, 2)).unwrap();
    });
}

/// Removes an isolated segment, if the reader has left; else leaves it isolated.
fn remove(writer: &mut Writer<'_>, isolated: Isolated) -> bool {
    let mut isolated = isolated;
    for _ in 0..2 {
        match writer.remove(isolated) {
            Ok(()) => return true,
            Err(error) => isolated = error.frames,
        }
    }
    false
}

#[test]
fn a_grace_period_that_others_drive_is_not_taken_for_that_of_an_isolation() {
    fn make() -> Arc<Table> {
        let table = table();
        table.lock().plug(frames(0, 2)).unwrap();
        table.lock().start().unwrap();
        table
    }
    fn look(table: &Table, reader: &Reader<'_>) {
        // As another user of the domain may do that retires objects of its own.
        for _ in 0..3 {
            table.rcu().advance();
        }
        look_for(table, reader, 1);
    }
    beside(make, look, |writer| {
        let isolated = writer.isolate(frames(1, 2)).unwrap();
        remove(writer, isolated);
    });
}

#[test]
fn the_handle_of_a_segment_is_its_own_when_its_entry_is_used_again() {
    fn make() -> Arc<Table> {
        let table = table();
        let mut writer = table.lock();
        writer.plug(frames(0, 1)).unwrap();
        writer.plug(frames(64, 66)).unwrap();
        writer.start().unwrap();
        drop(writer);
        table
    }
    fn look(table: &Table, reader: &Reader<'_>) {
        let guard = reader.enter();
        let view = table.read(&guard);
        let found = view.find(Pfn::new(65));
        let page = view.page_of(Pfn::new(65));
        if let (Some((id, _)), Some(page)) = (found, page) {
            assert_eq!(view.frame_in(id, page).is_some(), page.frame() == 65);
        }
    }
    beside(make, look, |writer| {
        let isolated = writer.isolate(frames(64, 66)).unwrap();
        if remove(writer, isolated) {
            writer.plug(frames(65, 67)).unwrap();
        }
    });
}

#[test]
fn a_stale_handle_never_names_a_frame_of_another_segment() {
    loom::model(|| {
        let table = table();
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
