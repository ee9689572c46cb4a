//! Properties of requests, proved for all inputs: alignment, boundaries and windows.
//!
//! [`Grid::rank`] and [`Grid::select`] divide by the number of starts in a period, an unknown word
//! of 65 bits. A solver cannot handle that; `grid.rs` tests them against a list.

use super::request::Request;
use super::search::grid::Grid;
use super::search::query::{Query, Zone, granules};
use crate::addr::Iova;
use crate::proofs::{Input, Property};

/// The properties of this file.
pub const PROPERTIES: &[Property] = &[
    Property::new("iova::a_grid_is_refused_rightly", a_grid_is_refused_rightly),
    Property::new(
        "iova::first_from_is_the_least_start",
        first_from_is_the_least_start,
    ),
    Property::new(
        "iova::last_to_is_the_greatest_start",
        last_to_is_the_greatest_start,
    ),
    Property::new("iova::slack_always_suffices", slack_always_suffices),
    Property::new("iova::slack_is_not_too_much", slack_is_not_too_much),
    Property::new("iova::granules_hold_the_bytes", granules_hold_the_bytes),
    // The cases fix the size of a granule.
    Property::in_cases(
        "iova::a_zone_begins_with_the_window",
        a_zone_begins_with_the_window,
        [0, 0, 32, 0, 0],
    ),
    Property::in_cases(
        "iova::a_zone_ends_with_the_window",
        a_zone_ends_with_the_window,
        [0, 0, 32, 0, 0],
    ),
];

/// A request's length in granules, its alignment and its boundary. The exponents are the low twelve
/// bits of a word; a boundary of 63 stands for none.
struct Rules {
    len: u64,
    align: u64,
    boundary: Option<u64>,
}

impl Rules {
    fn of(len: u64, exponents: u64) -> Option<Self> {
        let boundary = exponents >> 6 & 63;
        (len > 0).then_some(Self {
            len,
            align: 1 << (exponents & 63),
            boundary: (boundary < 63).then_some(1 << boundary),
        })
    }

    fn grid(&self) -> Option<Grid> {
        Grid::new(self.len, self.align, self.boundary)
    }

    /// True if a request may start there: aligned, and between two multiples of the boundary.
    fn allow(&self, start: u64) -> bool {
        let is_within = |boundary: u64| {
            let room = boundary - (start & (boundary - 1));
            self.len <= room
        };
        start & (self.align - 1) == 0 && self.boundary.is_none_or(is_within)
    }
}

/// Grid creation fails only if no start is allowed; if it succeeds, 0 is allowed.
pub fn a_grid_is_refused_rightly(x: &Input) -> bool {
    let Some(rules) = Rules::of(x[0], x[1]) else {
        return true;
    };
    match rules.grid() {
        Some(_) => rules.allow(0),
        None => !rules.allow(x[2]),
    }
}

/// The start found is allowed, at or above `from`, and no allowed one lies between.
pub fn first_from_is_the_least_start(x: &Input) -> bool {
    let (Some(rules), from, other) = (Rules::of(x[0], x[1]), x[2], x[3]) else {
        return true;
    };
    let Some(grid) = rules.grid() else {
        return true;
    };
    let may_be = other >= from && rules.allow(other);
    match grid.first_from(from) {
        Some(first) => first >= from && rules.allow(first) && !(may_be && other < first),
        None => !may_be,
    }
}

/// The start found is allowed, at or below `to`, and no allowed one lies between.
pub fn last_to_is_the_greatest_start(x: &Input) -> bool {
    let (Some(rules), to, other) = (Rules::of(x[0], x[1]), x[2], x[3]) else {
        return true;
    };
    let Some(grid) = rules.grid() else {
        return true;
    };
    let last = grid.last_to(to);
    let nearer = other > last && other <= to && rules.allow(other);
    last <= to && rules.allow(last) && !nearer
}

/// Any `slack + 1` consecutive granules contain a start.
pub fn slack_always_suffices(x: &Input) -> bool {
    let (Some(rules), from) = (Rules::of(x[0], x[1]), x[2]) else {
        return true;
    };
    let Some(grid) = rules.grid() else {
        return true;
    };
    match from.checked_add(grid.slack()) {
        Some(to) => grid.first_from(from).is_some_and(|first| first <= to),
        None => true,
    }
}

/// One granule less does not always contain a start: not after the last start of a period, or after
/// any start if only the alignment counts.
pub fn slack_is_not_too_much(x: &Input) -> bool {
    let Some(rules) = Rules::of(x[0], x[1]) else {
        return true;
    };
    let Some(grid) = rules.grid().filter(|grid| grid.slack() > 0) else {
        return true;
    };
    // The granules after 0 and after the last start of the first period.
    let period_end = rules.boundary.map_or(0, |boundary| boundary - 1);
    let is_free = |after: u64| {
        let next = grid.first_from(after + 1);
        next.is_none_or(|next| next - after > grid.slack())
    };
    is_free(0) || is_free(grid.last_to(period_end))
}

/// The number of granules for `size` bytes, `offset` bytes into the first one, suffices, and one
/// less does not.
pub fn granules_hold_the_bytes(x: &Input) -> bool {
    let (shift, size) = ((x[0] & 31) as u32, x[1]);
    let offset = x[2] & ((1 << shift) - 1);
    if size == 0 {
        return true;
    }
    let bytes = u128::from(offset) + u128::from(size);
    match granules(offset, size, shift) {
        Some(count) => {
            let count = u128::from(count);
            count << shift >= bytes && (count - 1) << shift < bytes
        }
        None => bytes > 1 << 64,
    }
}

/// Returns whether a granule is in a zone of the request, and its first address.
fn in_zones(request: &Request, start: u64, shift: u32) -> Option<(bool, u64)> {
    let query = Query::new(request, shift).ok()?;
    let holds = |zone: &Zone| zone.low <= start && start <= zone.high;
    let first = start << shift;
    (first >> shift == start).then_some((query.zones.iter().flatten().any(holds), first))
}

/// A granule is in the zone if and only if it begins at the window's first address or above.
pub fn a_zone_begins_with_the_window(x: &Input) -> bool {
    let request = Request::new(1).window(Iova::new(x[0]), Iova::new(u64::MAX));
    match in_zones(&request, x[1], x[2] as u32 & 31) {
        Some((inside, first)) => inside == (first >= x[0]),
        None => true,
    }
}

/// A granule is in the zone if and only if data that begins with it ends at the window's last
/// address or below.
pub fn a_zone_ends_with_the_window(x: &Input) -> bool {
    let (high, size) = (x[0], (x[3] >> 1).max(1));
    let request = Request::new(size).window(Iova::new(0), Iova::new(high));
    match in_zones(&request, x[1], x[2] as u32 & 31) {
        Some((inside, first)) => inside == (first <= high && size - 1 <= high - first),
        None => true,
    }
}
