//! Mappings.

use crate::addr::VirtAddr;
use crate::vmspace::{
    At, Attr, Config, Entry, Flags, Freed, Hold, Index, MapError, Pages, Piece, Refused, Request,
    Space, Value, unmapped,
};

/// The largest number of index changes that [`Space::map`] makes; see [`Space::prepare`].
pub const MAP_CHANGES: usize = 2;

/// A range of pages that is to become an area, or a part of one.
#[derive(Clone, Copy)]
pub(super) struct Put {
    pub(crate) pages: Pages,
    attr: Attr,
    /// True if something is mapped there, and true if that is one area which covers all the pages.
    is_over: bool,
    is_inside: bool,
    /// True if that area would keep its attributes and its value.
    is_same: bool,
    /// The neighbours that it is merged with, if nothing is mapped there.
    left: Option<Pages>,
    right: Option<Pages>,
}

impl<A: Value, C: Config, H: Hold> Space<A, C, H> {
    /// Maps a range for `request` and returns its start. It is merged with neighbours that have the
    /// same attributes and continuous offsets, if their values [merge](Value::merges).
    ///
    /// Replaced ranges, and values that are no longer used, are passed to `freed`.
    ///
    /// # Errors
    /// See [`MapError`]: of several causes, the first in its order. The value comes back, and
    /// nothing has changed.
    ///
    /// # Cost
    /// A search for a gap and at most [`MAP_CHANGES`] index changes.
    pub fn map(
        &mut self,
        request: Request<A>,
        freed: impl FnMut(Freed<A>),
    ) -> Result<VirtAddr, Refused<A>> {
        let plan = match self.plan_map(&request) {
            Ok(plan) => plan,
            Err(cause) => {
                let value = request.value;
                return Err(Refused { cause, value });
            }
        };
        let start = self.state.grid.address(plan.pages.first);
        match self.changing(|space| space.put(plan, request.value, freed)) {
            Ok(()) => Ok(start),
            Err(value) => {
                let cause = MapError::NoMemory;
                Err(Refused { cause, value })
            }
        }
    }

    /// The start that [`map`](Self::map) would return now.
    ///
    /// # Errors
    /// As [`map`](Self::map), except `NoMemory`.
    pub fn would_map(&self, request: &Request<A>) -> Result<VirtAddr, MapError> {
        let plan = self.plan_map(request)?;
        Ok(self.state.grid.address(plan.pages.first))
    }

    /// Checks a request and chooses its pages and attributes.
    fn plan_map(&self, request: &Request<A>) -> Result<Put, MapError> {
        let offset = request.offset.unwrap_or(0);
        if !self.state.grid.is_aligned(VirtAddr::new(offset)) {
            return Err(MapError::Offset);
        }
        if request.len == 0 {
            return Err(MapError::ZeroLen);
        }
        let len = self.state.grid.count(request.len);
        if len > self.state.grid.last.saturating_add(1) {
            return Err(MapError::TooLong);
        }
        if self.len() > self.state.layout.areas_max {
            return Err(MapError::TooManyAreas);
        }
        let pages = self.place(request, len)?;
        let plan = self.plan_put(pages, self.attr_of(request, pages), &request.value);
        if matches!(request.at, At::Vacant(_)) && plan.is_over {
            return Err(MapError::Occupied);
        }
        let pages_of_object = u64::MAX >> self.state.grid.shift;
        if (len - 1) > pages_of_object - (offset >> self.state.grid.shift) {
            return Err(MapError::OffsetOverflow);
        }
        let is_allowed = request.may.contains(request.prot.known());
        let access = (!is_allowed).then_some(MapError::Access);
        let growing = (!request.may_grow()).then_some(MapError::Growing);
        // The caller's own finding has its place among these.
        let causes = [request.refusal, access, growing].into_iter().flatten();
        if let Some(cause) = causes.min() {
            return Err(cause);
        }
        let replaced = match plan {
            Put { is_over: false, .. } => 0,
            Put {
                is_inside: true, ..
            } => len,
            _ => self.mapped_in(pages),
        };
        if !self.fits(len, replaced) {
            return Err(MapError::TooManyPages);
        }
        if self.cuts_in_vain(pages) {
            return Err(MapError::TooManyAreas);
        }
        Ok(plan)
    }

    fn attr_of(&self, request: &Request<A>, pages: Pages) -> Attr {
        let origin = request.offset.map_or(0, |offset| {
            (offset >> self.state.grid.shift).wrapping_sub(pages.first)
        });
        let object = request.offset.map_or(Flags::NONE, |_| Flags::OBJECT);
        let wiped = match request.flags.contains(Flags::DROPPABLE) {
            true => Flags::WIPE_ON_FORK,
            false => Flags::NONE,
        };
        let flags = request.flags.known().without(Flags::OBJECT) | object | wiped;
        Attr::new(request.prot, request.may, flags).with_origin(origin)
    }

