//! A search tree of items by address. Each item has a number, its room. The lowest item with enough
//! room and the item at an address are found in O(log n).
//!
//! The links are inside the items, so the tree takes no memory.

use core::cell::Cell;
use core::ptr::NonNull;

use crate::phys::{Avl, HIGH, LOW};

/// The links of an item.
pub(super) struct Links<T> {
    /// Children: the one with lower addresses, and the one with higher ones.
    sides: [Cell<Option<NonNull<T>>>; 2],
    room: Cell<usize>,
    /// Summary: the largest room in the subtree of this item.
    most: Cell<usize>,
    height: Cell<u8>,
}

impl<T> Links<T> {
    /// Links of an item with this room, in no tree.
    pub(crate) const fn new(room: usize) -> Self {
        Self {
            sides: [const { Cell::new(None) }; 2],
            room: Cell::new(room),
            most: Cell::new(room),
            height: Cell::new(1),
        }
    }

    pub(crate) fn room(&self) -> usize {
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
    pub(crate) const fn new() -> Self {
        Self { root: None }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.root.is_none()
    }
}

impl<T: Placed> Avl for ByAddress<T> {
    type At = NonNull<T>;
    const HAS_SUMMARY: bool = true;

    fn side(&self, at: NonNull<T>, side: usize) -> Place<T> {
        self.at(at).links().sides[side].get()
    }

    fn height(&self, at: NonNull<T>) -> u8 {
        self.at(at).links().height.get()
    }

    fn set(&mut self, at: NonNull<T>, sides: [Place<T>; 2], height: u8) {
        let most = sides.map(|side| self.most(side));
        let links = self.at(at).links();
        links.sides[LOW].set(sides[LOW]);
        links.sides[HIGH].set(sides[HIGH]);
        links.most.set(most[LOW].max(most[HIGH]).max(links.room()));
        links.height.set(height);
    }

    fn is_after(&self, at: NonNull<T>, other: NonNull<T>) -> bool {
        at > other
    }
}

impl<T: Placed> ByAddress<T> {
    /// An item of the tree, or one that is about to be inserted.
    pub(crate) fn at(&self, at: NonNull<T>) -> &T {
        #[cfg(all(test, not(loom), feature = "alloc"))]
        tests::LOOKED_AT.set(tests::LOOKED_AT.get() + 1);
        // SAFETY: items in the tree are valid, as the caller of `insert` promised.
        unsafe { at.as_ref() }
    }

    fn most(&self, at: Place<T>) -> usize {
        at.map_or(0, |at| self.at(at).links().most.get())
    }

    /// Inserts an item.
    ///
    /// # Safety
    /// The item is in no tree. It stays in place until it is removed, and nobody makes a unique
    /// reference to its links before that.
    pub(crate) unsafe fn insert(&mut self, item: NonNull<T>) {
        self.root = Some(self.with(self.root, item));
    }

    /// Removes an item; does nothing if it is not in the tree.
    pub(crate) fn remove(&mut self, item: NonNull<T>) {
        self.root = self.without(self.root, item);
    }

    /// Sets the room of an item in the tree.
    pub(super) fn set_room(&mut self, item: NonNull<T>, room: usize) {
        self.at(item).links().room.set(room);
        if let Some(root) = self.root {
            self.refresh(root, item);
        }
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
    pub(crate) fn iter(&self) -> impl Iterator<Item = NonNull<T>> + use<'_, T> {
        let next = |at: &NonNull<T>| self.around(at.addr().get())[1];
        core::iter::successors(self.around(0)[1], next)
    }
}

#[cfg(all(test, not(loom), feature = "alloc"))]
pub(crate) mod tests {
    use core::cell::Cell;
    use core::ptr::NonNull;

    use super::{Avl, ByAddress, Links, Placed};

    std::thread_local! {
        /// The number of items that this thread has visited.
        pub(crate) static LOOKED_AT: Cell<u64> = const { Cell::new(0) };
    }

    struct Thing(Links<Thing>);

    impl Placed for Thing {
        fn links(&self) -> &Links<Self> {
            &self.0
        }
    }

    /// Asserts that a subtree is balanced and knows its height. Returns the height.
    fn assert_balanced(tree: &ByAddress<Thing>, at: Option<NonNull<Thing>>) -> u8 {
        let Some(at) = at else { return 0 };
        let [low, high] = [0, 1].map(|side| assert_balanced(tree, tree.side(at, side)));
        assert!(low.abs_diff(high) <= 1, "{low} and {high}");
        assert_eq!(tree.height(at), 1 + low.max(high));
        tree.height(at)
    }

    #[test]
    fn things_that_come_and_go_in_the_order_of_their_addresses_make_no_list() {
        let things: Vec<Thing> = (0..2000).map(|_| Thing(Links::new(1))).collect();
        let mut tree = ByAddress::new();
        for thing in &things {
            // SAFETY: the things outlive the tree.
            unsafe { tree.insert(NonNull::from(thing)) };
        }
        assert_balanced(&tree, tree.root);
        for thing in &things[..1000] {
            tree.remove(NonNull::from(thing));
        }
        assert_balanced(&tree, tree.root);
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
        assert_balanced(&tree, tree.root);
    }
}
