//! Size classes: the extents that magazines hold, and the requests that they may serve.

use crate::addr::{Address, Extent, Iova};
use crate::iova::quarantine::tag::{CLASS_BITS, Tag};
use crate::iova::search::query;
use crate::iova::{Guard, Request, Split};

/// Number of size classes: 1, 2, 4, 8, 16 and 32 granules, as Linux's `IOVA_RANGE_CACHE_MAX_SIZE`.
pub const CLASSES: usize = 6;

const _: () = assert!(
    CLASSES < Tag::OF_SPACE as usize,
    "a tag has room for a class"
);

/// A size class by its order: extents of `1 << order` granules that start at a multiple of their
/// length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class(u8);

impl Class {
    /// The class with this order, which is less than [`CLASSES`].
    #[inline(always)]
    pub(super) const fn of_order(order: usize) -> Option<Self> {
        if order < CLASSES {
            Some(Self(order as u8))
        } else {
            None
        }
    }

    /// All classes.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        (0..CLASSES).filter_map(Self::of_order)
    }

    #[inline(always)]
    pub(super) const fn order(self) -> usize {
        self.0 as usize
    }

    /// Bytes of its extents, less one, in granules of `1 << shift` bytes; `None` if they exceed 64
    /// bits.
    #[inline(always)]
    pub(super) fn mask(self, shift: u32) -> Option<u64> {
        let order = u32::from(self.0);
        (order + shift < u64::BITS).then(|| (1 << (order + shift)) - 1)
    }
}

impl Tag {
    /// The same owner's tag for a class.
    #[inline(always)]
    pub(super) fn with_class(self, class: Class) -> Self {
        Self(self.0 | (class.order() as u32 + 1))
    }

    /// The class, if the tag has one.
    #[inline(always)]
    pub(super) fn class(self) -> Option<Class> {
        let order = (self.0 & ((1 << CLASS_BITS) - 1)).checked_sub(1)?;
        Class::of_order(order as usize)
    }
}

/// A request that an extent of a size class can serve: the class and the suitable starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) class: Class,
    /// Bytes of its extents, less one.
    mask: u64,
    /// Offset of the data in the extent.
    offset: u64,
    /// Offset of the last byte of data in the extent.
    tail: u64,
    /// The lowest suitable start.
    low: u64,
    /// The highest suitable start.
    top: u64,
    /// Starts strictly between these two do not suit.
    excluded: Option<(u64, u64)>,
}

impl Wanted {
    /// `None` for a request that only the tree can serve. Such a request is invalid, exceeds the
    /// `classes` smallest classes, has guards, or has an alignment above or a boundary below its
    /// class's length.
    #[inline]
    pub(super) fn new(request: &Request, shift: u32, classes: usize) -> Option<Self> {
        if request.size == 0 || request.offset >= 1 << shift || !request.align.is_power_of_two() {
            return None;
        }
        let len = query::granules(request.offset, request.size, shift)?;
        let order = (len - 1).checked_ilog2().map_or(0, |log| log as usize + 1);
        let class = Class::of_order(order).filter(|_| order < classes)?;
        let mask = class.mask(shift)?;
        let spans = |boundary: u64| boundary.is_power_of_two() && boundary > mask;
        let plain = request.guard == Guard::NONE && request.align - 1 <= mask;
        if !plain || !request.boundary.is_none_or(spans) {
            return None;
        }
        // Offset and size are below 64 granules: no overflow.
        let tail = request.offset + (request.size - 1);
        let wanted = Self {
            class,
            mask,
            offset: request.offset,
            tail,
            low: request.low.raw(),
            top: request.high.raw().checked_sub(tail)?,
            excluded: None,
        };
        match request.exclusion {
            Some((low, high)) if low < high => wanted.without(low, high),
            _ => Some(wanted),
        }
    }

    /// The same for data wholly at or below `lowaddr` or above `highaddr`.
    fn without(mut self, lowaddr: Iova, highaddr: Iova) -> Option<Self> {
        let above = highaddr.raw().checked_add(1);
        let below = lowaddr.raw().checked_sub(self.tail);
        match (below, above) {
            (Some(below), Some(above)) => self.excluded = Some((below, above)),
            (Some(below), None) => self.top = self.top.min(below),
            (None, Some(above)) => self.low = self.low.max(above),
            (None, None) => return None,
        }
        Some(self)
    }

    /// True if an extent of the class that starts there suits the request.
    #[inline(always)]
    pub(super) fn suits(&self, start: Iova) -> bool {
        let start = start.raw();
        let is_in = self.low <= start && start <= self.top;
        is_in
            && self
                .excluded
                .is_none_or(|(below, above)| start <= below || start >= above)
    }

