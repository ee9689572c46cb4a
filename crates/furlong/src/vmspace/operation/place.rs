//! The choice of a place for a mapping. It stays valid only while nobody else changes the space.

use crate::addr::{Address, VirtAddr};
use crate::vmspace::{
    Config, Direction, Flags, Hold, Index, MapError, Pages, Request, Space, Value,
};

/// The requirements on a gap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    /// The length in pages.
    pub(crate) len: u64,
    /// The alignment of the first page, in pages: a power of two.
    pub(super) align: u64,
}

impl<A: Value, C: Config, H: Hold> Space<A, C, H> {
    /// Chooses the place of a mapping, and checks a fixed one.
    ///
    /// # Errors
    /// See [`MapError`].
    pub(crate) fn place(&self, request: &Request<A>, len: u64) -> Result<Pages, MapError> {
        if let Some(start) = request.fixed() {
            return self.fixed_place(start, len);
        }
        let align = request.align.max(self.state.layout.page);
        if !align.is_power_of_two() {
            return Err(MapError::Unaligned);
        }
        let need = Need {
            len,
            align: align >> self.state.grid.shift,
        };
        let hint = request.hint().and_then(|hint| self.hint(hint));
        let hint = hint.map(|hint| hint.max(self.state.grid.low));
        let first = match self.window(request) {
            Some(window) => {
                let hinted = self.hinted(hint, need, window.map(|window| window.last));
                hinted.or_else(|| self.search(window?, need, Direction::BottomUp))
            }
            None => self.anywhere(hint, need),
        };
        let first = first.ok_or(MapError::NoGap)?;
        Ok(Pages::of_len(first, len).expect("the place is in the space"))
    }

    fn fixed_place(&self, start: VirtAddr, len: u64) -> Result<Pages, MapError> {
        let end = u128::from(start.raw()) + (u128::from(len) << self.state.grid.shift);
        if end > u128::from(self.state.layout.last.raw()) + 1 {
            return Err(MapError::Beyond);
        }
        if !self.state.grid.is_aligned(start) {
            return Err(MapError::Unaligned);
        }
        let first = self.state.grid.page(start);
        if first < self.state.grid.low {
            return Err(MapError::BelowLow);
        }
        Ok(Pages::of_len(first, len).expect("it was found to be in the space"))
    }

    /// The search window of a request, if it has one; `Some(None)` if it contains no whole page.
    fn window(&self, request: &Request<A>) -> Option<Option<Pages>> {
        let (first, last) = request.window?;
        let first = first.align_up(self.state.layout.page);
        // A part of a page at the end does not count.
        let end = last
            .raw()
            .checked_add(1)
            .map(|end| end >> self.state.grid.shift);
        let last = end.map_or(Some(self.state.grid.last), |end| end.checked_sub(1));
        Some(first.zip(last).and_then(|(first, last)| {
            let first = self.state.grid.page(first).max(self.state.grid.low);
            Pages::new(first, last.min(self.state.grid.last))
        }))
    }

    /// The page of a hint. One within the first page is no hint.
    pub(super) fn hint(&self, hint: VirtAddr) -> Option<u64> {
        Some(self.state.grid.page(hint)).filter(|hint| *hint != 0)
    }

    /// The place of a hint, which may lie below the lowest address, or if that is not free, any
    /// place.
    pub(super) fn anywhere(&self, hint: Option<u64>, need: Need) -> Option<u64> {
        let hinted = self.hinted(hint, need, Some(self.state.grid.last));
        hinted.or_else(|| self.vacant(need))
    }

    /// The place of the hint, if all of it is free, and not too close below a stack.
    fn hinted(&self, hint: Option<u64>, need: Need, last: Option<u64>) -> Option<u64> {
        let first = hint?;
        let pages = Pages::of_len(first, need.len).filter(|pages| Some(pages.last) <= last)?;
        let next = self.index.at_or_after(first);
        let limit = next.map(|next| self.lower_end(next.pages.first, next.attr.flags()));
        let is_free = limit.is_none_or(|limit| pages.last < limit);
        (is_free && first.is_multiple_of(need.align)).then_some(first)
    }

