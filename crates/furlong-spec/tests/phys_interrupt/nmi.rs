//! A reader in interrupts. It has a slot of its own, and takes no lock.
#![forbid(unsafe_code)]

use std::cell::OnceCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use furlong::addr::{Address, Extent, Pfn};
use furlong::phys::{Descriptor, SegmentTable};
use furlong::rcu::Reader;

pub(crate) struct Page(u64);

impl Descriptor for Page {
    fn of_frame(frame: Pfn) -> Self {
        Self(frame.raw())
    }
}

pub(crate) static TABLE: SegmentTable<Page> = SegmentTable::new();

thread_local! {
    /// The reader of this thread's interrupts, which do not nest.
    static READER: OnceCell<Reader<'static>> = const { OnceCell::new() };
}

/// Registers a reader for the interrupts of this thread.
pub(crate) fn register() {
    let reader = TABLE.rcu().register().expect("there are slots");
    READER.with(|own| own.set(reader).expect("it is the first"));
}

/// True while the writer makes a change, under the lock.
pub(crate) static CHANGING: AtomicBool = AtomicBool::new(false);

/// The counts of the interrupts' lookups.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) lookups: AtomicU64,
    pub(crate) within_changes: AtomicU64,
    pub(crate) found: AtomicU64,
    pub(crate) missed: AtomicU64,
    pub(crate) wrong: AtomicU64,
}

pub(crate) static SEEN: Seen = Seen {
    lookups: AtomicU64::new(0),
    within_changes: AtomicU64::new(0),
    found: AtomicU64::new(0),
    missed: AtomicU64::new(0),
    wrong: AtomicU64::new(0),
};

/// A segment that stays, and frames that are plugged and unplugged.
pub(crate) const STAYS: (u64, u64) = (0, 40);
pub(crate) const COMES: (u64, u64) = (40, 3 * 4096);

pub(crate) fn frames((start, end): (u64, u64)) -> Extent<Pfn> {
    Extent::from_end(Pfn::new(start), Pfn::new(end)).expect("they ascend")
}

/// Looks up some frames in an interrupt. Neither locks nor allocates.
pub(crate) fn look() {
    READER.with(|reader| reader.get().map(look_with));
}

fn look_with(reader: &Reader<'_>) {
    let guard = reader.enter();
    let view = TABLE.read(&guard);
    let one = |counter: &AtomicU64| counter.fetch_add(1, Ordering::SeqCst);
    for frame in [STAYS.0, STAYS.1 - 1, COMES.0, COMES.0 + 30, COMES.1 - 1] {
        let stays = frame < STAYS.1;
        let page = view.page_of(Pfn::new(frame)).map(|page| page.0);
        let offset = view.find(Pfn::new(frame)).map(|(_, offset)| offset);
        let start = if stays { STAYS.0 } else { COMES.0 };
        match (page, offset) {
            (None, None) if stays => one(&SEEN.wrong),
            (None, None) => one(&SEEN.missed),
            (page, offset) => {
                let right = page.is_none_or(|page| page == frame)
                    && offset.is_none_or(|offset| start + offset == frame);
                one(if right { &SEEN.found } else { &SEEN.wrong })
            }
        };
    }
    one(&SEEN.lookups);
    if CHANGING.load(Ordering::SeqCst) {
        one(&SEEN.within_changes);
    }
}
