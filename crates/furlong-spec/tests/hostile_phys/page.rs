//! Descriptors whose creation, queries and drop are user code, and tables of them.

use std::cell::RefCell;
use std::mem::MaybeUninit;

use furlong::addr::{Address, Extent, Pfn};
use furlong::check::Check;
use furlong::phys::{Custom, Descriptor, Lookup, SegmentTable};
use furlong::rcu::{Domain, Rcu};
use furlong::sync::SpinLock;
use furlong_spec::Random;
use furlong_spec::hostile::{Tracked, Watch, user_code};

thread_local! {
    /// Counts the descriptors that this thread makes.
    static WATCH: RefCell<Watch> = RefCell::new(Watch::new());
}

/// A descriptor. Its creation and its query for a pin are user code.
pub(crate) struct Page(Tracked);

impl Page {
    pub(crate) fn frame(&self) -> u64 {
        self.0.number()
    }
}

impl Descriptor for Page {
    fn of_frame(frame: Pfn) -> Self {
        user_code("of_frame");
        Self(WATCH.with_borrow(|watch| watch.value(frame.raw())))
    }

    fn is_pinned(&self) -> bool {
        user_code("is_pinned");
        // Pins a frame that never exists.
        self.frame() == u64::MAX
    }
}

pub(crate) type Table<L, R = Domain> = SegmentTable<Page, Custom<L, SpinLock, R>, 4>;

pub(crate) fn frames(start: u64, end: u64) -> Extent<Pfn> {
    Extent::from_end(Pfn::new(start), Pfn::new(end)).expect("not empty")
}

/// The state of a table before an attack: the number of segments, the first frame, and a seed for
/// the gaps.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct State {
    pub(crate) segments: u64,
    pub(crate) base: u64,
    pub(crate) seed: u64,
    pub(crate) is_started: bool,
}

impl State {
    /// Segments of 1 to 4 frames each, some adjacent.
    pub(crate) fn ranges(self) -> impl Iterator<Item = (u64, u64)> {
        let mut random = Random::new(self.seed);
        let mut at = self.base;
        (0..self.segments).map(move |_| {
            let start = at + random.below(4);
            at = start + 1 + random.below(4);
            (start, at)
        })
    }

    /// The frame after the last one.
    pub(crate) fn end(self) -> u64 {
        self.ranges().last().map_or(self.base, |(_, end)| end)
    }

    pub(crate) fn table<L: Lookup>(self) -> (Table<L>, Watch) {
        self.table_with(Domain::new())
    }

    pub(crate) fn table_with<L: Lookup, R: Rcu>(self, rcu: R) -> (Table<L, R>, Watch) {
        let watch = Watch::new();
        WATCH.set(watch.clone());
        let table = Table::<L, R>::with_config(SpinLock::new(), rcu);
        let mut segments = table.lock();
        segments.grow_on_heap();
        for (start, end) in self.ranges() {
            segments.plug(frames(start, end)).expect("there is memory");
        }
        if self.is_started {
            segments.start().expect("there is memory");
        }
        drop(segments);
        (table, watch)
    }
}

/// Checks that no invariant is broken, that each frame has its descriptor, and that there are no
/// others.
pub(crate) fn is_whole<L: Lookup, R: Rcu>(table: &Table<L, R>, watch: &Watch) {
    let segments = table.lock();
    segments.check().expect("no invariant is broken");
    let view = segments.view();
    let mut frames = 0;
    for segment in segments.iter() {
        frames += segment.len();
        let (first, last) = (segment.frames.start(), segment.frames.last());
        for frame in [first, last] {
            let page = view.page_of(frame);
            assert!(page.is_none_or(|page| page.frame() == frame.raw()));
        }
    }
    if segments.is_started() {
        assert_eq!(watch.alive(), frames, "a descriptor for each frame");
    } else {
        assert_eq!(watch.alive(), 0);
    }
}

/// Checks that the table can be used, and that dropping it drops all descriptors.
pub(crate) fn is_usable<L: Lookup, R: Rcu>(table: Table<L, R>, watch: &Watch) {
    let top = frames(1 << 33, (1 << 33) + 3);
    let mut segments = table.lock();
    let isolated: Vec<_> = segments.isolated().collect();
    for frames in isolated {
        let token = segments.adopt(frames.start()).expect("they are isolated");
        segments.abort(token).expect("the token is its own");
    }
    segments.plug(top).expect("there is memory");
    if segments.len() > 1 {
        // Refused if a reader's guard was forgotten.
        may(segments.unplug(top));
    }
    segments.check().expect("no invariant is broken");
    drop(segments);
    drop(table);
    assert_eq!(watch.alive(), 0, "all descriptors are dropped once");
}

/// Leaked memory, in place of the first frames of a range.
pub(crate) fn lent(bytes: usize) -> &'static mut [MaybeUninit<u8>] {
    Box::leak(Box::<[u8]>::new_uninit_slice(bytes))
}

/// Ignores a result: an attack's call may succeed or be refused.
pub(crate) fn may<T>(_: T) {}
