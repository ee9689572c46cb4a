//! A heap: the state of one thread, or one processor.
#![forbid(unsafe_code)]

use crate::sync::atomic::{AtomicU8, Ordering};
use crate::sync::const_unless_loom;

use crate::malloc::{Byte, CLASSES, Class, Half, Latch, Link, Span, Word};

#[cfg(not(loom))]
use super::thread_cache::ThreadCache;

/// The number of span lists of a heap: one a class; under loom one in all.
const LISTS: usize = if cfg!(loom) { 1 } else { CLASSES };

/// The state of a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// A placeholder: the thread has no heap yet.
    Vacant,
    /// A placeholder: the thread's heap has ended.
    Over,
    /// In use by a thread.
    Running,
    /// Free to be taken over.
    Ended,
}

const STATES: [State; 4] = [State::Vacant, State::Over, State::Running, State::Ended];

/// A heap. It is never unmapped; a new thread takes over an ended one.
///
/// Only its thread uses `cache`. Its latch guards the rest and the spans that it owns. Any thread
/// may push to `queue`.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Heap {
    #[cfg(not(loom))]
    pub(crate) cache: ThreadCache,
    pub(crate) latch: Latch,
    state: AtomicU8,
    /// The next heap in the list of all heaps.
    pub(crate) next: Link<Self>,
    /// 1 if it belongs to a zone and not to a thread: see [`Zone`](crate::malloc::Zone).
    pub(crate) zone: Byte,
    /// The next in the list of ended heaps, or in that of former heaps of zones.
    pub(crate) next_vacant: Link<Self>,
    /// The first span of each class with blocks left to give, by unit; 0 is none.
    spans: [Half; LISTS],
    /// The units of its spans, of all classes and of each, without those that are being made.
    units: Word,
    class_units: [Half; LISTS],
    pub(crate) queue: Line,
}

/// The spans in which other threads have freed blocks, in a cache line of its own.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) Link<Span>);

/// See [`Heap::vacant`]. A separate static, so that thread-local storage can be initialised with
/// it.
#[cfg(not(loom))]
pub static VACANT: Heap = Heap::standing_for(State::Vacant);
#[cfg(not(loom))]
static OVER: Heap = Heap::standing_for(State::Over);

#[cfg(not(loom))]
impl Heap {
    /// The placeholder for a heap that does not exist yet.
    #[must_use]
    pub const fn vacant() -> &'static Self {
        &VACANT
    }

    /// The placeholder for a heap that has ended.
    #[must_use]
    pub const fn over() -> &'static Self {
        &OVER
    }
}

impl Heap {
    const_unless_loom! {
        pub(crate) const fn standing_for(state: State) -> Self {
            Self {
                #[cfg(not(loom))]
                cache: ThreadCache::nothing(),
                latch: Latch::new(),
                state: AtomicU8::new(state as u8),
                next: Link::none(),
                zone: Byte::new(0),
                next_vacant: Link::none(),
                #[cfg(not(loom))]
                spans: [const { Half::new(0) }; LISTS],
                #[cfg(loom)]
                spans: [Half::new(0)],
                units: Word::new(0),
                #[cfg(not(loom))]
                class_units: [const { Half::new(0) }; LISTS],
                #[cfg(loom)]
                class_units: [Half::new(0)],
                queue: Line(Link::none()),
            }
        }
    }

    pub(crate) fn state(&self) -> State {
        STATES[usize::from(self.state.load(Ordering::SeqCst)) % STATES.len()]
    }

    pub(crate) fn set_state(&self, state: State) {
        self.state.store(state as u8, Ordering::SeqCst);
    }

    /// True if a thread or a zone uses the heap.
    pub(crate) fn is_running(&self) -> bool {
        self.state.load(Ordering::SeqCst) == State::Running as u8
    }

    /// The unit of the first span of a zone that has no blocks left to give. No class is 0.
    #[cfg(not(loom))]
    pub(crate) fn full(&self) -> &Half {
        &self.spans[0]
    }

    /// The unit of the first span of a class that has blocks left to give.
    pub(crate) fn first(&self, class: Class) -> &Half {
        &self.spans[class.index() % LISTS]
    }

    /// The units of all its spans, and of those of a class.
    pub(crate) fn units(&self, class: Class) -> (usize, usize) {
        let of_class = self.class_units[class.index() % LISTS].get();
        (self.units.get(), of_class as usize)
    }

    /// Counts a span in.
    pub(crate) fn count(&self, class: Class) {
        self.set_units(class, |all| all + class.units());
    }

    /// Counts a span out.
    pub(crate) fn discount(&self, class: Class) {
        self.set_units(class, |all| all - class.units());
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "an address has 48 bits, so less than 2^32"
    )]
    fn set_units(&self, class: Class, change: impl Fn(usize) -> usize) {
        let (all, of_class) = self.units(class);
        self.units.set(change(all));
        self.class_units[class.index() % LISTS].set(change(of_class) as u32);
    }

    /// The units of the first spans of all lists.
    pub(crate) fn lists(&self) -> impl Iterator<Item = &Half> {
        self.spans.iter()
    }
}
