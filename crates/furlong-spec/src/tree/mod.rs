//! Ordered trees with augmentation. Nodes are numbers, items are extents, and the summary is the
//! largest gap of a subtree.
//!
//! There are `2 n` nodes over `n` extents. Node `i` and its twin `i + n` have the same extent and
//! so the same key, and only one of the two can be linked.
#![deny(unsafe_code)]

mod arena;
mod intrusive;
mod model;
mod operation;
mod stream;
mod subject;

pub use crate::mix::Mix;
pub use arena::ArenaTree;
pub use intrusive::IntrusiveTree;
pub use model::Model;
pub use operation::{Operation, Outcome};
pub use stream::operations;

use furlong::iova::Reserved;

use crate::Random;

/// `n` random extents in ascending order, of 1 to 16 units with gaps of 0 to 15 between them.
#[must_use]
pub fn extents(n: usize, random: &mut Random) -> Vec<Reserved> {
    let mut end = 0;
    (0..n)
        .map(|_| {
            let start = end + random.below(16);
            end = start + 1 + random.below(16);
            Reserved {
                start,
                last: end - 1,
            }
        })
        .collect()
}

/// `n` extents of one page with gaps of one page between them, as in the experiments.
pub fn pages(n: usize) -> impl ExactSizeIterator<Item = Reserved> + Clone {
    (0..n).map(|index| page(index as u32))
}

/// Extent number `index` of [`pages`].
#[inline]
#[must_use]
pub fn page(index: u32) -> Reserved {
    const PAGE: u64 = 4096;
    let start = (2 * u64::from(index) + 1) * PAGE;
    Reserved {
        start,
        last: start + PAGE - 1,
    }
}
