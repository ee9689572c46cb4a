//! A heap: what one thread, or one processor, keeps for itself.
#![forbid(unsafe_code)]

use crate::sync::{
    atomic::{AtomicU8, Ordering},
    const_unless_loom,
};

#[cfg(not(loom))]
use super::own::Own;
use super::{
    class::{CLASSES, Class},
    field::{Byte, Half, Link},
    latch::Latch,
    span::Span,
};

/// The lists of a heap: one a class; under loom one for all.
const LISTS: usize = if cfg!(loom) { 1 } else { CLASSES };

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
/// Its thread alone uses `own`; its latch guards the rest and the spans that it owns; anybody may
/// push to `queue`.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Heap {
    #[cfg(not(loom))]
    pub(crate) own: Own,
    pub(crate) latch: Latch,
    state: AtomicU8,
    /// The next one in the list of all heaps.
    pub(crate) next: Link<Self>,
    /// Whether it is no thread's but a zone's: see [`Zone`](super::Zone).
    pub(crate) zone: Byte,
    /// The next one of the heaps that were zones'.
    pub(crate) spare: Link<Self>,
    /// The spans that have something to give, by unit; 0 is none.
    spans: [Half; LISTS],
    pub(crate) queue: Line,
}

/// The spans in which others have freed blocks, in a cache line of its own.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) Link<Span>);

/// See [`Heap::vacant`]; a static of its own, so that thread-local storage may begin with it.
#[cfg(not(loom))]
pub static VACANT: Heap = Heap::standing_for(State::Vacant);
#[cfg(not(loom))]
static OVER: Heap = Heap::standing_for(State::Over);

#[cfg(not(loom))]
impl Heap {
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
}

impl Heap {
    const_unless_loom! {
        pub(crate) const fn standing_for(state: State) -> Self {
            Self {
                #[cfg(not(loom))]
                own: Own::nothing(),
                latch: Latch::new(),
                state: AtomicU8::new(state as u8),
                next: Link::none(),
                zone: Byte::new(0),
                spare: Link::none(),
                #[cfg(not(loom))]
                spans: [const { Half::new(0) }; LISTS],
                #[cfg(loom)]
                spans: [Half::new(0)],
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

    /// Whether it can be asked for blocks.
    pub(crate) fn is_running(&self) -> bool {
        self.state.load(Ordering::SeqCst) == State::Running as u8
    }

    /// The unit of the first span of a class that has something to give.
    pub(crate) fn first(&self, class: Class) -> &Half {
        &self.spans[class.index() % LISTS]
    }
}
