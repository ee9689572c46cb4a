//! Lists of extents.
#![forbid(unsafe_code)]

use furlong::addr::{Address, Extent, Iova};
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

/// Grants of extents in whatever order, and of the gap before each that has one.
pub(super) struct Laid<G> {
    pub(super) grants: Vec<G>,
    pub(super) gaps: Vec<G>,
}

/// Reserves extents from the first byte on by somebody who always takes the lowest bytes that are
/// free, if nothing but the end is: gaps and extents by turns.
///
/// # Shapes
/// `take` reserves so many bytes, which have to begin at that byte. Grants come in the order of the
/// extents, and gaps in the order of the extents behind them.
pub(super) fn lay<G>(
    extents: &[Extent<Iova>],
    first: u64,
    mut take: impl FnMut(u64, u64) -> Option<G>,
) -> Option<Laid<G>> {
    let mut ascending: Vec<usize> = (0..extents.len()).collect();
    ascending.sort_unstable_by_key(|index| extents[*index].start());
    let mut grants: Vec<Option<(G, Option<G>)>> = extents.iter().map(|_| None).collect();
    let mut next = first;
    for index in ascending {
        let (start, last) = (extents[index].start().raw(), extents[index].last().raw());
        let gap = if next < start {
            Some(take(next, start - next)?)
        } else {
            None
        };
        grants[index] = Some((take(start, last - start + 1)?, gap));
        next = last.wrapping_add(1);
    }
    let (grants, gaps): (Vec<G>, Vec<Option<G>>) = grants.into_iter().flatten().unzip();
    let gaps = gaps.into_iter().flatten().collect();
    Some(Laid { grants, gaps })
}
