//! Lookup structures: from a frame number to its segment and its descriptor. The seam is a trait
//! with five arms, which are built from the same data.
//!
//! - `lookup`: the trait; `snapshot`: the data from which the arms are built.
//! - `array`, `branchless`: sorted arrays. `tree`: a balanced tree.
//! - `direct`: a table of tables, indexed by frame number; `flat`: one pointer per frame.
pub(super) mod array;
#[cfg(feature = "alloc")]
pub(super) mod branchless;
pub(super) mod direct;
#[cfg(feature = "alloc")]
pub(super) mod flat;
pub(super) mod lookup;
pub(super) mod snapshot;
#[cfg(feature = "alloc")]
pub(super) mod tree;
