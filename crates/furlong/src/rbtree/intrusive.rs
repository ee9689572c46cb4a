//! Nodes in the caller's own structs, linked by pointers.
#![expect(
    unsafe_code,
    reason = "a struct of the caller's is reached by its address"
)]

use core::cell::Cell;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::augment::Half;
use super::{Augment, Nodes, Place, Ranks, Side};

/// The part of a struct by which it hangs in a tree.
///
/// It is made of cells, so that a tree changes it while the struct is only shared.
pub struct Links<A: Augment> {
    children: [Cell<Option<NonNull<A::Item>>>; 2],
    parent: Cell<Option<NonNull<A::Item>>>,
    halves: Cell<Option<[Half<A>; 2]>>,
    ranks: Cell<Ranks>,
    side: Cell<Side>,
    linked: Cell<bool>,
}

impl<A: Augment> Links<A> {
    /// Of a struct that is in no tree.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            children: [const { Cell::new(None) }; 2],
            parent: Cell::new(None),
            halves: Cell::new(None),
            ranks: Cell::new(Ranks::SHORT),
            side: Cell::new(Side::Left),
            linked: Cell::new(false),
        }
    }

    /// Whether the struct is in a tree.
    pub fn is_linked(&self) -> bool {
        self.linked.get()
    }
}

impl<A: Augment> Default for Links<A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<A: Augment> fmt::Debug for Links<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Links")
            .field("linked", &self.linked)
            .finish_non_exhaustive()
    }
}

/// Says where in a struct its [`Links`] are: several trees can thread through one struct.
pub trait Linked: Augment + Sized {
    /// The links of `item` for this tree.
    fn links(item: &Self::Item) -> &Links<Self>;
}

/// Names a struct that hangs or may hang in a tree.
pub struct Pinned<T>(NonNull<T>);

impl<T> Pinned<T> {
    /// Names the struct at `item`.
    ///
    /// # Safety
    /// - For as long as this name or a copy of it is used, or the struct is in a tree, it stays at
    ///   this address, is not dropped, and is reached only through shared references.
    /// - All trees that it is in are used by one thread at a time.
    /// - Of the trees over the same [`Links`] of it, the name is given to none but the one that it
    ///   is in: another one would take it out, and the one that it is in go on to reach it.
    ///   Where assertions of debug builds are on, they find that.
    /// - It is in a tree until that tree has removed it, was cleared or is gone, whatever
    ///   [`is_linked`](Links::is_linked) says. After a tree that went with structs in it no name of
    ///   those is given to a tree again: their links lead to each other.
    /// - [`Linked::links`] names the same part of it each time.
    #[inline]
    pub const unsafe fn new(item: NonNull<T>) -> Self {
        Self(item)
    }

    /// The struct's address.
    #[inline]
    pub const fn as_ptr(self) -> NonNull<T> {
        self.0
    }

    /// The struct, for as long as the caller of [`new`](Self::new) has promised.
    #[inline(always)]
    const fn get<'a>(self) -> &'a T {
        // SAFETY: `new` has the promise that the struct is there, does not move and is only shared,
        // for as long as this name or a tree that got it from us is used.
        unsafe { self.0.as_ref() }
    }
}

impl<T> Clone for Pinned<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Pinned<T> {}

impl<T> PartialEq for Pinned<T> {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Eq for Pinned<T> {}

impl<T> Hash for Pinned<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<T> fmt::Debug for Pinned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.0, f)
    }
}

/// Nodes in the caller's own structs; the tree itself keeps nothing but the root.
///
/// # Example
/// ```
/// use core::ptr::NonNull;
/// use furlong::rbtree::{Augment, Intrusive, Linked, Links, Pinned, RbTree, Side};
///
/// struct Task {
///     deadline: u64,
///     links: Links<ByDeadline>,
/// }
///
/// struct ByDeadline;
///
/// impl Augment for ByDeadline {
///     type Item = Task;
///     type Key = u64;
///     type Half = ();
///     type Summary = ();
///
///     fn key(task: &Task) -> u64 {
///         task.deadline
///     }
///     fn empty(_: &Task, _: Side) {}
///     fn half(_: &Task, _: Side, (): &()) {}
///     fn join(_: &Task, (): &(), (): &()) {}
/// }
///
/// impl Linked for ByDeadline {
///     fn links(task: &Task) -> &Links<Self> {
///         &task.links
///     }
/// }
///
/// let tasks = [30, 10, 20].map(|deadline| Task { deadline, links: Links::new() });
/// let mut tree = RbTree::new(Intrusive::<ByDeadline>::new());
/// for task in &tasks {
///     // SAFETY: the tasks outlive the only tree, do not move, and are only shared.
///     let name = unsafe { Pinned::new(NonNull::from(task)) };
///     tree.insert(name).unwrap();
/// }
/// assert!(tree.iter().map(|at| tree.item(at).deadline).eq([10, 20, 30]));
/// tree.clear();
/// assert!(tasks.iter().all(|task| !task.links.is_linked()));
/// ```
///
/// # Threads
/// A tree of these is not `Send`: what is in it is reached from wherever that is. Where the structs
/// are `Sync`, and the tree and their links are used under one lock only, its owner may say so with
/// an `unsafe impl Send` for a struct of his around the tree, which then stands in a
/// [`Lock`](crate::sync::Lock), also a static one.
#[derive(Debug)]
pub struct Intrusive<A>(PhantomData<fn() -> A>);

