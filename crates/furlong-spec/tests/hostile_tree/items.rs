//! The items of the trees: an augmentation whose every function is user code and that can lie.
#![expect(
    unsafe_code,
    reason = "an intrusive tree names structs by their address"
)]

use std::cell::Cell;
use std::cmp::Ordering;
use std::ptr::NonNull;

use furlong::check::Check;
use furlong::rbtree::{
    Augment, Config, Counters, Intrusive, Linked, Links, Pinned, Propagation, RbTree, Side,
};
use furlong_spec::hostile::user_code;

thread_local! {
    /// The state of the generator of lies; 0 for none.
    static LIES: Cell<u64> = const { Cell::new(0) };
}

/// Makes about every third answer a lie from now on; `None` stops it.
pub(crate) fn lie(seed: Option<u64>) {
    LIES.set(seed.map_or(0, |seed| seed | 1));
}

/// Returns `honest`, or a lie.
fn answer(honest: u64) -> u64 {
    let state = LIES.get();
    if state == 0 {
        return honest;
    }
    let next = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(2);
    LIES.set(next | 1);
    if (next >> 33).is_multiple_of(3) {
        next >> 50
    } else {
        honest
    }
}

/// A key whose comparisons are user code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key(pub(crate) u64);

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        user_code("Key::eq");
        answer(self.0) == other.0
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        user_code("Key::cmp");
        answer(self.0).cmp(&other.0)
    }
}

/// The summary of a subtree: the number of items and their sum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known(u64, u64);

impl PartialEq for Known {
    fn eq(&self, other: &Self) -> bool {
        user_code("Known::eq");
        (answer(self.0), self.1) == (other.0, other.1)
    }
}

/// An item on the heap, so that AddressSanitizer sees every use after its end.
#[derive(Debug)]
pub(crate) struct Item {
    number: Box<u64>,
    links: Links<Sums>,
}

impl Item {
    pub(crate) fn new(number: u64) -> Self {
        Self {
            number: Box::new(number),
            links: Links::new(),
        }
    }

    pub(crate) fn number(&self) -> u64 {
        *self.number
    }
}

/// An augmentation that counts items and adds up their numbers.
#[derive(Debug)]
pub(crate) struct Sums;

impl Augment for Sums {
    type Item = Item;
    type Key = Key;
    type Halves = [Known; 2];
    type Summary = Known;

    fn key(item: &Item) -> Key {
        user_code("Augment::key");
        Key(answer(item.number()))
    }

    fn empty(_: &Item, _: Side) -> Known {
        user_code("Augment::empty");
        Known(answer(0), 0)
    }

    fn half(_: &Item, _: Side, below: &Known) -> Known {
        user_code("Augment::half");
        Known(answer(below.0), below.1)
    }

    fn join(item: &Item, _: Side, half: &Known, other: &Known) -> Known {
        user_code("Augment::join");
        let count = half.0.wrapping_add(other.0).wrapping_add(1);
        let sum = half.1.wrapping_add(other.1).wrapping_add(item.number());
        Known(answer(count), sum)
    }
}

// SAFETY: the links are a field of the item itself, and belong to this kind of tree alone.
unsafe impl Linked for Sums {
    fn links(item: &Item) -> &Links<Self> {
        &item.links
    }
}

/// Counters whose every call is user code.
#[derive(Debug, Default)]
pub(crate) struct Loud;

impl Counters for Loud {
    fn augmentation(&self) {
        user_code("Counters::augmentation");
    }
    fn rotation(&self) {
        user_code("Counters::rotation");
    }
    fn visit(&self) {
        user_code("Counters::visit");
    }
}

/// A configuration with these counters.
#[derive(Debug)]
pub(crate) struct With<P>(std::marker::PhantomData<P>);

impl<P: Propagation> Config for With<P> {
    type Propagation = P;
    type Counters = Loud;
}

/// A tree through the caller's structs, each in a separate allocation. A struct that the tree has
/// removed is freed at once, so that a stale link to it is detected.
pub(crate) struct Hanging<C: Config> {
    tree: RbTree<Intrusive<Sums>, C>,
    /// The items by number. An item that is not linked is freed.
    items: Vec<Option<Box<Item>>>,
}

impl<C: Config> Hanging<C> {
    pub(crate) fn new(places: usize) -> Self {
        Self {
            tree: RbTree::with_config(Intrusive::new()),
            items: (0..places).map(|_| None).collect(),
        }
    }

    fn name(item: &Item) -> Pinned<Item> {
        // SAFETY: the items are boxed, never moved and only shared. They are dropped after the tree
        // has removed them or is gone; `Hanging` exposes neither names nor the tree.
        unsafe { Pinned::new(NonNull::from(item)) }
    }

    /// Inserts the item with this number, or removes it if it is there.
    pub(crate) fn toggle(&mut self, number: usize) {
        match &self.items[number] {
            None => {
                let item: &Item = self.items[number].insert(Box::new(Item::new(number as u64)));
                let _ = self.tree.insert(Self::name(item));
            }
            Some(item) => {
                let _ = self.tree.remove(Self::name(item));
            }
        }
        self.sweep();
    }

    pub(crate) fn refresh(&mut self, number: usize) {
        if let Some(item) = &self.items[number] {
            let _ = self.tree.refresh(Self::name(item));
        }
    }

    /// Frees every item that is not linked, even after an attack.
    pub(crate) fn sweep(&mut self) {
        for place in &mut self.items {
            if place.as_ref().is_some_and(|item| !item.links.is_linked()) {
                *place = None;
            }
        }
    }

    /// Links an item before another one or as the last one, regardless of its key.
    pub(crate) fn misplace(&mut self, number: usize, before: Option<usize>) {
        if self.items[number].is_some() {
            return;
        }
        let item: &Item = self.items[number].insert(Box::new(Item::new(number as u64)));
        let name = Self::name(item);
        let beside = before.and_then(|at| self.items[at].as_deref());
        let beside = beside.filter(|item| item.links.is_linked());
        let _ = self.tree.insert_before(beside.map(Self::name), name);
        self.sweep();
    }

    pub(crate) fn clear(&mut self) {
        self.tree.clear();
        self.sweep();
    }

    pub(crate) fn recover(&mut self) {
        self.tree.recover();
    }

    /// The numbers in the tree, read from the structs, in order and in reverse.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        let read = |at| self.tree.item(at).number();
        let there: Vec<_> = self.tree.iter().map(read).collect();
        let mut back: Vec<_> = self.tree.iter().rev().map(read).collect();
        back.reverse();
        assert_eq!(there, back);
        let alive = self.items.iter().flatten().count();
        assert_eq!((there.len(), self.tree.len()), (alive, alive));
        there
    }

    pub(crate) fn check(&self) {
        if let Err(broken) = self.tree.check() {
            panic!("{broken}");
        }
    }

    pub(crate) fn look(&self, number: u64) {
        let _ = self.tree.find(Key(number));
        let _ = self.tree.upper_bound(Key(number));
        let _ = self.tree.summary();
    }
}

impl<C: Config> Drop for Hanging<C> {
    fn drop(&mut self) {
        // Clears the tree while its structs exist. It has no destructor that would follow links.
        self.tree.clear();
        self.sweep();
        assert!(self.items.iter().all(Option::is_none));
    }
}
