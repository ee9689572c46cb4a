//! Changes of single entries. They happen in place if they can, and otherwise through new nodes
//! of the folder `structure`.
//!
//! - `interface`: the operations that both kinds of trees share.
//! - `insert_fast`: insertion into free space, and removal from a leaf that stays.
//! - `write`: all other changes; `cut`: the slots that a change replaces.
//! - `resize`: changes of an entry's extent, in place if one end moves.
//! - `exchange`: stores whose caller supplies the upper part of an entry that is cut in two.
//! - `update_gaps`: the largest gaps after a change. `refusal`: conversions of errors.
//! - `displaced`, `removed`: entries handed back, without readers and beside them.

pub(super) mod cut;
pub(super) mod displaced;
#[cfg(feature = "alloc")]
mod exchange;
mod insert_fast;
pub(super) mod interface;
pub(super) mod refusal;
pub(super) mod removed;
mod resize;
mod update_gaps;
pub(super) mod write;
