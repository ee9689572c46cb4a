//! A B-tree of ranges over a 64-bit index, whose readers never wait.
//!
//! # What it is
//! The map from extents of addresses to entries under an address space, an IOTLB or a table of
//! reservations. Entries are one word ([`Entry`]): a box, a counted or a static reference, a
//! number. It knows the largest gap of every subtree, so that the lowest and the highest place for
//! a size in a window are found in O(log n), and that there is none in O(1).
//!
//! [`Maple`] has one owner, is changed through `&mut` and in place. [`RcuMaple`] has readers beside
//! its writer: they never wait and write nothing, and see of each change all or nothing.
//!
//! A leaf has three arrays, of first indices, last indices and entries, and no slots for gaps. An
//! inner node has children, the pivots between them, and the largest gap below each. No node knows
//! its parent: a change remembers its way down. There is no mode for small maps: up to 15 entries
//! are one leaf, up to some 350 two levels.
//!
//! A change needs at most `3 h + 1` nodes for a tree of `h` levels. They can be obtained beforehand
//! ([`Maple::prepare`], [`RcuMaple::lock_prepared`], [`Reservation`]): then it neither allocates,
//! nor frees, nor fails for them.
//!
//! A change takes one of three ways, and each is counted ([`Event`]):
//! - one word is stored in a leaf that stays: to replace an entry, erase it, move one of its ends,
//!   or put one behind all others of its leaf;
//! - a leaf is written anew, in place where there are no readers, else as a copy that one store
//!   puts in place of the old one;
//! - leaves are split, merged or spanned: whatever is between two places is replaced by up to three
//!   nodes a level, and one store at the lowest node above all of them shows it to readers.
//!
//! # Words
//! - **slot**: a place in a leaf for an extent and its entry; **erased**: a slot whose entry was
//!   taken out beside readers; its extent stays until the leaf is written anew.
//! - **pivot**: the last index that belongs to a child.
//! - **gap**: what is free between two entries. It belongs to the leaf of the entry before it. What
//!   is free before the first entry and behind the last one is no leaf's.
//! - **spot**: a leaf and the way to it. **cut**: the slots that a change replaces.
//! - **displaced**: taken out whole by a store over it, and handed back ([`Displaced`]).
//! - **source**, **pool**: where nodes come from; those that are ready or were given up. **block**:
//!   many nodes of a copy in one piece of memory.
//!
//! # Invariants
//! [`Check::check`](crate::check::Check::check) walks them and names the one that is broken
//! ([`Broken`]).
//! - I1: extents are not reversed, ascend without overlap, and lie in their leaf.
//! - I2: pivots ascend strictly inside their node; the last one and the unused ones are MAX.
//! - I3: all leaves lie at one depth; an inner node has a child, and the root, if it is one, two.
//! - I4: a leaf has an entry and knows how many; its unused slots have MAX at both ends.
//! - I5: a leaf that is not the first begins with an entry. So every gap lies in one leaf.
//! - I6: the largest gap of each child and of the tree, where the first entry starts and the last
//!   one ends, and the number of entries are noted.
//!
//! And what nothing that could be walked shows; tests and models hold it:
//! - I7: a word stands in one slot, and is made an entry again when it is taken out.
//! - I8: beside readers at most one of the three words of a slot changes while its leaf lives, but
//!   for its erasing, after which only an entry with the same extent comes there, if neither end
//!   has moved. So the three, read one by one, were all so at the moment when that one was read.
//! - I9: a pivot moves in place only over indices that have no entry on either side, so that
//!   readers find nothing there whichever way they go.
//!
//! # Files
//! - `map`: the type and its operations; `shared`, `session`, `removed`: the same beside readers;
//!   `edit`: changing either; `view`: looking at either; `cursor`: a place in one; `reservation`:
//!   nodes for changes to come; `duplicate`, `bulk`: a tree at once. `config`, `geometry`,
//!   `counters`: what may differ, how large nodes are, what is counted; `error`, `refusal`: what is
//!   refused.
//! - `entry`, `heap`, `typed`: entries and their words. `source`, `block`, `pool`: memory for
//!   nodes.
//! - `leaf`, `inner`, `link`: nodes, and what leads to them; `tree`: the root and the way down.
//! - `put`: entries where nothing is; `write`: changes in place; `cut`: what a change replaces;
//!   `resize`, `ends`: moving ends; `note`: gaps after a change; `rebuild`, `split`, `build`: new
//!   nodes; `uproot`, `displaced`: what goes, and what comes back; `exchange`: stores whose caller
//!   brings what is left above.
//! - `iter`, `beside`, `gaps`: looking; `check`: the invariants.
//!
//! # Sources
//! - L. Howlett, "Maple Tree 20201029" (maple-tree mailing list), and Linux 6.12
//!   `lib/maple_tree.c`: ranges in a B-tree under RCU, its three write paths, gaps in inner nodes,
//!   a spare place left in nodes that take over from a sibling.
//! - R. Bayer, E. McCreight, "Organization and Maintenance of Large Ordered Indices", Acta
//!   Informatica 1, 1972: the tree.
//!
//! Nodes that were given up beside readers wait in the tree until there are a few. If nobody is
//! inside then they are used again, without an allocator; else they are retired.
//!
//! What differs from Linux: gaps take no slots; no parent pointers, and no marks of dead nodes,
//! since a node that readers may have is never written again; pivots that follow the first entry
//! behind them, so that no gap lies in two leaves; a node is merged when it and a sibling fit into
//! one, and not before, so there is no rebalancing up the tree.
#![deny(unsafe_code)]

mod beside;
mod block;
mod build;
mod bulk;
mod check;
mod config;
mod counters;
mod cursor;
mod cut;
mod displaced;
mod duplicate;
mod edit;
mod ends;
mod entry;
mod error;
#[cfg(feature = "alloc")]
mod exchange;
mod gaps;
mod geometry;
#[cfg(feature = "alloc")]
mod heap;
mod inner;
mod iter;
mod leaf;
mod link;
mod map;
mod note;
mod pool;
mod put;
mod rebuild;
mod refusal;
mod removed;
mod reservation;
mod resize;
mod session;
mod shared;
mod source;
mod split;
#[cfg(all(test, feature = "alloc", not(loom)))]
mod tests;
mod tree;
mod typed;
mod uproot;
mod view;
mod write;

pub use bulk::BulkError;
pub use check::Broken;
pub use config::{Config, Custom, Standard};
pub use counters::{Counters, Event, Off, Tally};
pub use cursor::Cursor;
pub use displaced::Displaced;
pub use duplicate::DuplicateError;
pub use edit::{Edit, TakenAt};
pub use entry::{Entry, Plain, Retire, Split};
pub use error::{EraseError, InsertError, ResizeError, StoreError};
pub use geometry::{Fan, Geometry, Row, Wide};
#[cfg(feature = "alloc")]
pub use heap::Shared;
pub use iter::{Iter, IterBack};
pub use map::Maple;
pub use pool::{NoMemory, Nodes};
pub use removed::{Removed, Unlinked};
pub use reservation::{NotEnough, Reservation};
pub use session::{OneRemoved, Session};
pub use shared::RcuMaple;
pub use source::{Heap, Lines, Source};
pub use view::{Place, View};