    /// The place that a search without a hint finds.
    pub(super) fn vacant(&self, need: Need) -> Option<u64> {
        let up = || self.search(self.state.grid.up?, need, Direction::BottomUp);
        match self.state.layout.direction {
            Direction::BottomUp => up(),
            Direction::TopDown => {
                let down = self.state.grid.down;
                let found = down.and_then(|down| self.search(down, need, Direction::TopDown));
                found.or_else(up)
            }
        }
    }

    /// The lowest or highest place in a window.
    ///
    /// With an alignment, this first tries gaps that are large enough wherever they begin, which
    /// takes O(log n). If there is none, it takes the first gap that holds an aligned place. That
    /// costs O(log n) for each gap that is only just too small.
    fn search(&self, window: Pages, need: Need, direction: Direction) -> Option<u64> {
        let sure = need.len.checked_add(need.align - 1);
        let surely = sure.and_then(|sure| self.first_fit(window, sure, need, direction));
        if surely.is_some() || need.align == 1 {
            return surely;
        }
        self.first_fit(window, need.len, need, direction)
    }

    /// The place in the first gap that has at least `least` pages and holds one.
    ///
    /// A gap below an area that grows is smaller than it looks, because of the guard. Each further
    /// step of the loop skips one such gap. So there are at most as many steps as areas that grow,
    /// plus gaps too small for the alignment if `least` allows them.
    fn first_fit(
        &self,
        mut window: Pages,
        least: u64,
        need: Need,
        direction: Direction,
    ) -> Option<u64> {
        loop {
            let gap = match direction {
                Direction::TopDown => self.index.highest(window, least),
                Direction::BottomUp => self.index.lowest(window, least),
            }?;
            let limit = self.limit_above(gap);
            let gap = if need.align == 1 && limit.is_none() {
                gap
            } else {
                self.whole(gap, window)
            };
            let usable = match limit {
                None => Some(gap),
                Some(limit) => limit
                    .checked_sub(1)
                    .and_then(|last| Pages::new(gap.first, gap.last.min(last))),
            };
            let fits = |gap: &Pages| gap.len() >= least;
            let place = usable.filter(fits);
            let place = place.and_then(|gap| aligned(gap, need, direction));
            if place.is_some() {
                return place;
            }
            window = match direction {
                Direction::TopDown => Pages::new(window.first, gap.first.checked_sub(1)?),
                Direction::BottomUp => Pages::new(gap.last.checked_add(1)?, window.last),
            }?;
        }
    }

    /// The whole gap that contains `part`, within `window`.
    fn whole(&self, part: Pages, window: Pages) -> Pages {
        let below = self.index.before(part.first);
        let above = self.index.at_or_after(part.last);
        let first = below.map_or(0, |below| below.pages.last.saturating_add(1));
        let last = above.map_or(u64::MAX, |above| above.pages.first.saturating_sub(1));
        Pages {
            first: first.max(window.first),
            last: last.min(window.last),
        }
    }

    /// The start of the guard of the area above a gap, if that area grows.
    fn limit_above(&self, gap: Pages) -> Option<u64> {
        if self.state.growing == 0 {
            return None;
        }
        let above = self.index.at_or_after(gap.last)?;
        let grows = above.attr.flags().contains(Flags::GROWS_DOWN);
        grows.then(|| self.lower_end(above.pages.first, above.attr.flags()))
    }

    /// The first page that belongs to an area, including its guard.
    pub(super) fn lower_end(&self, first: u64, flags: Flags) -> u64 {
        if flags.contains(Flags::GROWS_DOWN) {
            first.saturating_sub(self.state.layout.guard)
        } else {
            first
        }
    }
}

/// The outermost aligned place in a gap.
fn aligned(gap: Pages, need: Need, direction: Direction) -> Option<u64> {
    let mask = need.align - 1;
    let highest = gap.last.checked_sub(need.len - 1)?;
    let first = match direction {
        Direction::TopDown => highest & !mask,
        Direction::BottomUp => gap.first.checked_add(mask)? & !mask,
    };
    (gap.first <= first && first <= highest).then_some(first)
}
