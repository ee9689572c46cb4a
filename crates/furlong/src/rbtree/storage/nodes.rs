//! The link trait: the interface between the algorithm and the storage of nodes.

use core::fmt::Debug;
use core::hint::select_unpredictable;

use crate::rbtree::{Augment, Half, Ranks, Side, Summary};

/// The parent of a node and the node's side below it; `None` for the root.
pub type Place<R> = Option<(R, Side)>;

pub(crate) use crate::forms::Sealed;

/// Permission to change links and to access items without the tree that holds them. Code outside
/// this module can neither name nor make one: a link set by a caller could lead an
/// [`Intrusive`](crate::rbtree::Intrusive) tree into freed memory.
#[derive(Clone, Copy, Debug)]
pub struct Internal(());

/// The permission, for the tree's own algorithm.
pub(crate) const INTERNAL: Internal = Internal(());

/// Storage of nodes: an [`Arena`](crate::rbtree::Arena) of slots, or the caller's own structs
/// ([`Intrusive`](crate::rbtree::Intrusive)). The tree's algorithm exists once, over this trait.
///
/// It can be read and used as a bound. Only this module implements it, and only a tree changes
/// links. Every method is a few loads or stores.
///
/// ```compile_fail,E0061
/// # use furlong::rbtree::{Nodes, Side};
/// fn adopt<N: Nodes>(nodes: &mut N, at: N::Ref, child: N::Ref) {
///     nodes.set_child(at, Side::Left, Some(child));
/// }
/// ```
pub trait Nodes: Sealed {
    /// Order and augmentation.
    type Augment: Augment;
    /// Names a node. The tree never moves an item from one node to another, so a name stays valid
    /// as long as the caller keeps the node.
    type Ref: Copy + Eq + Debug;
    /// The same nodes through local references, see [`view`](Nodes::view).
    type View<'a>: Nodes<Augment = Self::Augment, Ref = Self::Ref>
    where
        Self: 'a;

    /// Borrows the nodes for one change. The compiler keeps a view's addresses in registers; with a
    /// longer-lived owner it would reload them after every store.
    #[doc(hidden)]
    fn view(&mut self, by: Internal) -> Self::View<'_>;

    /// The node's item, which callers access through their tree alone: a reference must not outlive
    /// the borrow of the node's tree.
    #[doc(hidden)]
    fn item(&self, at: Self::Ref, by: Internal) -> &<Self::Augment as Augment>::Item;

    /// The child on `side`.
    fn child(&self, at: Self::Ref, side: Side) -> Option<Self::Ref>;
    /// Sets the child on `side`, but not that child's place.
    #[doc(hidden)]
    fn set_child(&mut self, at: Self::Ref, side: Side, child: Option<Self::Ref>, by: Internal);

    /// The rank differences.
    fn ranks(&self, at: Self::Ref) -> Ranks;
    /// Sets the rank differences.
    #[doc(hidden)]
    fn set_ranks(&mut self, at: Self::Ref, ranks: Ranks, by: Internal);

    /// The parent, and the node's side below it; `None` for the root, and for a node in no tree.
    /// The node itself stores the side, so a walk knows its direction before the parent's cache
    /// line has arrived.
    fn place(&self, at: Self::Ref) -> Place<Self::Ref>;
    /// Sets the place, which also marks the node as linked.
    #[doc(hidden)]
    fn set_place(&mut self, at: Self::Ref, place: Place<Self::Ref>, by: Internal);

    /// Returns true if the node is in a tree.
    fn is_linked(&self, at: Self::Ref) -> bool;
    /// Marks the node as being in no tree.
    #[doc(hidden)]
    fn set_unlinked(&mut self, at: Self::Ref, by: Internal);

    /// The node's half on `side`.
    fn half(&self, at: Self::Ref, side: Side) -> Half<Self::Augment>;
    /// Sets the node's half on `side`.
    #[doc(hidden)]
    fn set_half(&mut self, at: Self::Ref, side: Side, half: Half<Self::Augment>, by: Internal);

    /// The node's key.
    #[inline(always)]
    fn key(&self, at: Self::Ref) -> <Self::Augment as Augment>::Key {
        Self::Augment::key(self.item(at, INTERNAL))
    }

    /// The right child if `right`, else the left one, without a branch: a search would mispredict
    /// every second one.
    #[inline(always)]
    fn child_if(&self, at: Self::Ref, right: bool) -> Option<Self::Ref> {
        select_unpredictable(
            right,
            self.child(at, Side::Right),
            self.child(at, Side::Left),
        )
    }

    /// The child of a node that has at most one.
    #[inline(always)]
    fn only_child(&self, at: Self::Ref) -> Option<Self::Ref> {
        self.child(at, Side::Left).or(self.child(at, Side::Right))
    }

    /// Returns true if the node has no child.
    #[inline(always)]
    fn is_leaf(&self, at: Self::Ref) -> bool {
        self.child(at, Side::Left).is_none() && self.child(at, Side::Right).is_none()
    }

    /// The summary of the node's subtree, computed from the node's own data.
    #[inline(always)]
    fn summary(&self, at: Self::Ref) -> Summary<Self::Augment> {
        let left = self.half(at, Side::Left);
        let right = self.half(at, Side::Right);
        Self::Augment::join(self.item(at, INTERNAL), Side::Left, &left, &right)
    }

    /// The correct half of `at` on `side`, computed from the child there.
    #[inline(always)]
    fn fresh_half(&self, at: Self::Ref, side: Side) -> Half<Self::Augment> {
        let item = self.item(at, INTERNAL);
        match self.child(at, side) {
            Some(child) => Self::Augment::half(item, side, &self.summary(child)),
            None => Self::Augment::empty(item, side),
        }
    }
}
