//! A B-tree of ranges over a 64-bit index, whose readers never wait.
//!
//! # What it is
//! A map from extents of addresses to entries, for an address space, an IOTLB or a table of
//! reservations. An entry is one word ([`Entry`]): a box, a counted or a static reference, a
//! number. The tree keeps the largest gap of every subtree. So it finds the lowest or the highest
//! place for a size in a window in O(log n), and knows in O(1) that no gap is large enough.
//!
//! [`Maple`] has one owner, and is changed in place through `&mut`. [`RcuMaple`] has readers beside
//! its writer. They never wait, write nothing, and see all of a change or nothing of it.
//!
//! The entry type decides what a map can do. An [`RcuBox`](crate::rcu::RcuBox) can do everything:
//!
//! | entry | cut in two ([`Split`]) | changed in place ([`Unique`]) | readers ([`Retire`]) |
//! |---|---|---|---|
//! | `RcuBox<T>` | by a clone | yes | yes |
//! | `Box<T>` | by a clone | yes | no |
//! | `Arc<T>` | shared by the parts | no | in an `RcuBox` |
//! | `&'static T`, `u32`, `NonZeroU32`, `NonZeroUsize` | copied | no | yes |
//!
//! A leaf has three arrays: first indices, last indices and entries. Gaps take no slots. An inner
//! node has children, the pivots between them, and the largest gap below each. Nodes have no parent
//! pointers: a change remembers its path from the root. Small maps have no special form: up to 15
//! entries are one leaf, up to about 350 are two levels.
//!
//! A change needs at most `3 h + 1` nodes for a tree of `h` levels. They can be obtained beforehand
//! ([`Maple::prepare`], [`RcuMaple::lock_prepared`], [`Reservation`]). Then the change neither
//! allocates, nor frees, nor fails for lack of nodes.
//!
//! A change takes one of three paths, and each is counted ([`Event`]):
//! - One word is stored in a leaf that stays. This replaces an entry, erases it, moves one of its
//!   ends, or adds one behind all others of its leaf.
//! - A leaf is written anew: in place if there are no readers, else as a copy that one store puts
//!   in place of the old one.
//! - Leaves are split, merged or spanned. All nodes between two places are replaced by up to three
//!   nodes a level. One store, at the lowest node above all of them, shows the change to readers.
//!
//! Nodes given up beside readers collect in the tree until there are a few. If no reader is inside
//! then, they are used again, without an allocator; otherwise they are retired.
//!
//! # Words
//! - **slot**: a place in a leaf for an extent and its entry. **erased**: a slot whose entry was
//!   removed beside readers; its extent stays until the leaf is written anew.
//! - **pivot**: the last index that belongs to a child.
//! - **gap**: the free indices between two entries. A gap belongs to the leaf of the entry before
//!   it. The space before the first entry and behind the last one belongs to no leaf.
//! - **spot**: a leaf and the path to it. **cut**: the slots that a change replaces.
//! - **displaced**: removed whole by a store over it, and handed back ([`Displaced`]).
//! - **source**: the memory for nodes. **pool**: nodes that are ready or were given up. **block**:
//!   many nodes of a copy in one piece of memory.
//!
//! # Invariants
//! [`Check::check`](crate::check::Check::check) verifies these and names a broken one ([`Broken`]).
//! - I1: extents are not reversed, ascend without overlap, and lie in their leaf.
//! - I2: pivots ascend strictly inside their node; the last one and the unused ones are MAX.
//! - I3: all leaves have the same depth; an inner node has a child, and an inner root has two.
//! - I4: a leaf has an entry and knows how many; its unused slots have MAX at both ends.
//! - I5: a leaf that is not the first begins with an entry. So every gap lies in one leaf.
//! - I6: the notes are right: the largest gap of each child and of the tree, both ends of the
//!   occupied range, and the number of entries.
//!
//! No walk can show the following; tests and models verify them:
//! - I7: a word is in one slot only, and becomes an entry again when it is removed from the tree.
//! - I8: beside readers, at most one of the three words of a slot changes while its leaf lives,
//!   apart from erasure. After an erasure the slot may only get an entry with the same extent, and
//!   only if neither end has moved. So a reader that reads the three one by one gets values that
//!   were all current when it read the one that changes.
//! - I9: a pivot moves in place only over indices without entries on either side. So readers find
//!   nothing there, whichever child they enter.
//!
//! # Files
//! - `map`: the type and its operations; `collection`: those of `std`'s maps; `shared`, `session`:
//!   the same beside readers.
//! - `config`, `counters`, `error`: configuration, work counters, errors. `check`: the invariants.
//! - `node`: leaves, inner nodes, the links between them, and the words of entries.
//! - `read`: views, cursors and searches.
//! - `edit`: changes of single entries; `structure`: changes of nodes, and whole trees at once.
//! - `memory`: memory for nodes, and reservations.
//!
//! # Sources
//! - L. Howlett, "Maple Tree 20201029" (maple-tree mailing list), and Linux 6.12
//!   `lib/maple_tree.c`: ranges in a B-tree under RCU, its three write paths, gaps in inner nodes,
//!   a spare place left in nodes that take over from a sibling.
//! - R. Bayer, E. McCreight, "Organization and Maintenance of Large Ordered Indices", Acta
//!   Informatica 1, 1972: the tree.
//!
//! Differences from Linux:
//! - Gaps take no slots.
//! - There are no parent pointers. There are no marks of dead nodes, because a node that readers
//!   may hold is never written again.
//! - A pivot follows the first entry behind it, so that no gap lies in two leaves.
//! - A node is merged only when it and a sibling fit into one, so there is no rebalancing up the
//!   tree.
#![deny(unsafe_code)]

mod check;
mod collection;
mod config;
mod counters;
mod edit;
mod error;
mod map;
mod memory;
mod node;
mod read;
mod session;
mod shared;
mod structure;
#[cfg(all(test, feature = "alloc", not(loom)))]
mod tests;

pub use check::Broken;
pub use config::{Config, Custom, Standard};
pub use counters::{Counters, Event, Off, Tally};
pub use edit::displaced::Displaced;
pub use edit::interface::{Edit, TakenAt};
pub use edit::removed::{Removed, Unlinked};
pub use error::{EraseError, InsertError, ResizeError, StoreError};
pub use map::Maple;
pub use memory::pool::{NoMemory, Nodes};
pub use memory::reservation::{NotEnough, Reservation};
pub use memory::source::{Heap, Lines, Source};
pub use node::entry::{Entry, Plain, Retire, Split, Unique};
pub use node::geometry::{Fan, Geometry, Row, Wide};
#[cfg(feature = "alloc")]
pub use node::heap::Shared;
pub use read::cursor::Cursor;
pub use read::iter::{Iter, IterBack, IterMut};
pub use read::view::{Place, View};
pub use session::{OneRemoved, Session};
pub use shared::RcuMaple;
pub use structure::bulk::BulkError;
pub use structure::duplicate::DuplicateError;

// Names that several modules below use.
use edit::cut::Cut;
use edit::displaced::Slots;
use edit::refusal::{not_inserted, not_resized, not_stored};
use edit::write::{Helper, Write, wants};
use memory::block::Run;
use memory::pool::{Pool, Stack};
use memory::reservation::{bound, bound_in_place};
use node::geometry::{least, spare};
use node::inner::{Inner, Item};
use node::leaf::{Leaf, Slot, Word};
use node::link::{Node, Ptr};
use node::tree::{Found, Spot, Tree};
use node::typed::{Typed, Words, extent};
use read::gaps::{Align, Anywhere, End, Multiple, gap};
