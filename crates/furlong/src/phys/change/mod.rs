//! Changes of a table: frames taken at boot, the end of boot, and the plugging and unplugging of
//! segments.
//!
//! - `boot`: frames taken before there is a page allocator; `start`: the end of boot.
//! - `plug`: additions of segments; `host`: additions of memory that holds its own bookkeeping.
//! - `unplug`: removals in two phases, with readers beside them.
mod boot;
mod host;
mod plug;
pub(super) mod start;
mod unplug;
