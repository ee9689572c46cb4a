//! The space: its areas and their look-up, its bounds, and its form beside readers.
//!
//! - `address_space`: the type. `layout`: bounds and limits; `usage`: counts of mapped pages.
//! - `shared`: a space under the caller's lock, with faults that need no lock.
//! - `hold`: the owner of the state other than areas; `unwind`: panics of the user's code.
//! - `state`: a space as data; `check`: the invariants.
pub(super) mod address_space;
pub(super) mod check;
pub(super) mod hold;
pub(super) mod layout;
pub(super) mod shared;
pub(super) mod state;
pub(super) mod unwind;
pub(super) mod usage;
