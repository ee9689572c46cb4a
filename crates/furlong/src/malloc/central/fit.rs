//! The arenas as a search tree in order of creation, in which each knows the longest run of free
//! units below it. So the first arena with room is found in O(log arenas), and small processes have
//! no more to do than to look at one.
//!
//! It is a treap: a heap by a hash of the arena's address, so that it is balanced by chance.
//!
//! # Source
//! Seidel and Aragon, "Randomized search trees", Algorithmica 1996.
#![forbid(unsafe_code)]

use crate::malloc::{Arena, Link};
use crate::sync::record;

use super::super::runs::longest;

/// The place of an arena in the tree.
#[derive(Debug)]
pub(crate) struct Branch {
    above: Link<Arena>,
    /// The subtrees of older and of newer arenas.
    below: [Link<Arena>; 2],
}

record! {
    /// The tree. It belongs to the pool, under its latch.
    #[derive(Debug)]
    pub(crate) struct Fit {
        root: Link<Arena> = Link::none(),
    }
    pub(crate) const fn new;
}

/// The order of the heap.
fn rank(arena: &Arena) -> usize {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    (arena.base.get() >> 22).wrapping_mul(GOLDEN as usize)
}

fn most(arena: Option<&'static Arena>) -> u8 {
    arena.map_or(0, |arena| arena.most.get())
}

impl Fit {
    /// The first arena with a run of so many free units.
    pub(crate) fn first(&'static self, len: usize) -> Option<&'static Arena> {
        let has = |arena: Option<&'static Arena>| usize::from(most(arena)) >= len;
        let mut at = self.root.get().filter(|root| has(Some(root)))?;
        loop {
            let [older, newer] = &at.branch.below;
            match older.get() {
                Some(older) if has(Some(older)) => at = older,
                _ if usize::from(at.longest.get()) >= len => return Some(at),
                _ => at = newer.get()?,
            }
        }
    }

    /// Adds an arena, which is newer than all others.
    pub(crate) fn append(&'static self, arena: &'static Arena) {
        let last = core::iter::successors(self.root.get(), |at| at.branch.below[1].get()).last();
        for below in &arena.branch.below {
            below.set(None);
        }
        arena.branch.above.set(last);
        match last {
            Some(last) => last.branch.below[1].set(Some(arena)),
            None => self.root.set(Some(arena)),
        }
        self.changed(arena);
        while let Some(above) = arena.branch.above.get()
            && rank(arena) > rank(above)
        {
            self.rotate(arena, above);
        }
    }

    /// Removes an arena.
    pub(crate) fn remove(&'static self, arena: &'static Arena) {
        let [older, newer] = &arena.branch.below;
        let above = loop {
            let below = match (older.get(), newer.get()) {
                (Some(older), Some(newer)) if rank(older) < rank(newer) => newer,
                (Some(one), _) | (None, Some(one)) => one,
                (None, None) => break arena.branch.above.get(),
            };
            self.rotate(below, arena);
        };
        self.link_to(arena, above).set(None);
        Self::count_up(above);
    }

    /// Corrects the tree after the free units of an arena have changed.
    pub(crate) fn changed(&'static self, arena: &'static Arena) {
        #[expect(clippy::cast_possible_truncation, reason = "at most 64")]
        arena.longest.set(longest(arena.free.get()) as u8);
        Self::count_up(Some(arena));
    }

    /// Computes the longest runs from an arena up, until one has not changed.
    fn count_up(mut at: Option<&'static Arena>) {
        while let Some(here) = at
            && Self::count(here)
        {
            at = here.branch.above.get();
        }
    }

    /// Computes the longest run below an arena. `false` if it is the same as before.
    fn count(arena: &'static Arena) -> bool {
        let below = arena.branch.below.each_ref().map(|below| most(below.get()));
        let now = below[0].max(below[1]).max(arena.longest.get());
        let before = arena.most.get();
        arena.most.set(now);
        now != before
    }

    /// The link that leads to an arena below `above`, or below nothing.
    fn link_to(
        &'static self,
        arena: &'static Arena,
        above: Option<&'static Arena>,
    ) -> &'static Link<Arena> {
        let Some(above) = above else {
            return &self.root;
        };
        let [older, newer] = &above.branch.below;
        if older.is(arena) { older } else { newer }
    }

    /// Puts an arena, which is below `above`, above it.
    fn rotate(&'static self, arena: &'static Arena, above: &'static Arena) {
        let top = above.branch.above.get();
        let side = usize::from(above.branch.below[1].is(arena));
        self.link_to(above, top).set(Some(arena));
        arena.branch.above.set(top);
        let inner = arena.branch.below[1 - side].get();
        above.branch.below[side].set(inner);
        if let Some(inner) = inner {
            inner.branch.above.set(Some(above));
        }
        arena.branch.below[1 - side].set(Some(above));
        above.branch.above.set(Some(arena));
        Self::count(above);
        Self::count(arena);
    }
}
