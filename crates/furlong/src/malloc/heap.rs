//! A heap: what one thread, or one processor, keeps for itself.
#![forbid(unsafe_code)]

use crate::sync::atomic::{AtomicU8, Ordering};

use super::{
    class::{CLASSES, Class},
    field::{Half, Link, Word},
    latch::Latch,
    span::Span,
    stack::Tops,
};

/// How many remote frees a heap collects before it sends them.
pub(crate) const OUTGOING: usize = 64;

/// How many freed blocks wait in a heap.
pub(crate) const WAITING: usize = 128;

/// What a heap is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Stands for none: the first call of a thread finds it.
    Vacant,
    /// Stands for none: the thread's heap has ended.
    Over,
    /// A thread's.
    Running,
    /// Nobody's, to be taken over.
    Ended,
}

const STATES: [State; 4] = [State::Vacant, State::Over, State::Running, State::Ended];

/// A heap. Never unmapped; a thread that begins takes over one that has ended.
///
/// Its thread alone uses `tops`, `outgoing` and `waiting`; its latch guards the rest and the spans
/// that it owns; anybody may push to `queue`.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Heap {
    pub(crate) tops: Tops,
    /// What free blocks carry in their first word; a secret of the process.
    pub(crate) mark: Word,
    /// Where its stacks begin.
    pub(crate) stacks: Word,
    pub(crate) latch: Latch,
    state: AtomicU8,
    /// The next one in the list of all heaps.
    pub(crate) next: Link<Self>,
    /// For random placement.
    pub(crate) random: Word,
    /// The spans that have something to give, by unit; 0 is none.
    pub(crate) spans: [Half; CLASSES],
    /// Blocks of others' that were freed here.
    pub(crate) outgoing: [Word; OUTGOING],
    pub(crate) outgoing_len: Word,
    /// Its own freed blocks that wait before they are free, where that is asked for; 0 is none.
    pub(crate) waiting: [Word; WAITING],
    pub(crate) queue: Line,
}

/// The spans in which others have freed blocks, in a cache line of its own.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) Link<Span>);

/// See [`Heap::vacant`]; a static of its own, so that thread-local storage may begin with it.
pub static VACANT: Heap = Heap::standing_for(State::Vacant);
static OVER: Heap = Heap::standing_for(State::Over);

impl Heap {
    const fn standing_for(state: State) -> Self {
        Self {
            tops: Tops::nothing(),
            mark: Word::new(0),
            stacks: Word::new(0),
            latch: Latch::new(),
            state: AtomicU8::new(state as u8),
            next: Link::none(),
            random: Word::new(0),
            spans: [const { Half::new(0) }; CLASSES],
            outgoing: [const { Word::new(0) }; OUTGOING],
            outgoing_len: Word::new(0),
            waiting: [const { Word::new(0) }; WAITING],
            queue: Line(Link::none()),
        }
    }

    /// What stands for a heap where there is none yet.
    #[must_use]
    pub const fn vacant() -> &'static Self {
        &VACANT
    }

    /// What stands for a heap that has ended.
    #[must_use]
    pub const fn over() -> &'static Self {
        &OVER
    }

    pub(crate) fn state(&self) -> State {
        STATES[usize::from(self.state.load(Ordering::SeqCst)) % STATES.len()]
    }

    pub(crate) fn set_state(&self, state: State) {
        self.state.store(state as u8, Ordering::SeqCst);
    }

    /// Whether it can be asked for blocks.
    pub(crate) fn is_running(&self) -> bool {
        self.state() == State::Running
    }

    /// Puts a freed block in a random place among those that wait; returns the one that was there.
    pub(crate) fn delay(&self, block: usize) -> usize {
        let place = &self.waiting[self.next_random() % WAITING];
        let out = place.get();
        place.set(block);
        out
    }

    /// A number that depends on the heap's secret.
    pub(crate) fn next_random(&self) -> usize {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        x
    }

    /// The unit of the first span of a class that has something to give.
    pub(crate) fn first(&self, class: Class) -> &Half {
        &self.spans[class.index()]
    }
}