    /// Plans to make `pages` an area or a part of one.
    pub(super) fn plan_put(&self, pages: Pages, attr: Attr, value: &A) -> Put {
        let [below, above] = self.index.beside(pages.first);
        let is_over = above.is_some_and(|above| above.pages.first <= pages.last);
        let end = pages.last.saturating_add(1);
        let goes_on = above.is_some_and(|above| pages.last < above.pages.last);
        let behind = if is_over && !goes_on {
            self.index.at_or_after(end)
        } else {
            above
        };
        // An area that covers the pages will end, and begin again, beside them after it was cut.
        let left = below.filter(|left| {
            let meets = pages.first <= left.pages.last.saturating_add(1);
            meets && left.attr == attr && left.value.merges(value)
        });
        let right = behind.filter(|right| {
            let meets = right.pages.first <= end && pages.last < right.pages.last;
            meets && right.attr == attr && value.merges(right.value)
        });
        let [left, right] = [left, right].map(|area| area.map(|area| area.pages));
        let is_same = |whole: Pages| {
            let begins = left.map_or(whole.first == pages.first, |left| left == whole);
            let ends = right.map_or(whole.last == pages.last, |right| right == whole);
            begins && ends && whole != pages
        };
        Put {
            pages,
            attr,
            is_over,
            is_inside: above.is_some_and(|above| above.pages.and(pages) == Some(pages)),
            is_same: is_over && above.is_some_and(|above| is_same(above.pages)),
            left,
            right,
        }
    }

    /// Makes pages an area or a part of one, in place of the old ones. At most two index changes.
    ///
    /// # Errors
    /// The value, if out of memory; nothing has changed.
    pub(super) fn put(
        &mut self,
        plan: Put,
        value: A,
        mut freed: impl FnMut(Freed<A>),
    ) -> Result<(), A> {
        let Put { pages, attr, .. } = plan;
        if plan.left.is_none() && plan.right.is_none() {
            return self.put_alone(plan, value, freed);
        }
        if plan.is_same {
            // The area stays, but not what was seen of it: these pages are others now.
            let whole = plan.left.or(plan.right).expect("an area covers them");
            if self.index.grow(whole.first, whole).is_err() {
                return Err(value);
            }
            // The rest of the area keeps its value.
            let piece = Piece {
                pages,
                attr,
                value: None,
            };
            freed(Freed::Unmapped(unmapped(&self.state.grid, piece)));
            freed(Freed::Merged(value));
            return Ok(());
        }
        let done = if plan.is_over {
            let room = self.index.prepare_over(pages);
            room.and_then(|()| self.cut(pages, &mut freed))
        } else {
            Ok(())
        };
        let done = done.and_then(|()| match (plan.left, plan.right) {
            (Some(left), Some(right)) => {
                let merged = |value| freed(Freed::Merged(value));
                let whole = left.through(right);
                self.index.extend(left.first, whole, merged)
            }
            (Some(left), None) => self.index.grow(left.first, left.through(pages)),
            (None, right) => {
                let last = right.map_or(pages.last, |right| right.last);
                self.index.grow(last, Pages { last, ..pages })
            }
        });
        if done.is_err() {
            return Err(value);
        }
        self.state.count_in(pages.len(), attr);
        freed(Freed::Merged(value));
        Ok(())
    }

    /// Makes pages an area of their own, in place of the old ones.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    fn put_alone(&mut self, plan: Put, value: A, mut freed: impl FnMut(Freed<A>)) -> Result<(), A> {
        let Put { pages, attr, .. } = plan;
        let (index, state) = (&mut self.index, &mut self.state);
        if plan.is_over {
            index.replace(pages, attr, value, |piece| {
                state.count_out(piece.pages.len(), piece.attr);
                freed(Freed::Unmapped(unmapped(&state.grid, piece)));
            })?;
        } else {
            index.put(pages, attr, value)?;
        }
        state.count_in(pages.len(), attr);
        Ok(())
    }

    /// True if the page limit allows `len` more pages after `replaced` are gone.
    pub(crate) fn fits(&self, len: u64, replaced: u64) -> bool {
        let left = self.state.usage.pages() - replaced;
        left.checked_add(len)
            .is_some_and(|pages| pages <= self.state.layout.pages_max)
    }

    /// True if removing `pages` would cut an area in two and the limit of areas is reached.
    pub(super) fn cuts_in_vain(&self, pages: Pages) -> bool {
        let cuts =
            |owner: Entry<'_, A>| owner.pages.first < pages.first && pages.last < owner.pages.last;
        self.len() >= self.state.layout.areas_max
            && self.index.at_or_after(pages.first).is_some_and(cuts)
    }

    /// True if nothing is mapped in `pages`.
    pub(super) fn is_vacant(&self, pages: Pages) -> bool {
        let next = self.index.at_or_after(pages.first);
        next.is_none_or(|next| pages.last < next.pages.first)
    }

    /// The number of `pages` that are mapped.
    pub(super) fn mapped_in(&self, pages: Pages) -> u64 {
        let parts = self
            .index
            .iter(pages)
            .filter_map(|area| area.pages.and(pages));
        parts.map(|part| part.len()).sum()
    }
}
