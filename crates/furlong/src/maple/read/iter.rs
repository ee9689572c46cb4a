//! Iteration over entries in order.

use core::marker::PhantomData;

use crate::addr::{Address, Extent};
use crate::forms::debug_as;
use crate::maple::{Config, Entry, Leaf, Maple, Ptr, Slot, Spot, Tree, Typed, Unique, Words};

/// The slots from one index to another, in order.
pub(super) struct Scan<'a, C: Config> {
    leaf: Option<Ptr<'a, Leaf<C::Geometry>>>,
    /// The next slot of the leaf, and the number of slots in use.
    at: usize,
    len: usize,
    /// Every slot returned so far ends before `from`. No slot that starts behind `last` is
    /// returned.
    from: u64,
    last: u64,
    spot: Spot<'a, C::Geometry>,
    count: &'a C::Counters,
}

impl<'a, C: Config> Scan<'a, C> {
    #[inline]
    pub(crate) fn new(
        tree: &'a Tree<C::Geometry>,
        count: &'a C::Counters,
        from: u64,
        last: u64,
    ) -> Self {
        let mut scan = Self {
            leaf: None,
            at: 0,
            len: 0,
            from,
            last,
            spot: Spot::new(),
            count,
        };
        if tree.descend_to(from, &mut scan.spot, count) {
            let leaf = scan.spot.leaf();
            (scan.leaf, scan.at, scan.len) = (Some(leaf), leaf.rank(from), leaf.len());
        }
        scan
    }

    /// Moves to the next leaf.
    #[inline(never)]
    fn turn(&mut self) -> Option<Ptr<'a, Leaf<C::Geometry>>> {
        let more = self.leaf.is_some() && self.spot.next_leaf(self.count);
        self.leaf = more.then(|| self.spot.leaf());
        self.at = 0;
        self.len = self.leaf.map_or(0, |leaf| leaf.len());
        self.leaf
    }
}

impl<C: Config> Iterator for Scan<'_, C> {
    type Item = Slot;

    #[inline]
    fn next(&mut self) -> Option<Slot> {
        let mut leaf = self.leaf?;
        loop {
            while self.at < self.len {
                let slot = leaf.read(self.at);
                self.at += 1;
                let Some(slot) = slot else { continue };
                if slot.start > self.last {
                    self.leaf = None;
                    return None;
                }
                // Beside a writer, a leaf may show an older state than the leaf before it.
                if slot.last >= self.from {
                    match slot.last.checked_add(1) {
                        Some(from) => self.from = from,
                        None => self.leaf = None,
                    }
                    return Some(slot);
                }
            }
            leaf = self.turn()?;
        }
    }
}

impl<C: Config> Scan<'_, C> {
    /// As [`Iterator::fold`], a leaf at a time.
    #[inline]
    fn fold_slots<B>(mut self, init: B, mut f: impl FnMut(B, Slot) -> B) -> B {
        let mut all = init;
        let (mut from, last) = (self.from, self.last);
        while let Some(leaf) = self.leaf {
            for at in self.at..self.len {
                let Some(slot) = leaf.read(at) else { continue };
                if slot.start > last {
                    return all;
                }
                if slot.last >= from {
                    all = f(all, slot);
                    match slot.last.checked_add(1) {
                        Some(next) => from = next,
                        None => return all,
                    }
                }
            }
            self.turn();
        }
        all
    }
}

/// The slots from one index back to another, the last one first.
pub(super) struct ScanBack<'a, C: Config> {
    count: &'a C::Counters,
    spot: Option<Spot<'a, C::Geometry>>,
    /// The slots of the leaf before this one are still to come.
    at: usize,
    start: u64,
    upto: u64,
}

impl<'a, C: Config> ScanBack<'a, C> {
    /// Entries that start at `upto` or before, and do not end before `start`.
    pub(crate) fn new(
        tree: &'a Tree<C::Geometry>,
        count: &'a C::Counters,
        start: u64,
        upto: u64,
    ) -> Self {
        let spot = tree.descend(upto, count);
        let at = spot.as_ref().map_or(0, |spot| {
            let at = spot.leaf().rank(upto);
            spot.leaf().len().min(at + 1)
        });
        Self {
            count,
            spot,
            at,
            start,
            upto,
        }
    }
}

impl<C: Config> Iterator for ScanBack<'_, C> {
    type Item = Slot;

    fn next(&mut self) -> Option<Slot> {
        let spot = self.spot.as_mut()?;
        loop {
            while self.at > 0 {
                self.at -= 1;
                let Some(slot) = spot.leaf().read(self.at) else {
                    continue;
                };
                if slot.start > self.upto {
                    continue;
                }
                if slot.last < self.start {
                    self.spot = None;
                    return None;
                }
                match slot.start.checked_sub(1) {
                    Some(before) => self.upto = before,
                    None => self.spot = None,
                }
                return Some(slot);
            }
            if !spot.previous_leaf(self.count) {
                self.spot = None;
                return None;
            }
            self.at = spot.leaf().len();
        }
    }
}

/// Entries with their extents, in order.
pub struct Iter<'a, A: Address, E: Entry, C: Config> {
    pub(super) scan: Scan<'a, C>,
    pub(crate) typed: Typed<A, E>,
}

impl<'a, A: Address, E: Entry + 'a, C: Config> Iterator for Iter<'a, A, E, C> {
    type Item = (Extent<A>, E::Ref<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.scan.next().map(Words::<A, E>::lend)
    }

    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, f: F) -> B {
        let mut f = f;
        self.scan
            .fold_slots(init, |all, slot| f(all, Words::<A, E>::lend(slot)))
    }
}

debug_as! { Iter<'_, A, E, C> where [A: Address, E: Entry, C: Config]: Iter { .. } }

/// Values with their extents, in order, to be changed in place.
pub struct IterMut<'a, A: Address, E: Unique, C: Config> {
    scan: Scan<'a, C>,
    /// The tree, whose owner is borrowed.
    typed: PhantomData<(Typed<A, E>, &'a mut E::Value)>,
}

impl<'a, A: Address, E: Unique, C: Config> IterMut<'a, A, E, C> {
    /// The values in `window` of a map that is borrowed for `'a`.
    pub(crate) fn new(map: &'a mut Maple<A, E, C>, window: Extent<A>) -> Self {
        let (from, last) = (window.start().raw(), window.last().raw());
        Self {
            scan: Scan::new(&map.tree, &map.count, from, last),
            typed: PhantomData,
        }
    }
}

impl<'a, A: Address, E: Unique + 'a, C: Config> Iterator for IterMut<'a, A, E, C> {
    type Item = (Extent<A>, &'a mut E::Value);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.scan.next().map(Words::<A, E>::lend_mut)
    }
}

debug_as! { IterMut<'_, A, E, C> where [A: Address, E: Unique, C: Config]: IterMut { .. } }

/// Entries with their extents, the last one first.
pub struct IterBack<'a, A: Address, E: Entry, C: Config> {
    pub(super) scan: ScanBack<'a, C>,
    pub(crate) typed: Typed<A, E>,
}

impl<'a, A: Address, E: Entry + 'a, C: Config> Iterator for IterBack<'a, A, E, C> {
    type Item = (Extent<A>, E::Ref<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.scan.next().map(Words::<A, E>::lend)
    }
}

debug_as! { IterBack<'_, A, E, C> where [A: Address, E: Entry, C: Config]: IterBack { .. } }
