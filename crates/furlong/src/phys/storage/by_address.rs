//! A search tree of items by address. Each item has a number, its room. The lowest item with enough
//! room and the item at an address are found in O(log n).
//!
//! The tree is a treap whose links are inside the items, so it takes no memory. An item's priority
//! is a hash of its address; O(log n) is therefore an average.

use core::cell::Cell;
use core::ptr::NonNull;

/// The links of an item.
pub(super) struct Links<T> {
    /// Children: the one with lower addresses, and the one with higher ones.
    sides: [Cell<Option<NonNull<T>>>; 2],
    room: Cell<usize>,
    /// Summary: the largest room in the subtree of this item.
    most: Cell<usize>,
}

const LOW: usize = 0;
const HIGH: usize = 1;

impl<T> Links<T> {
    /// Links of an item with this room, in no tree.
    pub(in crate::phys) const fn new(room: usize) -> Self {
        Self {
            sides: [const { Cell::new(None) }; 2],
            room: Cell::new(room),
            most: Cell::new(room),
        }
    }

    pub(in crate::phys) fn room(&self) -> usize {
        self.room.get()
    }
}

/// An item with links.
pub(super) trait Placed: Sized {
    fn links(&self) -> &Links<Self>;
}

type Place<T> = Option<NonNull<T>>;

/// The tree. It does not own its items.
pub(super) struct ByAddress<T> {
    root: Place<T>,
}

impl<T> ByAddress<T> {
    pub(in crate::phys) const fn new() -> Self {
        Self { root: None }
    }

    pub(in crate::phys) fn is_empty(&self) -> bool {
        self.root.is_none()
    }
}

