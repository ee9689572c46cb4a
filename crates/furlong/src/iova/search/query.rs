//! A validated request in granules: the input of a search.

use super::grid::Grid;
use crate::addr::{Address, Extent, Iova};
use crate::iova::{Request, ReserveError, Split};

/// First and last granule at which a grant may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Zone {
    pub(crate) low: u64,
    pub(crate) high: u64,
}

/// A free range between two neighbours, or between a node and an end of the space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl Gap {
    /// Number of its granules; 2^64 is reported as 2^64 - 1.
    #[inline(always)]
    pub(crate) fn len(&self) -> u64 {
        (self.last - self.first).saturating_add(1)
    }
}

/// Requirements of a request on a gap, apart from the gap's position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// Granules of the grant and of the guards on both sides.
    pub span: u64,
    /// Granules from the start of the grant on: the span without the guard before it.
    pub run: u64,
    /// log2 of the alignment in granules.
    pub order: u32,
    /// log2 of the boundary in granules; `None` if no aligned place crosses it.
    pub boundary: Option<u32>,
    /// Granules of the grant.
    pub len: u64,
    /// Either suffices for the default measure: an aligned block with so many
    /// [`orders`](crate::iova::Largest::orders), or a gap of so many granules.
    pub(super) orders: u32,
    pub(super) any: u64,
}

impl Need {
    /// More orders than any block has.
    pub(super) const NO_BLOCK: u32 = u32::MAX;

    /// The necessary condition. If the span is exactly one aligned block, with no guard before it,
    /// the condition is sufficient as well.
    #[inline(always)]
    fn new(span: u64, run: u64, order: u32, boundary: Option<u32>, len: u64) -> Self {
        let is_block = order > 0 && span == run && run == 1 << order;
        // Nearly twice as many granules always hold the block.
        let (block, any) = (order + 1, span.saturating_mul(2));
        Self {
            span,
            run,
            order,
            boundary,
            len,
            orders: if is_block { block } else { Self::NO_BLOCK },
            any: if is_block { any } else { span },
        }
    }
}

/// A request in granules. Every suitable place starts in one of the zones and on the grid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query {
    pub(crate) need: Need,
    pub(crate) before: u64,
    pub(crate) grid: Grid,
    pub(crate) zones: [Option<Zone>; 2],
}

/// `extent` in granules, if it consists of whole ones.
pub(crate) fn whole(extent: Extent<Iova>, shift: u32) -> Option<Gap> {
    let mask = (1 << shift) - 1;
    let (start, last) = (extent.start().raw(), extent.last().raw());
    (start & mask == 0 && last & mask == mask).then_some(Gap {
        first: start >> shift,
        last: last >> shift,
    })
}

/// Granules of `1 << shift` bytes that `size` bytes take, `offset` bytes into the first one.
#[inline(always)]
pub(crate) fn granules(offset: u64, size: u64, shift: u32) -> Option<u64> {
    Some((offset.checked_add(size - 1)? >> shift) + 1)
}

/// Checks the request's own values, regardless of the space.
#[inline(always)]
fn validate(request: &Request, granule: u64) -> Result<(), ReserveError> {
    if request.size == 0 {
        return Err(ReserveError::ZeroSize);
    }
    if !request.align.is_power_of_two() {
        return Err(ReserveError::Align(request.align));
    }
    if request.offset >= granule {
        return Err(ReserveError::Offset(request.offset));
    }
    if let Some(boundary) = request.boundary.filter(|b| !b.is_power_of_two()) {
        return Err(ReserveError::Boundary(boundary));
    }
    let (low, high) = (request.low, request.high);
    if low > high {
        return Err(ReserveError::Window { low, high });
    }
    Ok(())
}

impl Query {
    /// The request at its full size; `CrossesBoundary` if it crosses its boundary everywhere.
    #[inline(always)]
    pub(crate) fn new(request: &Request, shift: u32) -> Result<Self, ReserveError> {
        validate(request, 1 << shift)?;
        let Some(boundary) = request.boundary else {
            return Self::build(request, shift, None);
        };
        if boundary >> shift != 0 {
            return Self::build(request, shift, Some(boundary >> shift));
        }
        let query = Self::build(request, shift, None)?;
        // The boundary is below a granule: all data must lie between two multiples of it in one
        // granule.
        let room = boundary - (request.offset & (boundary - 1));
        if room < request.size {
            let size = request.size;
            return Err(ReserveError::CrossesBoundary { size, boundary });
        }
        Ok(query)
    }

    /// The same without the boundary: for a grant that will be cut at it.
    pub(crate) fn unbounded(request: &Request, shift: u32) -> Result<Self, ReserveError> {
        validate(request, 1 << shift)?;
        Self::build(request, shift, None)
    }

    #[inline(always)]
    fn build(request: &Request, shift: u32, boundary: Option<u64>) -> Result<Self, ReserveError> {
        let too_large = ReserveError::TooLarge(request.size);
        let len = granules(request.offset, request.size, shift).ok_or(too_large)?;
        let run = len.checked_add(request.guard.after).ok_or(too_large)?;
        let span = run.checked_add(request.guard.before).ok_or(too_large)?;
        let align = (request.align >> shift).max(1);
        let grid = Grid::new(len, align, boundary).ok_or(ReserveError::CrossesBoundary {
            size: request.size,
            boundary: request.boundary.unwrap_or(0),
        })?;
        // A start aligned to at least the grant's length cannot cross the boundary.
        let bound = boundary.filter(|boundary| align < len && align < *boundary);
        let bound = bound.map(u64::trailing_zeros);
        Ok(Self {
            need: Need::new(span, run, align.trailing_zeros(), bound, len),
            before: request.guard.before,
            grid,
            zones: zones(request, shift),
        })
    }

