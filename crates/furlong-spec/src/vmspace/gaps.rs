//! The model's choice of a place. It examines every gap and every place in it.

use furlong::addr::{Address, VirtAddr};
use furlong::vmspace::{At, Direction, Flags, MapError, Request};

use super::Model;
use super::model::Run;

impl Model {
    /// The first page of the place for a request of `len` pages.
    pub(super) fn place(&self, request: &Request<u32>, len: i128) -> Result<i128, MapError> {
        let hint = match request.at {
            At::Fixed(start) | At::Vacant(start) => return self.fixed_place(start, len),
            At::Hint(hint) => Some(hint),
            At::Anywhere => None,
        };
        let align = request.align.max(self.world.page);
        if !align.is_power_of_two() {
            return Err(MapError::Unaligned);
        }
        let align = i128::from(align / self.world.page);
        let place = match request.window {
            None => self.anywhere(hint, len, align),
            Some((first, last)) => {
                let page = i128::from(self.world.page);
                let first = (i128::from(first.raw()) + page - 1) / page;
                let end = (i128::from(last.raw()) + 1) / page;
                let window = self.run(first, end);
                let reach = self.page_number(window.end);
                let hinted = self.hinted(hint, len, align).filter(|first| {
                    // An empty window has no end that a hint could respect.
                    !window.is_empty() && first + len <= reach
                });
                hinted.or_else(|| self.search(window, len, align, Direction::BottomUp))
            }
        };
        place.ok_or(MapError::NoGap)
    }

    fn fixed_place(&self, start: VirtAddr, len: i128) -> Result<i128, MapError> {
        let page = i128::from(self.world.page);
        let end = i128::from(start.raw()) + len * page;
        if end > (i128::from(self.world.last()) + 1) * page {
            return Err(MapError::Beyond);
        }
        if !self.is_aligned(start) {
            return Err(MapError::Unaligned);
        }
        let first = self.number_of(start);
        if first < i128::from(self.world.first) {
            return Err(MapError::BelowLow);
        }
        Ok(first)
    }

    /// A place at the hint, or else one that a search finds.
    pub(super) fn anywhere(&self, hint: Option<VirtAddr>, len: i128, align: i128) -> Option<i128> {
        let up = self.run(
            i128::from(self.world.bottom()),
            i128::from(self.world.last()) + 1,
        );
        let down = self.run(
            i128::from(self.world.first),
            i128::from(self.world.top()) + 1,
        );
        let upwards = || self.search(up, len, align, Direction::BottomUp);
        let searched = || match self.world.direction {
            Direction::BottomUp => upwards(),
            Direction::TopDown => {
                let found = self.search(down, len, align, Direction::TopDown);
                found.or_else(upwards)
            }
        };
        self.hinted(hint, len, align).or_else(searched)
    }

    /// The place at the hint, if it is free and not in the guard of the area above.
    fn hinted(&self, hint: Option<VirtAddr>, len: i128, align: i128) -> Option<i128> {
        let number = self.number_of(hint?);
        if number == 0 {
            return None;
        }
        self.hinted_at(number.max(i128::from(self.world.first)), len, align)
    }

    /// True if a hint below the lowest page names a place that is free, which nobody may map.
    pub(super) fn is_low_hint(&self, first: i128, len: i128) -> bool {
        let is_low = first != 0 && first < i128::from(self.world.first);
        is_low && self.hinted_at(first, len, 1).is_some()
    }

    fn hinted_at(&self, first: i128, len: i128, align: i128) -> Option<i128> {
        let fits = first + len <= i128::from(self.world.last()) + 1;
        let next = self.next_area(first);
        let limit = next.map(|next| self.page_number(next.start) - self.guard_below(&next));
        let is_free = limit.is_none_or(|limit| first + len <= limit.max(0));
        (fits && is_free && first % align == 0).then_some(first)
    }

    /// The number of pages that an area keeps free below itself.
    pub(super) fn guard_below(&self, area: &Run) -> i128 {
        if self.page(area.start).flags.contains(Flags::GROWS_DOWN) {
            i128::from(self.world.guard)
        } else {
            0
        }
    }

    /// The outermost place in the first gap that is large enough for any alignment of its start. If
    /// there is none, in the first gap with a suitable place.
    fn search(&self, window: Run, len: i128, align: i128, direction: Direction) -> Option<i128> {
        let mut gaps = self.gaps(window);
        if direction == Direction::TopDown {
            gaps.reverse();
        }
        let roomy = gaps.iter().filter(|gap| gap.1 - gap.0 >= len + align - 1);
        let mut places = roomy.chain(&gaps).map(|gap| {
            let mut starts = (gap.0..).take_while(|first| first + len <= gap.1);
            match direction {
                Direction::BottomUp => starts.find(|first| first % align == 0),
                Direction::TopDown => starts.filter(|first| first % align == 0).last(),
            }
        });
        places.find_map(|place| place)
    }

    /// The gaps in a window, from first page to end, without the pages in the guard of the area
    /// above.
    fn gaps(&self, window: Run) -> Vec<(i128, i128)> {
        let mut gaps = Vec::new();
        let mut at = window.start;
        while at < window.end {
            let rest = &self.pages[at..window.end];
            let free = rest.iter().take_while(|page| page.is_none()).count();
            let end = at + free;
            let next = self.next_area(self.page_number(end));
            let limit = next.map_or(i128::MAX, |next| {
                self.page_number(next.start) - self.guard_below(&next)
            });
            gaps.push((self.page_number(at), self.page_number(end).min(limit)));
            at = end.max(at + 1);
        }
        gaps
    }
}