    /// The extent of the class that starts there, and the data in it.
    #[inline(always)]
    pub(super) fn extents(&self, start: Iova) -> [Extent<Iova>; 2] {
        [(0, self.mask), (self.offset, self.tail)].map(|(first, last)| {
            let (first, last) = (start.raw() + first, start.raw() + last);
            Extent::from_last(Iova::new(first), Iova::new(last)).expect("data has a byte")
        })
    }

    /// The request for a whole extent of the class, with the window and the exclusion of `request`.
    pub(super) fn whole(&self, request: &Request) -> Request {
        Request {
            size: self.mask + 1,
            offset: 0,
            align: self.mask + 1,
            boundary: None,
            split: Split::Never,
            ..*request
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CLASSES, Class, Wanted};
    use crate::addr::Iova;
    use crate::iova::quarantine::tag::Tag;
    use crate::iova::{Guard, Request};

    const PAGE: u64 = 4096;

    fn order(request: &Request) -> Option<usize> {
        Wanted::new(request, 12, CLASSES).map(|wanted| wanted.class.order())
    }

    #[test]
    fn a_tag_keeps_owner_and_class() {
        assert_eq!(Tag::fresh().class(), None);
        let owner = Tag::fresh().of_domain();
        assert_eq!(owner.class(), None);
        for class in Class::all() {
            let tag = owner.with_class(class);
            assert!(tag.is_with(owner));
            assert_eq!(tag.class(), Some(class));
        }
    }

    #[test]
    fn sizes_are_rounded_up_to_a_power_of_two_of_granules() {
        let orders = [
            (1, 0),
            (PAGE, 0),
            (PAGE + 1, 1),
            (3 * PAGE, 2),
            (17 * PAGE, 5),
        ];
        for (size, expected) in orders {
            assert_eq!(order(&Request::new(size)), Some(expected));
        }
        assert_eq!(order(&Request::new(32 * PAGE)), Some(5));
        assert_eq!(order(&Request::new(32 * PAGE).offset(1)), None);
        assert_eq!(order(&Request::new(u64::MAX).offset(9)), None);
    }

    #[test]
    fn what_an_aligned_extent_gives_away_is_served_and_no_more() {
        let four = Request::new(3 * PAGE);
        assert_eq!(order(&four.align(4 * PAGE)), Some(2));
        assert_eq!(order(&four.align(8 * PAGE)), None);
        assert_eq!(order(&four.boundary(4 * PAGE)), Some(2));
        assert_eq!(order(&four.boundary(2 * PAGE)), None);
        assert_eq!(order(&four.guard(Guard::ONE)), None);
    }

    #[test]
    fn what_makes_no_sense_is_left_to_the_tree_to_name() {
        let page = Request::new(PAGE);
        for request in [
            page.size(0),
            page.align(0),
            page.align(3),
            page.offset(PAGE),
            page.boundary(0),
            page.boundary(3 * PAGE),
        ] {
            assert_eq!(order(&request), None);
        }
    }

    #[test]
    fn a_class_longer_than_64_bits_has_no_extents() {
        let half = Request::new((1 << 63) + 1);
        assert_eq!(Wanted::new(&half, 63, CLASSES), None);
        assert_eq!(Class::of_order(1).unwrap().mask(63), None);
        assert_eq!(Class::of_order(0).unwrap().mask(63), Some(u64::MAX >> 1));
    }

    /// Byte by byte, on a space of 64 granules of 4 bytes.
    #[test]
    fn the_extents_that_suit_are_those_whose_data_lies_where_it_may() {
        let whole = |low, high| (Iova::new(low), Iova::new(high));
        for (size, offset) in [(1, 0), (4, 0), (4, 3), (9, 2), (16, 0)] {
            for (low, high) in [(0, 255), (5, 90), (90, 91), (250, u64::MAX)] {
                for zones in [None, Some((0, 7)), Some((40, 80)), Some((80, u64::MAX))] {
                    let mut request = Request::new(size).offset(offset);
                    (request.low, request.high) = whole(low, high);
                    request.exclusion = zones.map(|(low, high)| whole(low, high));
                    compare(&request, zones);
                }
            }
        }
    }

    fn compare(request: &Request, zones: Option<(u64, u64)>) {
        let wanted = Wanted::new(request, 2, CLASSES);
        for start in (0..256).step_by(4) {
            let (first, last) = (
                start + request.offset,
                start + request.offset + request.size - 1,
            );
            let is_in = Iova::new(start) >= request.low && Iova::new(last) <= request.high;
            let is_out = zones.is_some_and(|(low, high)| last > low && start <= high);
            let suits = wanted.is_some_and(|wanted| wanted.suits(Iova::new(start)));
            assert_eq!(suits, is_in && !is_out, "{request:?} at {first}");
        }
    }
}
