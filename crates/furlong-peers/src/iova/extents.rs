//! Lists of extents.
#![forbid(unsafe_code)]

use furlong::addr::{Extent, Iova};
use furlong_lab::experiments::Failure;

/// Extents in ascending order with neighbours joined.
pub(super) fn joined(extents: impl IntoIterator<Item = Extent<Iova>>) -> Vec<Extent<Iova>> {
    let mut joined: Vec<Extent<Iova>> = Vec::new();
    for extent in extents {
        let before = joined.last_mut();
        match before.filter(|before| before.end() == Some(extent.start())) {
            Some(before) => {
                let both = Extent::from_last(before.start(), extent.last());
                *before = both.expect("the second one ends behind the first");
            }
            None => joined.push(extent),
        }
    }
    joined
}

/// From byte `first` to byte `last`.
///
/// # Errors
/// It is reversed: somebody's structure is broken.
pub(super) fn extent(first: u64, last: u64) -> Result<Extent<Iova>, Failure> {
    let extent = Extent::from_last(Iova::new(first), Iova::new(last));
    extent.ok_or_else(|| Failure(format!("an extent goes from {first:#x} to {last:#x}")))
}

/// What is said where extents that are free were not all reserved.
pub(super) fn not_filled() -> Failure {
    Failure("an extent that is free was not reserved".to_owned())
}
