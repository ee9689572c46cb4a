//! The small heap alone, for targets without 64-bit pointers or 64-bit atomics.

mod misuse;
#[expect(dead_code, reason = "some functions are for arenas")]
mod runs;
#[path = "small/mod.rs"]
mod small;

pub use misuse::Misuse;
pub use small::{
    check::{BrokenSmall, SmallStatistics},
    global::SmallGlobal,
    heap::SmallHeap,
    source::{RegionSource, StaticRegion},
};