impl<A: Linked> Intrusive<A> {
    /// Nodes of this kind.
    #[must_use]
    pub const fn new() -> Self {
        Self(PhantomData)
    }

    #[inline(always)]
    fn links<'a>(at: Pinned<A::Item>) -> &'a Links<A>
    where
        A: 'a,
    {
        A::links(at.get())
    }
}

impl<A: Linked> Default for Intrusive<A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<A: Linked> Nodes for Intrusive<A> {
    type Augment = A;
    type Ref = Pinned<A::Item>;
    type View<'a>
        = Self
    where
        Self: 'a;

    #[inline(always)]
    fn view(&mut self) -> Self {
        Self::new()
    }

    #[inline(always)]
    fn item(&self, at: Self::Ref) -> &A::Item {
        at.get()
    }

    #[inline(always)]
    fn child(&self, at: Self::Ref, side: Side) -> Option<Self::Ref> {
        Self::links(at).children[side.index()].get().map(Pinned)
    }

    #[inline(always)]
    fn set_child(&mut self, at: Self::Ref, side: Side, child: Option<Self::Ref>) {
        Self::links(at).children[side.index()].set(child.map(Pinned::as_ptr));
    }

    #[inline(always)]
    fn ranks(&self, at: Self::Ref) -> Ranks {
        Self::links(at).ranks.get()
    }

    #[inline(always)]
    fn set_ranks(&mut self, at: Self::Ref, ranks: Ranks) {
        Self::links(at).ranks.set(ranks);
    }

    #[inline(always)]
    fn place(&self, at: Self::Ref) -> Place<Self::Ref> {
        let links = Self::links(at);
        links
            .parent
            .get()
            .map(|parent| (Pinned(parent), links.side.get()))
    }

    #[inline(always)]
    fn set_place(&mut self, at: Self::Ref, place: Place<Self::Ref>) {
        let links = Self::links(at);
        links.parent.set(place.map(|(parent, _)| parent.as_ptr()));
        links.side.set(place.map_or(Side::Left, |(_, side)| side));
        links.linked.set(true);
    }

    #[inline(always)]
    fn is_linked(&self, at: Self::Ref) -> bool {
        Self::links(at).linked.get()
    }

    #[inline(always)]
    fn set_unlinked(&mut self, at: Self::Ref) {
        Self::links(at).linked.set(false);
    }

    #[inline(always)]
    fn half(&self, at: Self::Ref, side: Side) -> Half<A> {
        match Self::links(at).halves.get() {
            Some(halves) => halves[side.index()],
            None => A::empty(at.get(), side),
        }
    }

    #[inline(always)]
    fn set_half(&mut self, at: Self::Ref, side: Side, half: Half<A>) {
        let mut halves = Side::BOTH.map(|side| self.half(at, side));
        halves[side.index()] = half;
        Self::links(at).halves.set(Some(halves));
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use core::ptr::NonNull;

    use super::{Intrusive, Linked, Links, Pinned};
    use crate::rbtree::{Augment, RbTree, Side};

    struct Task(u64, Links<ById>);

    struct ById;

    impl Augment for ById {
        type Item = Task;
        type Key = u64;
        type Half = ();
        type Summary = ();

        fn key(task: &Task) -> u64 {
            task.0
        }
        fn empty(_: &Task, _: Side) {}
        fn half(_: &Task, _: Side, (): &()) {}
        fn join(_: &Task, (): &(), (): &()) {}
    }

    impl Linked for ById {
        fn links(task: &Task) -> &Links<Self> {
            &task.1
        }
    }

    type Tree = RbTree<Intrusive<ById>>;

    /// What becomes of a struct in one tree whose name is given to another.
    fn mixed_up(misdeed: fn(&mut Tree, Pinned<Task>)) {
        let tasks = [1, 2, 3].map(|id| Task(id, Links::new()));
        let [mut tree, mut other] = [(); 2].map(|()| Tree::new(Intrusive::new()));
        for task in &tasks {
            // SAFETY: the tasks outlive both trees, do not move, and are only shared. That a name
            // is given to the wrong tree is what has to be found out, before that follows it.
            let name = unsafe { Pinned::new(NonNull::from(task)) };
            tree.insert(name).expect("it is in no tree");
        }
        let root = tree.root().expect("it has three");
        misdeed(&mut other, root);
    }

    #[test]
    #[should_panic(expected = "the node is in another tree")]
    fn a_struct_is_not_removed_from_a_tree_that_it_is_not_in() {
        mixed_up(|other, name| assert!(other.remove(name).is_ok()));
    }

    #[test]
    #[should_panic(expected = "the node is in another tree")]
    fn a_struct_is_not_refreshed_in_a_tree_that_it_is_not_in() {
        mixed_up(|other, name| assert!(other.refresh(name).is_ok()));
    }

    #[test]
    #[should_panic(expected = "the node is in another tree")]
    fn nothing_is_linked_beside_a_struct_of_another_tree() {
        mixed_up(|other, name| {
            let task = Task(9, Links::new());
            // SAFETY: as above.
            let new = unsafe { Pinned::new(NonNull::from(&task)) };
            assert!(other.insert_before(Some(name), new).is_ok());
        });
    }
}