    /// A sufficient condition when the grid excludes starts: a gap of this length, or one with a
    /// block that contains the grant. `None` if the grid excludes nothing, or the length exceeds 64
    /// bits.
    pub(super) fn sure(&self) -> Option<Need> {
        let slack = self.grid.slack();
        let any = self.need.span.checked_add(slack).filter(|_| slack > 0)?;
        // From the start of a block, the grant crosses no boundary that is at least as long as the
        // grant.
        let block = self.need.run.max(1 << self.need.order);
        let block = block.checked_next_power_of_two();
        let block = block.filter(|block| self.before == 0 && *block <= any);
        let orders = block.map_or(Need::NO_BLOCK, |block| block.ilog2() + 1);
        // A gap of nearly twice as many granules always contains such a block.
        let any = block.map_or(any, |block| any.min(block.saturating_mul(2) - 1));
        Some(Need {
            order: 0,
            boundary: None,
            orders,
            any,
            ..self.need
        })
    }

    /// Granules of the grant.
    #[inline(always)]
    pub(crate) fn len(&self) -> u64 {
        self.need.len
    }

    /// Granules from the start of the grant to the last one that has to be free, less one.
    #[inline(always)]
    pub(super) fn reach(&self) -> u64 {
        self.need.run - 1
    }

    /// The starts that `gap` permits in `zone`, on the grid or not.
    #[inline(always)]
    pub(super) fn starts(&self, gap: Gap, zone: Zone) -> Option<Zone> {
        let low = gap.first.checked_add(self.before)?.max(zone.low);
        let high = gap.last.checked_sub(self.reach())?.min(zone.high);
        (low <= high).then_some(Zone { low, high })
    }
}

/// Permitted starts by the window and the bus's exclusion, low zone first.
#[inline(always)]
fn zones(request: &Request, shift: u32) -> [Option<Zone>; 2] {
    let zone = |low: u64, high: u64| {
        // The last byte of data limits the zone.
        let top = high.checked_sub(request.offset.checked_add(request.size - 1)?)? >> shift;
        let low = (low >> shift) + u64::from(low & ((1 << shift) - 1) != 0);
        (low <= top).then_some(Zone { low, high: top })
    };
    let (low, high) = (request.low.raw(), request.high.raw());
    match request.exclusion {
        Some((lowaddr, highaddr)) if lowaddr < highaddr => {
            let above = highaddr.raw().checked_add(1);
            [
                zone(low, high.min(lowaddr.raw())),
                above.and_then(|above| zone(low.max(above), high)),
            ]
        }
        _ => [zone(low, high), None],
    }
}

/// The data of `request` in a grant at granule `start`: all of its bytes, or those up to the
/// boundary.
#[inline(always)]
pub(crate) fn data(request: &Request, start: u64, shift: u32) -> Option<Extent<Iova>> {
    let first = Iova::new((start << shift) + request.offset);
    let room = request
        .boundary
        .filter(|_| request.split == Split::AtBoundary);
    let room = room.map_or(u64::MAX, |boundary| {
        boundary - (first.raw() & (boundary - 1))
    });
    Extent::from_len(first, request.size.min(room))
}

#[cfg(test)]
mod tests {
    use super::{Gap, Query, Zone};
    use crate::iova::{Guard, Largest, Measure, Request};

    #[test]
    fn data_as_long_as_its_alignment_cannot_cross_a_boundary() {
        let bound = |align| {
            let request = Request::new(4).align(align).boundary(16);
            Query::new(&request, 0).unwrap().need.boundary
        };
        assert_eq!([2, 4, 8].map(bound), [Some(4), None, None]);
    }

    fn holds_a_place(query: &Query, gap: Gap) -> bool {
        let everywhere = Zone {
            low: 0,
            high: u64::MAX,
        };
        query.starts(gap, everywhere).is_some_and(|starts| {
            let first = query.grid.first_from(starts.low);
            first.is_some_and(|first| first <= starts.high)
        })
    }

    #[test]
    fn a_gap_that_surely_holds_a_place_does() {
        let mut sure_gaps = 0;
        for (size, align) in (1..7).flat_map(|size| [1, 2, 4].map(|align| (size, align))) {
            for (before, after) in [(0, 0), (1, 0), (0, 1), (2, 1)] {
                for boundary in [None, Some(8), Some(16)] {
                    let mut request = Request::new(size).align(align);
                    request.guard = Guard { before, after };
                    request.boundary = boundary;
                    let query = Query::new(&request, 0).unwrap();
                    let Some(sure) = query.sure() else { continue };
                    for (first, len) in
                        (0..32).flat_map(|first| (1..40).map(move |len| (first, len)))
                    {
                        let last = first + len - 1;
                        if len >= sure.span && Largest::gap_meets(first, len, &sure) {
                            sure_gaps += 1;
                            let held = holds_a_place(&query, Gap { first, last });
                            assert!(held, "{request:?} in {first}..={last}");
                        }
                    }
                }
            }
        }
        assert!(sure_gaps > 10_000, "{sure_gaps}");
    }
}
