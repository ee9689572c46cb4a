//! Properties of alignment, and of extents at both ends of the address space, proved for all
//! inputs.

use super::{Address, Extent, Iova};
use crate::proofs::{Input, Property};

/// The properties of this file.
pub const PROPERTIES: &[Property] = &[
    Property::new(
        "addr::align_down_is_the_greatest",
        align_down_is_the_greatest,
    ),
    Property::new("addr::align_up_is_the_least", align_up_is_the_least),
    Property::new("addr::a_length_gives_its_extent", a_length_gives_its_extent),
    Property::new("addr::an_end_gives_its_extent", an_end_gives_its_extent),
    Property::new(
        "addr::what_overlaps_shares_an_address",
        what_overlaps_shares_an_address,
    ),
    Property::new(
        "addr::intersection_is_what_is_in_both",
        intersection_is_what_is_in_both,
    ),
    Property::new(
        "addr::a_split_keeps_every_address",
        a_split_keeps_every_address,
    ),
];

fn is_multiple(word: u64, align: u64) -> bool {
    word & (align - 1) == 0
}

/// Two words as an extent, from the smaller to the greater.
fn between(a: u64, b: u64) -> Option<Extent<Iova>> {
    Extent::from_last(Iova::new(a.min(b)), Iova::new(a.max(b)))
}

/// The result is a multiple at or below, and no other multiple is nearer.
pub fn align_down_is_the_greatest(x: &Input) -> bool {
    let (address, align, other) = (x[0], 1 << (x[1] % 64), x[2]);
    let down = Iova::new(address).align_down(align).raw();
    let nearer = other > down && other <= address && is_multiple(other, align);
    down <= address && is_multiple(down, align) && !nearer
}

/// The result is a multiple at or above, and no other multiple is nearer; without a result there is
/// no multiple at or above.
pub fn align_up_is_the_least(x: &Input) -> bool {
    let (address, align, other) = (x[0], 1 << (x[1] % 64), x[2]);
    let may_be = other >= address && is_multiple(other, align);
    match Iova::new(address).align_up(align) {
        Some(up) => {
            let up = up.raw();
            up >= address && is_multiple(up, align) && !(may_be && other < up)
        }
        None => !may_be,
    }
}

/// An extent of a length has that length and begins where it should. It is refused if and only if
/// it would be empty or extend past the last address.
pub fn a_length_gives_its_extent(x: &Input) -> bool {
    let (start, len) = (x[0], x[1]);
    let fits = len > 0 && len - 1 <= u64::MAX - start;
    match Extent::from_len(Iova::new(start), len) {
        Some(extent) => {
            let end = start.checked_add(len);
            let same = extent.start().raw() == start && extent.len() == Some(len);
            fits && same && extent.end().map(Address::raw) == end
        }
        None => !fits,
    }
}

/// A half-open extent contains the addresses from its start to before its end. It is refused if and
/// only if there are none.
pub fn an_end_gives_its_extent(x: &Input) -> bool {
    let (start, end, address) = (x[0], x[1], x[2]);
    match Extent::from_end(Iova::new(start), Iova::new(end)) {
        Some(extent) => {
            let inside = start <= address && address < end;
            extent.contains(Iova::new(address)) == inside && extent.end() == Some(Iova::new(end))
        }
        None => start >= end,
    }
}

/// Two extents overlap if and only if the greater start is in both.
pub fn what_overlaps_shares_an_address(x: &Input) -> bool {
    let (Some(a), Some(b)) = (between(x[0], x[1]), between(x[2], x[3])) else {
        return false;
    };
    let start = a.start().max(b.start());
    a.overlaps(&b) == (a.contains(start) && b.contains(start)) && a.overlaps(&b) == b.overlaps(&a)
}

/// An address is in the intersection if and only if it is in both. The fourth word is a distance.
pub fn intersection_is_what_is_in_both(x: &Input) -> bool {
    let (Some(a), address) = (between(x[0], x[1]), Iova::new(x[3])) else {
        return false;
    };
    let Some(b) = Extent::from_last(Iova::new(x[2]), Iova::new(x[2] | x[3])) else {
        return false;
    };
    let both = a.contains(address) && b.contains(address);
    match a.intersection(&b) {
        Some(common) => common.contains(address) == both && a.overlaps(&b),
        None => !both && !a.overlaps(&b),
    }
}

/// Each address of an extent is in exactly one of the two parts. A split is refused if and only if
/// a part would be empty.
pub fn a_split_keeps_every_address(x: &Input) -> bool {
    let (Some(extent), at, address) = (between(x[0], x[1]), Iova::new(x[2]), Iova::new(x[3]))
    else {
        return false;
    };
    match extent.split_at(at) {
        Some((below, rest)) => {
            let ends = below.end() == Some(at) && rest.start() == at;
            let parts = below.contains(address) != rest.contains(address);
            ends && parts == extent.contains(address)
        }
        None => at <= extent.start() || at > extent.last(),
    }
}
