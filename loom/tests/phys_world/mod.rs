//! A physical table, and a reader of it beside a writer.
//!
//! Frames have small sections here (see `direct/geometry.rs`), so that every change of the index's
//! shape happens within a few frames. Loom tracks every access to a descriptor.

use std::sync::Arc;

use furlong::{
    addr::{Address, Extent, Pfn},
    phys::{Custom, Descriptor, Direct, Isolated, SegmentTable, Segments},
    rcu::{Domain, Reader, ReaderSlot},
    sync::SpinLock,
};

use crate::number::Number;
use crate::orders::{body, model};

/// A descriptor: the number of its frame.
pub(crate) type Page = Number;

impl Descriptor for Page {
    fn of_frame(frame: Pfn) -> Self {
        Self::new(frame.raw())
    }
}

type Config = Custom<Direct, SpinLock, Domain<[ReaderSlot; 1]>>;
pub(crate) type Table<const N: usize> = SegmentTable<Page, Config, N>;
pub(crate) type Writer<'a, const N: usize> = Segments<'a, Page, Config, N>;

pub(crate) fn frames(start: u64, end: u64) -> Extent<Pfn> {
    Extent::from_end(Pfn::new(start), Pfn::new(end)).unwrap()
}

/// A table of these segments that has not been started.
pub(crate) fn table<const N: usize>(segments: &[(u64, u64)]) -> Arc<Table<N>> {
    let domain = Domain::with_slots(ReaderSlot::array());
    let table = Table::with_config(SpinLock::new(), domain);
    let mut writer = table.lock();
    writer.grow_on_heap();
    for (start, end) in segments {
        writer.plug(frames(*start, *end)).unwrap();
    }
    drop(writer);
    Arc::new(table)
}

/// The same, started.
pub(crate) fn started<const N: usize>(segments: &[(u64, u64)]) -> Arc<Table<N>> {
    let table = table(segments);
    table.lock().start().unwrap();
    table
}

/// A reader that may move to another thread of the model.
pub(crate) fn reader<const N: usize>(table: &Arc<Table<N>>) -> Reader<'static> {
    // SAFETY: each thread has an `Arc` of the table, which it drops after its reader.
    let table: &'static Table<N> = unsafe { &*Arc::as_ptr(table) };
    table.rcu().register().unwrap()
}

/// Removes an isolated segment, if the reader has left; else leaves it isolated.
pub(crate) fn remove<const N: usize>(writer: &mut Writer<'_, N>, isolated: Isolated) -> bool {
    let mut isolated = isolated;
    for _ in 0..2 {
        match writer.remove(isolated) {
            Ok(()) => return true,
            Err(error) => isolated = error.frames,
        }
    }
    false
}

/// A reader looks up frames while a writer makes a change.
pub(crate) fn beside<const N: usize>(
    make: impl Fn() -> Arc<Table<N>> + Copy + Send + Sync + 'static,
    look: impl Fn(&Table<N>, &Reader<'_>) + Copy + Send + Sync + 'static,
    write: fn(&mut Writer<'_, N>),
) {
    let start = move || {
        let table = make();
        let reader = reader(&table);
        let looking = body(move |table: &Table<N>| look(table, &reader));
        let writing = body(move |table: &Table<N>| write(&mut table.lock()));
        (table, [looking, writing])
    };
    model(start, |_| ());
}
