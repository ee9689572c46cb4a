//! Augmented rank-balanced trees: the ordered structure under [`iova`](crate::iova).
//!
//! # What it is
//! A weak AVL tree whose nodes keep a summary of the subtrees below them, so that a search can skip
//! whole subtrees. The user defines the summary as an [`Augment`]: the largest gap, a count, a
//! maximum. The tree allocates nothing and moves nothing. Nodes live in an [`Arena`], the caller's
//! array with indices as names, or inside the caller's own structs ([`Intrusive`]). Both are
//! [`Nodes`], the one trait over which the algorithm is written. It is written once for both
//! directions, with left and right as a [`Side`].
//!
//! # Words
//! - **rank**: an integer per node; a node stores only the differences to its children ([`Ranks`]).
//! - **half**: the data that a node keeps about one of its sides; **summary**: computed for a
//!   subtree from the root's two halves and its item. Summaries are passed up in registers and
//!   never stored.
//! - **augmentation**: the recomputation of a node's halves; **propagation**: the rule for when to
//!   do it and how far up.
//! - **place**: the parent of a node and its side below that parent.
//!
//! # Invariants
//! [`Check::check`](crate::check::Check::check) verifies them and returns the broken one
//! ([`Broken`]).
//! - I1: the root has no parent.
//! - I2: every child's place is its parent and its side.
//! - I3: keys ascend strictly in order.
//! - I4: the rank differences on both sides are one or two and give the node the same rank.
//! - I5: a leaf has rank 0.
//! - I6: every half is the value computed from the child's subtree.
//! - I7: the tree's length is the number of linked nodes.
//!
//! I1, I2, I3 and I7 hold whenever user code runs. If user code panics during a change, I4 to I6
//! stay broken until the [next change](RbTree::recover) repairs them, and `check` skips them.
//!
//! # Files
//! - `tree`: the type and its operations; `config`, `counters`: its type parameters, work counters.
//! - `augment`: the user's trait. `side`: left and right.
//! - `balance`: insertion, removal, the walk after them, and the seam of propagation.
//! - `storage`: the link trait, the two kinds of node storage, and arrays that may grow.
//! - `search`, `iter`: searching and moving; `check`: the invariants.
//!
//! # Sources
//! - B. Haeupler, S. Sen, R. E. Tarjan, "Rank-Balanced Trees", ACM Transactions on Algorithms
//!   11(4), 2015: the rank rule, and the cases of insertion and removal.
//! - FreeBSD `sys/sys/tree.h`: before 7f2ec173e (augmentation in every rotation), 7f2ec173e (one
//!   walk after rebalancing), `RB_AUGMENT_CHECK` (a walk that stops): the three arms of
//!   [`Propagation`].
//! - FreeBSD `sys/dev/iommu/iommu_gas.c`: the summary first, last, largest gap.
//!
//! Differences from them: a node keeps halves instead of its own summary, so no walk reads a
//! sibling. A node stores its side. A rotation leaves its recomputation to the walk, which does it
//! on the way.
#![deny(unsafe_code)]

mod augment;
mod balance;
mod check;
mod config;
mod counters;
mod iter;
mod search;
mod side;
mod storage;
#[cfg(all(test, feature = "alloc"))]
mod tests;
mod tree;

pub use augment::{Augment, Half, Pair, Summary};
pub use balance::propagation::{Checked, Deferred, Eager, Propagation};
pub use balance::ranks::Ranks;
pub use check::Broken;
pub use config::{Config, Custom, Standard};
pub use counters::{Counters, Off, Tally};
pub use iter::Iter;
pub use side::Side;
#[cfg(feature = "alloc")]
pub use storage::arena::VecArena;
pub use storage::arena::{Arena, Node, NodeId};
#[cfg(feature = "alloc")]
pub use storage::chunks::{Blank, CHUNK_NODES, ChunkTable, Chunks, Growth};
pub use storage::intrusive::{Intrusive, Linked, Links, Pinned};
pub use storage::nodes::{Nodes, Place};
pub use storage::store::{NoMemory, Slots, Store};
pub use tree::{InsertError, NotLinked, RbTree};

// Names that several modules below use.
use balance::work::{Head, Work};
use storage::nodes::INTERNAL;
use tree::Key;
