//! The thread that changes the space without a pause, and records each state in advance.

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;

use furlong::addr::Address;
use furlong::rcu::{Domain, Rcu};
use furlong::vmspace::{
    Access, At, Config, Custom, Errno, Flags, Freed, Hold, Prot, Rbtree, Remap, RemapFlags,
    Request, SharedConfig, Space, Value,
};

use super::history::{History, TOUCHED, Touched};
use super::page::{PAGE, PAGES, Word, address, words};
use super::{LAYOUT, Raced};
use crate::Random;
use crate::counts::counts;
use crate::race::Twin;

counts! {
    /// The counts of the writer's changes.
    pub struct Changes {
        /// Mappings made.
        mapped: "maps",
        /// Ranges unmapped.
        unmapped: "unmaps",
        /// Protections changed.
        protected: "protections",
        /// Areas, or parts of one, moved.
        moved: "moves",
        /// Stacks grown.
        grown: "stacks grown",
    }
}

/// A change.
#[derive(Clone, Copy, Debug)]
enum Change {
    Map(usize, usize, Prot, u64, Flags),
    Unmap(usize, usize),
    Protect(usize, usize, Prot),
    Move(usize, usize, usize),
    Grow(usize),
}

/// The writer. It learns the next state from a space of its own with the other index.
pub(super) struct Writer<'a, C: SharedConfig> {
    pub(super) space: &'a Raced<C>,
    pub(super) domain: &'a Arc<Domain>,
    pub(super) history: &'a History,
    pub(super) random: Random,
}

type Mirror = Space<u64, Custom<Rbtree>>;

impl<C: SharedConfig> Writer<'_, C> {
    /// Changes the space until it is told to stop.
    ///
    /// # Errors
    /// The first operation whose outcomes differ between the two spaces.
    pub(super) fn run(mut self, over: &AtomicBool) -> Result<Changes, String> {
        let mut mirror = Mirror::with_config(LAYOUT).expect("the layout makes sense");
        let mut changes = Changes::default();
        let mut before = [Word::NONE; PAGES];
        while !over.load(Ordering::SeqCst) {
            let change = self.draw();
            let expected = change.apply_to(&mut mirror, |number| number, drop);
            let after = words(&mirror, |number| *number);
            self.history.begin(&after, &change.touched(&before, &after));
            let mut freed = Vec::new();
            let found = {
                let mut space = self.space.lock();
                change.apply_to(&mut space, Twin::new, |piece| freed.push(piece))
            };
            self.history.0.span.settle();
            drop(freed);
            if found != expected {
                return Err(format!("{change:?} gave {found:?}, the tree {expected:?}"));
            }
            if found.is_ok() && before != after {
                changes.count(change);
            }
            before = after;
            self.domain.poll(usize::MAX);
            if self.random.below(64) == 0 {
                // Lets a reader run if it needs this core.
                thread::yield_now();
            }
        }
        Ok(changes)
    }

    fn draw(&mut self) -> Change {
        let first = self.random.index(PAGES);
        let len = 1 + self.random.index(9.min(PAGES - first));
        let prot = Prot::from_bits(self.random.below(8) as u32);
        match self.random.below(16) {
            0..6 => Change::Map(first, len, prot, 1 + self.random.below(3), Flags::NONE),
            6 => Change::Map(first, len, prot, 4, Flags::GROWS_DOWN),
            7..10 => Change::Unmap(first, len),
            10..13 => Change::Protect(first, len, prot),
            13..15 => {
                let to = self.random.index(PAGES - len + 1);
                Change::Move(first, len, to)
            }
            _ => Change::Grow(first),
        }
    }
}

impl Changes {
    fn count(&mut self, change: Change) {
        match change {
            Change::Map(..) => self.mapped += 1,
            Change::Unmap(..) => self.unmapped += 1,
            Change::Protect(..) => self.protected += 1,
            Change::Move(..) => self.moved += 1,
            Change::Grow(..) => self.grown += 1,
        }
    }
}

impl Change {
    /// Applies the change. Objects are mapped at offsets equal to their addresses.
    fn apply_to<A: Value, C: Config, H: Hold>(
        self,
        space: &mut Space<A, C, H>,
        value: impl Fn(u64) -> A,
        freed: impl FnMut(Freed<A>),
    ) -> Result<(), Errno> {
        let bytes = |pages: usize| pages as u64 * PAGE;
        match self {
            Self::Map(first, len, prot, object, flags) => {
                let start = address(first);
                let offset = start.raw();
                let stack = flags.contains(Flags::GROWS_DOWN);
                let request = Request {
                    offset: (!stack).then_some(offset),
                    flags,
                    ..Request::anonymous(bytes(len), prot, value(object)).at(At::Fixed(start))
                };
                Ok(space.map(request, freed).map(drop)?)
            }
            Self::Unmap(first, len) => Ok(space.unmap(address(first), bytes(len), freed)?),
            Self::Protect(first, len, prot) => {
                Ok(space.protect(address(first), bytes(len), prot, freed)?)
            }
            Self::Move(first, len, to) => {
                let remap = Remap {
                    start: address(first),
                    old_len: bytes(len),
                    new_len: bytes(len),
                    flags: RemapFlags::MAY_MOVE | RemapFlags::FIXED,
                    new_start: address(to),
                };
                Ok(space.remap(&remap, freed).map(drop)?)
            }
            Self::Grow(page) => Ok(space.fault(address(page), Access::Write).map(drop)?),
        }
    }

    /// The pages that the change may touch: its own, and those of all areas that contain or adjoin
    /// them, before and after the change.
    /// after.
    fn touched(self, before: &[Word; PAGES], after: &[Word; PAGES]) -> [Option<Touched>; TOUCHED] {
        let (from, to) = match self {
            Self::Map(first, len, ..) | Self::Unmap(first, len) | Self::Protect(first, len, _) => {
                ((first, first + len - 1), None)
            }
            Self::Move(first, len, to) => ((first, first + len - 1), Some((to, to + len - 1))),
            Self::Grow(page) => ((page, page), None),
        };
        let widened = |(first, last): Touched| {
            let beside = first.saturating_sub(1)..=(last + 1).min(PAGES - 1);
            let words = beside.flat_map(|page| [before[page], after[page]]);
            words
                .filter_map(Word::extent)
                .fold((first, last), |all, area| {
                    (all.0.min(area.0), all.1.max(area.1))
                })
        };
        [Some(widened(from)), to.map(widened)]
    }
}
