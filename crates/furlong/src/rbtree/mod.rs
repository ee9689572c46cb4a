//! Augmented rank-balanced trees: the ordered structure under [`iova`](crate::iova).
//!
//! # What it is
//! A weak AVL tree whose nodes keep a summary of what is below them (an [`Augment`] of the user's:
//! the largest gap, a count, a maximum), so that a search can pass by whole subtrees. It allocates
//! nothing and moves nothing: nodes live in an [`Arena`], an array of the caller's with indices for
//! names, or inside the caller's own structs ([`Intrusive`]). Both are [`Nodes`], the one trait
//! over which the algorithm is written, once, with left and right as a [`Side`].
//!
//! # Words
//! - **rank**: an integer a node, kept as the differences to its children only ([`Ranks`]).
//! - **half**: what a node keeps about one of its sides; **summary**: what its two halves and its
//!   item make of its subtree. Summaries are handed up in registers and kept nowhere.
//! - **augmentation**: recomputing a node's halves; **propagation**: when, and how far up.
//! - **place**: the parent of a node and the side on which it is.
//!
//! # Invariants
//! [`Check::check`](crate::check::Check::check) walks them and names the one that is broken
//! ([`Broken`]).
//! - I1: the root has no parent.
//! - I2: every child names its node, and the side on which it is, as its place.
//! - I3: keys ascend strictly in order.
//! - I4: the rank differences on both sides are one or two and give the node one rank.
//! - I5: a leaf has rank 0.
//! - I6: every half is what the child's subtree makes of it.
//! - I7: the tree's length is the number of linked nodes.
//!
//! I1, I2, I3 and I7 hold whenever code of the user's runs. Where that panics in a change, I4 to I6
//! are left to the [next change](RbTree::recover), and `check` does not ask for them.
//!
//! # Files
//! - `tree`: the type and its operations; `config`, `counters`: what may differ, what is counted.
//! - `augment`: the trait of the user's; `propagation`: the seam and its three arms.
//! - `nodes`: the link trait; `arena`, `intrusive`: the two places where nodes live; `store`,
//!   `chunks`: arrays that may grow, and one that does without moving a node.
//! - `insert`, `remove`: rebalancing; `walk`: the one walk after it; `work`: the steps of all
//!   three.
//! - `recover`: what a panic of the user's code has left, made whole.
//! - `search`, `iter`, `cursor`: looking and moving; `check`: the invariants.
//! - `side`, `ranks`: left and right; rank differences.
//!
//! # Sources
//! - B. Haeupler, S. Sen, R. E. Tarjan, "Rank-Balanced Trees", ACM Transactions on Algorithms
//!   11(4), 2015: the rank rule, and the cases of insertion and removal.
//! - FreeBSD `sys/sys/tree.h`: before 7f2ec173e (augmentation in every rotation), 7f2ec173e (one
//!   walk after rebalancing), `RB_AUGMENT_CHECK` (a walk that stops): the three arms of
//!   [`Propagation`].
//! - FreeBSD `sys/dev/iommu/iommu_gas.c`: the summary first, last, largest gap.
//!
//! What differs from them: a node keeps halves instead of its own summary, so no walk reads a
//! sibling; a node knows its side; and a rotation leaves its work to the walk, which does it in
//! passing.
#![deny(unsafe_code)]

mod arena;
mod augment;
mod check;
#[cfg(feature = "alloc")]
mod chunks;
mod config;
mod counters;
mod cursor;
mod insert;
mod intrusive;
mod iter;
mod nodes;
mod propagation;
mod ranks;
mod recover;
mod remove;
mod search;
mod side;
mod store;
#[cfg(all(test, feature = "alloc"))]
mod tests;
mod tree;
mod walk;
mod work;

#[cfg(feature = "alloc")]
pub use arena::VecArena;
pub use arena::{Arena, Node, NodeId};
pub use augment::{Augment, Half, Summary};
pub use check::Broken;
#[cfg(feature = "alloc")]
pub use chunks::{Blank, CHUNK_NODES, ChunkTable, Chunks, Growth};
pub use config::{Config, Custom, Standard};
pub use counters::{Counters, Off, Tally};
pub use cursor::Cursor;
pub use intrusive::{Intrusive, Linked, Links, Pinned};
pub use iter::Iter;
pub use nodes::{Nodes, Place};
pub use propagation::{Checked, Deferred, Eager, Propagation};
pub use ranks::Ranks;
pub use side::Side;
pub use store::{NoMemory, Slots, Store};
pub use tree::{InsertError, NotLinked, RbTree};