fn priority<T>(at: NonNull<T>) -> u64 {
    let mixed = (at.addr().get() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

impl<T: Placed> ByAddress<T> {
    /// An item of the tree, or one that is about to be inserted.
    pub(in crate::phys) fn at(&self, at: NonNull<T>) -> &T {
        #[cfg(all(test, not(loom), feature = "alloc"))]
        tests::LOOKED_AT.set(tests::LOOKED_AT.get() + 1);
        // SAFETY: items in the tree are valid, as the caller of `insert` promised.
        unsafe { at.as_ref() }
    }

    fn most(&self, at: Place<T>) -> usize {
        at.map_or(0, |at| self.at(at).links().most.get())
    }

    fn side(&self, at: NonNull<T>, side: usize) -> Place<T> {
        self.at(at).links().sides[side].get()
    }

    /// Sets a child of `at` and updates its summary.
    fn set_side(&self, at: NonNull<T>, side: usize, below: Place<T>) {
        let links = self.at(at).links();
        links.sides[side].set(below);
        let sides = [LOW, HIGH].map(|side| self.most(links.sides[side].get()));
        links
            .most
            .set(sides[LOW].max(sides[HIGH]).max(links.room()));
    }

    /// Inserts an item.
    ///
    /// # Safety
    /// The item is in no tree. It stays in place until it is removed, and nobody makes a unique
    /// reference to its links before that.
    pub(in crate::phys) unsafe fn insert(&mut self, thing: NonNull<T>) {
        self.set_side(thing, LOW, None);
        self.set_side(thing, HIGH, None);
        self.root = Some(self.inserted(self.root, thing));
    }

    fn inserted(&self, top: Place<T>, thing: NonNull<T>) -> NonNull<T> {
        let Some(top) = top else { return thing };
        if priority(thing) > priority(top) {
            let (low, high) = self.split(Some(top), thing);
            self.set_side(thing, LOW, low);
            self.set_side(thing, HIGH, high);
            return thing;
        }
        let side = usize::from(thing > top);
        let below = self.inserted(self.side(top, side), thing);
        self.set_side(top, side, Some(below));
        top
    }

    /// Splits a subtree into the items below an address and those at or above it.
    fn split(&self, top: Place<T>, by: NonNull<T>) -> (Place<T>, Place<T>) {
        let Some(top) = top else { return (None, None) };
        if top < by {
            let (low, high) = self.split(self.side(top, HIGH), by);
            self.set_side(top, HIGH, low);
            (Some(top), high)
        } else {
            let (low, high) = self.split(self.side(top, LOW), by);
            self.set_side(top, LOW, high);
            (low, Some(top))
        }
    }

    /// Merges two trees; all items of `low` are below those of `high`.
    fn join(&self, low: Place<T>, high: Place<T>) -> Place<T> {
        let (Some(under), Some(over)) = (low, high) else {
            return low.or(high);
        };
        if priority(under) > priority(over) {
            let rest = self.join(self.side(under, HIGH), high);
            self.set_side(under, HIGH, rest);
            low
        } else {
            let rest = self.join(low, self.side(over, LOW));
            self.set_side(over, LOW, rest);
            high
        }
    }

    /// Removes an item; does nothing if it is not in the tree.
    pub(in crate::phys) fn remove(&mut self, thing: NonNull<T>) {
        self.root = self.changed(self.root, thing, &|at| {
            self.join(self.side(at, LOW), self.side(at, HIGH))
        });
    }

    /// Sets the room of an item in the tree.
    pub(super) fn set_room(&mut self, thing: NonNull<T>, room: usize) {
        self.root = self.changed(self.root, thing, &|at| {
            self.at(at).links().room.set(room);
            self.set_side(at, LOW, self.side(at, LOW));
            Some(at)
        });
    }

    /// The subtree of `top` with `thing` replaced by the result of `change`.
    fn changed(
        &self,
        top: Place<T>,
        thing: NonNull<T>,
        change: &dyn Fn(NonNull<T>) -> Place<T>,
    ) -> Place<T> {
        let top = top?;
        if top == thing {
            return change(top);
        }
        let side = usize::from(thing > top);
        let below = self.changed(self.side(top, side), thing, change);
        self.set_side(top, side, below);
        Some(top)
    }

    /// The largest room of all items.
    pub(super) fn most_room(&self) -> usize {
        self.most(self.root)
    }

    /// The lowest item with at least `room`. Items without room are never found.
    pub(super) fn with_room(&self, room: usize) -> Place<T> {
        let room = room.max(1);
        let mut next = self.root.filter(|root| self.most(Some(*root)) >= room);
        while let Some(at) = next {
            let low = self.side(at, LOW);
            if self.most(low) >= room {
                next = low;
            } else if self.at(at).links().room() >= room {
                return Some(at);
            } else {
                next = self.side(at, HIGH);
            }
        }
        None
    }

    /// The last item at or below an address, and the first one above it.
    pub(super) fn around(&self, addr: usize) -> [Place<T>; 2] {
        let (mut found, mut next) = ([None, None], self.root);
        while let Some(at) = next {
            let is_above = usize::from(at.addr().get() > addr);
            found[is_above] = Some(at);
            next = self.side(at, 1 - is_above);
        }
        found
    }

    /// All items, in ascending order of their addresses.
    pub(in crate::phys) fn iter(&self) -> impl Iterator<Item = NonNull<T>> + use<'_, T> {
        let next = |at: &NonNull<T>| self.around(at.addr().get())[1];
        core::iter::successors(self.around(0)[1], next)
    }
}

#[cfg(all(test, not(loom), feature = "alloc"))]
pub(in crate::phys) mod tests {
    use core::cell::Cell;
    use core::ptr::NonNull;

    use super::{ByAddress, Links, Placed, priority};

    std::thread_local! {
        /// The number of items that this thread has visited.
        pub(in crate::phys) static LOOKED_AT: Cell<u64> = const { Cell::new(0) };
    }

    struct Thing(Links<Thing>);

    impl Placed for Thing {
        fn links(&self) -> &Links<Self> {
            &self.0
        }
    }

    /// The depth of a subtree.
    fn depth(tree: &ByAddress<Thing>, at: Option<NonNull<Thing>>) -> usize {
        at.map_or(0, |at| {
            let deeper = [0, 1].map(|side| depth(tree, tree.side(at, side)));
            1 + deeper[0].max(deeper[1])
        })
    }

    /// Asserts the heap order, which keeps the tree shallow: no item has a lower priority than its
    /// children.
    fn assert_heap(tree: &ByAddress<Thing>, at: Option<NonNull<Thing>>) {
        let Some(at) = at else { return };
        for below in [0, 1].map(|side| tree.side(at, side)) {
            assert!(below.is_none_or(|below| priority(below) <= priority(at)));
            assert_heap(tree, below);
        }
    }

    #[test]
    fn things_that_come_and_go_in_the_order_of_their_addresses_make_no_list() {
        let things: Vec<Thing> = (0..2000).map(|_| Thing(Links::new(1))).collect();
        let mut tree = ByAddress::new();
        for thing in &things {
            // SAFETY: the things outlive the tree.
            unsafe { tree.insert(NonNull::from(thing)) };
        }
        assert_heap(&tree, tree.root);
        for thing in &things[..1000] {
            tree.remove(NonNull::from(thing));
        }
        assert_heap(&tree, tree.root);
        assert!(depth(&tree, tree.root) <= 40);
        assert!(tree.iter().eq(things[1000..].iter().map(NonNull::from)));
    }

    #[test]
    fn things_are_found_by_address_and_by_room_whatever_came_and_went() {
        let things: Vec<Thing> = (0..2000).map(|_| Thing(Links::new(0))).collect();
        let place = |at: usize| NonNull::from(&things[at]);
        let mut tree = ByAddress::new();
        let mut model = std::collections::BTreeMap::new();
        let mut number = 1_u64;
        for step in 0..40_000 {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let at = (number >> 33) as usize % things.len();
            let room = (number >> 50) as usize % 100;
            if model.insert(at, room).is_none() {
                // SAFETY: the things outlive the tree.
                unsafe { tree.insert(place(at)) };
            }
            tree.set_room(place(at), room);
            if step % 3 == 0 {
                model.remove(&at);
                tree.remove(place(at));
            }
            let wanted = 1 + step % 110;
            let lowest = model.iter().find(|(_, room)| **room >= wanted);
            assert_eq!(tree.with_room(wanted), lowest.map(|(at, _)| place(*at)));
            let found = tree.around(place(at).addr().get());
            let below = model.range(..=at).next_back();
            let above = model.range(at + 1..).next();
            assert_eq!(found, [below, above].map(|it| it.map(|(at, _)| place(*at))));
        }
        assert!(tree.iter().eq(model.keys().map(|at| place(*at))));
        assert_eq!(tree.most_room(), *model.values().max().unwrap());
        assert_heap(&tree, tree.root);
        let depth = depth(&tree, tree.root);
        assert!(depth <= 40, "{depth} for {}", model.len());
    }
}
