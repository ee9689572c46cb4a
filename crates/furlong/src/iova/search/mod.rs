//! The search for a place: requests in granules, summaries of gaps, and the choice among places.
//!
//! - `descent`: the way down the tree to a gap.
//! - `query`: a request in granules; `grid`: the starts that alignment and boundary permit.
//! - `policy`: the choice among places; `random`: a uniform choice.
//! - `summary`: the augmentation of the tree; `runs`, `boundary`, `counts`: three more measures.

pub(super) mod boundary;
pub(super) mod counts;
mod descent;
pub(super) mod grid;
pub(super) mod policy;
pub(super) mod query;
pub(super) mod random;
pub(super) mod runs;
pub(super) mod summary;
