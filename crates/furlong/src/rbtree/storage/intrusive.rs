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

use super::nodes::{Internal, Sealed};
use crate::forms::{copies, debug_as, default_is_new};
use crate::rbtree::{Augment, Half, Nodes, Pair, Place, Ranks, Side};

/// The links of one tree inside a struct.
///
/// They are cells, so that a tree changes them while the struct is only shared.
pub struct Links<A: Augment> {
    children: [Cell<Option<NonNull<A::Item>>>; 2],
    parent: Cell<Option<NonNull<A::Item>>>,
    halves: Cell<Option<A::Halves>>,
    ranks: Cell<Ranks>,
    side: Cell<Side>,
    linked: Cell<bool>,
}

impl<A: Augment> Links<A> {
    /// Links of a struct in no tree.
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

    /// Returns true if the struct is in a tree.
    pub fn is_linked(&self) -> bool {
        self.linked.get()
    }
}

default_is_new! { Links<A> where [A: Augment] }

debug_as! { Links<A> where [A: Augment]: |it| Links { linked: it.linked, .. } }

/// Locates the [`Links`] in a struct: one struct can be in several trees.
///
/// # Safety
/// - While an item is in a tree of this kind or may be put into one, `links` returns the same field
///   inside that very item.
/// - No two implementations return the same field.
/// - `links` does not panic.
///
/// A tree follows the pointers in that field.
///
/// ```compile_fail,E0200
/// # use furlong::rbtree::{Augment, Linked, Links, Side};
/// # struct Task(Links<ById>);
/// # struct ById;
/// # impl Augment for ById {
/// #     type Item = Task;
/// #     type Key = u64;
/// #     type Halves = [(); 2];
/// #     type Summary = ();
/// #     fn key(_: &Task) -> u64 { 0 }
/// #     fn empty(_: &Task, _: Side) {}
/// #     fn half(_: &Task, _: Side, (): &()) {}
/// #     fn join(_: &Task, _: Side, (): &(), (): &()) {}
/// # }
/// impl Linked for ById {
///     fn links(task: &Task) -> &Links<Self> { &task.0 }
/// }
/// ```
pub unsafe trait Linked: Augment + Sized {
    /// The links of `item` for this tree.
    fn links(item: &Self::Item) -> &Links<Self>;
}

/// Names a struct that is or may be in a tree.
pub struct Pinned<T>(NonNull<T>);

impl<T> Pinned<T> {
    /// Names the struct at `item`.
    ///
    /// A name is a pointer that safe code may copy, keep, and pass to any function. So the maker of
    /// a name decides which code can see it: every search, step and iteration of the tree returns
    /// names, and so does an [`Iter`](crate::rbtree::Iter).
    ///
    /// # Safety
    /// The caller promises all of this for the struct at `item`. It holds until no copy of the name
    /// can be used any more and the struct is in no tree. A copy that is only kept, compared and
    /// dropped does not count as used; passing it to a function of a tree or of [`Nodes`] does.
    /// - The struct stays at this address and is not dropped, and there is no `&mut` to it.
    ///   References that a tree has lent out end before that: they borrow the tree, so a tree that
    ///   can be changed has lent none.
    /// - Only one thread at a time uses a tree that contains the struct, or a name of the struct.
    /// - Every function that receives the name belongs to the one tree that the struct is in, or is
    ///   put into. Functions of [`Nodes`], which only read, are exempt. With the assertions of
    ///   debug builds, a tree that would change a struct of another one panics.
    /// - The struct counts as in its tree until that has removed it or was cleared, regardless of
    ///   [`is_linked`](Links::is_linked). When a tree is dropped or forgotten with structs in it,
    ///   no name of them is ever used again, though the structs themselves may be dropped.
    ///
    /// The owner of a tree can keep these promises by hiding both the names and the tree. It
    /// removes a struct before dropping it, and lends out only the references that `RbTree::item`
    /// returns.
    #[inline]
    pub const unsafe fn new(item: NonNull<T>) -> Self {
        Self(item)
    }

    /// The struct's address.
    #[inline]
    pub const fn as_ptr(self) -> NonNull<T> {
        self.0
    }

    /// The struct, for a lifetime that the caller chooses.
    #[inline(always)]
    const fn get<'a>(self) -> &'a T {
        // SAFETY: the name is being used, or the struct is in a tree. The caller of `new` has
        // promised that until then it exists, does not move and is only shared. Code that lends the
        // reference out binds it to the tree (`RbTree::item`), and no other code of this file keeps
        // it.
        unsafe { self.0.as_ref() }
    }
}

copies! { Pinned<T> where [T]; }

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

/// Nodes in the caller's own structs; the tree itself stores only the root.
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
///     type Halves = [(); 2];
///     type Summary = ();
///
///     fn key(task: &Task) -> u64 {
///         task.deadline
///     }
///     fn empty(_: &Task, _: Side) {}
///     fn half(_: &Task, _: Side, (): &()) {}
///     fn join(_: &Task, _: Side, (): &(), (): &()) {}
/// }
///
/// // SAFETY: `links` is that field of the task itself, and of no other kind of tree.
/// unsafe impl Linked for ByDeadline {
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
/// A reference to a struct borrows the tree that it came from, so that the tree cannot release the
/// struct meanwhile:
/// ```compile_fail,E0502
/// # use furlong::rbtree::{Intrusive, Linked, Pinned, RbTree};
/// fn take_out<A: Linked>(tree: &mut RbTree<Intrusive<A>>, at: Pinned<A::Item>) -> &A::Item {
///     let item = tree.item(at);
///     let _ = tree.remove(at);
///     item
/// }
/// ```
/// and without a tree no reference can be obtained:
/// ```compile_fail,E0061
/// # use furlong::rbtree::{Intrusive, Linked, Nodes, Pinned};
/// fn forever<A: Linked>(nodes: &'static Intrusive<A>, at: Pinned<A::Item>) -> &'static A::Item {
///     nodes.item(at)
/// }
/// ```
///
/// # Threads
/// A tree of these is not `Send`: its structs stay reachable from the thread that owns them. Its
/// owner may wrap it in a struct with an `unsafe impl Send`. This is sound if the structs are
/// `Sync` and the tree and their links are used under one lock only. The wrapper can then be in a
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

