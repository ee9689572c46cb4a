//! Lists of extents, and their granules.

use std::ops::Range;

use furlong::addr::{Address, Extent, Iova};
use furlong_lab::model::Failure;

/// The extent from byte `first` to byte `last`.
///
/// # Errors
/// If it is reversed: a peer's structure is broken.
pub(super) fn extent(first: u64, last: u64) -> Result<Extent<Iova>, Failure> {
    let extent = Extent::from_last(Iova::new(first), Iova::new(last));
    extent.ok_or_else(|| Failure(format!("an extent goes from {first:#x} to {last:#x}")))
}

/// The granules of a space, whose numbers are their addresses shifted by the second number.
///
/// # Errors
/// If the end of the space does not fit in 64 bits.
pub(super) fn granules(space: Extent<Iova>, granule: u64) -> Result<(Range<u64>, u32), Failure> {
    let shift = granule.trailing_zeros();
    let [start, last] = [space.start(), space.last()].map(|at| at.raw() >> shift);
    let end = last.checked_add(1);
    let end = end.ok_or_else(|| Failure("it cannot represent the last address of 64 bits".into()));
    Ok((start..end?, shift))
}

/// The failure to reserve an extent that is free.
pub(super) fn not_filled() -> Failure {
    Failure("an extent that is free was not reserved".to_owned())
}

/// Grants of extents in any order, and of the gap before each extent that has one.
pub(super) struct Laid<G> {
    pub(super) grants: Vec<G>,
    pub(super) gaps: Vec<G>,
}

/// Reserves extents from the first byte on with an allocator that always takes the lowest free
/// bytes, as long as only the end is free. So it reserves gaps and extents in turn.
///
/// # Shapes
/// `take` reserves a number of bytes, which must begin at the given byte. Grants are in the order
/// of the extents, and gaps in the order of the extents behind them.
///
/// # Errors
/// If `take` did not reserve something.
pub(super) fn lay<G>(
    extents: &[Extent<Iova>],
    first: u64,
    mut take: impl FnMut(u64, u64) -> Option<G>,
) -> Result<Laid<G>, Failure> {
    let mut take = |start: u64, bytes: u64| take(start, bytes).ok_or_else(not_filled);
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
    Ok(Laid { grants, gaps })
}