default_is_new! { Intrusive<A> where [A: Linked] }

impl<A: Linked> Sealed for Intrusive<A> {}

impl<A: Linked> Nodes for Intrusive<A> {
    type Augment = A;
    type Ref = Pinned<A::Item>;
    type View<'a>
        = Self
    where
        Self: 'a;

    #[inline(always)]
    fn view(&mut self, _: Internal) -> Self {
        Self::new()
    }

    #[inline(always)]
    fn item(&self, at: Self::Ref, _: Internal) -> &A::Item {
        at.get()
    }

    #[inline(always)]
    fn child(&self, at: Self::Ref, side: Side) -> Option<Self::Ref> {
        Self::links(at).children[side.index()].get().map(Pinned)
    }

    #[inline(always)]
    fn set_child(&mut self, at: Self::Ref, side: Side, child: Option<Self::Ref>, _: Internal) {
        Self::links(at).children[side.index()].set(child.map(Pinned::as_ptr));
    }

    #[inline(always)]
    fn ranks(&self, at: Self::Ref) -> Ranks {
        Self::links(at).ranks.get()
    }

    #[inline(always)]
    fn set_ranks(&mut self, at: Self::Ref, ranks: Ranks, _: Internal) {
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
    fn set_place(&mut self, at: Self::Ref, place: Place<Self::Ref>, _: Internal) {
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
    fn set_unlinked(&mut self, at: Self::Ref, _: Internal) {
        let links = Self::links(at);
        links.linked.set(false);
        // The structs that it would still lead to may be dropped before it.
        for child in &links.children {
            child.set(None);
        }
        links.parent.set(None);
    }

    #[inline(always)]
    fn half(&self, at: Self::Ref, side: Side) -> Half<A> {
        match Self::links(at).halves.get() {
            Some(halves) => halves.get(side),
            None => A::empty(at.get(), side),
        }
    }

    #[inline(always)]
    fn set_half(&mut self, at: Self::Ref, side: Side, half: Half<A>, _: Internal) {
        let mut halves = A::Halves::of(self.half(at, Side::Left), self.half(at, Side::Right));
        halves.set(side, half);
        Self::links(at).halves.set(Some(halves));
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use core::ptr::NonNull;

    use super::{Intrusive, Linked, Links, Pinned};
    use crate::rbtree::{Augment, Nodes as _, RbTree, Side};

    struct Task(u64, Links<ById>);

    struct ById;

    impl Augment for ById {
        type Item = Task;
        type Key = u64;
        type Halves = [(); 2];
        type Summary = ();

        fn key(task: &Task) -> u64 {
            task.0
        }
        fn empty(_: &Task, _: Side) {}
        fn half(_: &Task, _: Side, (): &()) {}
        fn join(_: &Task, _: Side, (): &(), (): &()) {}
    }

    // SAFETY: the links are a field of the task itself.
    unsafe impl Linked for ById {
        fn links(task: &Task) -> &Links<Self> {
            &task.1
        }
    }

    type Tree = RbTree<Intrusive<ById>>;

    /// Passes the name of a struct in one tree to another tree.
    fn mixed_up(misdeed: fn(&mut Tree, Pinned<Task>)) {
        let tasks = [1, 2, 3].map(|id| Task(id, Links::new()));
        let [mut tree, mut other] = [(); 2].map(|()| Tree::new(Intrusive::new()));
        for task in &tasks {
            // SAFETY: the tasks outlive both trees, do not move, and are only shared. The name
            // given to the wrong tree is the mistake that the other tree must detect before it
            // follows the name.
            let name = unsafe { Pinned::new(NonNull::from(task)) };
            tree.insert(name).expect("it is in no tree");
        }
        let root = tree.root().expect("it has three");
        misdeed(&mut other, root);
    }

    #[test]
    fn a_struct_that_left_leads_to_no_other() {
        let tasks = [2, 1, 3].map(|id| Task(id, Links::new()));
        let mut tree = Tree::new(Intrusive::new());
        // SAFETY: the tasks outlive the tree, do not move, and are only shared.
        let names = tasks
            .each_ref()
            .map(|task| unsafe { Pinned::new(NonNull::from(task)) });
        for name in names {
            tree.insert(name).expect("it is in no tree");
        }
        for name in names {
            assert!(tree.remove(name).is_ok());
            assert!(is_alone(&tree.nodes, name));
        }
        for name in names {
            tree.insert(name).expect("it is in no tree");
        }
        let nodes = tree.into_nodes();
        assert!(names.iter().all(|name| is_alone(&nodes, *name)));
    }

    fn is_alone(nodes: &Intrusive<ById>, name: Pinned<Task>) -> bool {
        let leads = Side::BOTH
            .iter()
            .any(|side| nodes.child(name, *side).is_some());
        !leads && nodes.place(name).is_none() && !nodes.is_linked(name)
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
