//! Mapping.
#![forbid(unsafe_code)]

use super::{
    At, Attr, Config, Flags, Freed, Index, MapError, Pages, Prot, Refused, Request, Space, Value,
};
use crate::addr::VirtAddr;

/// Changes of the index that [`Space::map`] makes at most; see [`Space::prepare`].
pub const MAP_CHANGES: usize = 2;

impl<A: Value, C: Config> Space<A, C> {
    /// Maps what `request` asks for and returns where it begins. It becomes one area with its
    /// neighbours where everything is equal, the offsets go on and their values
    /// [merge](Value::merges).
    ///
    /// What was there, and values that nothing is left of, are handed to `freed`.
    ///
    /// # Errors
    /// See [`MapError`]: of several causes the one that stands first there. The value comes back,
    /// and nothing has changed.
    ///
    /// # Cost
    /// A search for a gap and at most [`MAP_CHANGES`] changes of the index.
    pub fn map(
        &mut self,
        request: Request<A>,
        freed: impl FnMut(Freed<A>),
    ) -> Result<VirtAddr, Refused<A>> {
        let place = self.plan_map(&request).and_then(|pages| {
            let over = (!self.is_vacant(pages)).then_some(pages);
            let room = self.index.prepare_put(over);
            room.map(|()| pages).map_err(|_| MapError::NoMemory)
        });
        match place {
            Ok(pages) => {
                self.put(pages, self.attr_of(&request, pages), request.value, freed);
                Ok(self.state.grid.address(pages.first))
            }
            Err(cause) => {
                let value = request.value;
                Err(Refused { cause, value })
            }
        }
    }

    /// Where the mapping would begin that [`map`](Self::map) would make now.
    ///
    /// # Errors
    /// As [`map`](Self::map), except for memory.
    pub fn would_map(&self, request: &Request<A>) -> Result<VirtAddr, MapError> {
        let pages = self.plan_map(request)?;
        Ok(self.state.grid.address(pages.first))
    }

    /// The pages of a mapping that nothing is wrong with.
    fn plan_map(&self, request: &Request<A>) -> Result<Pages, MapError> {
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
        let pages_of_object = u64::MAX >> self.state.grid.shift;
        if (len - 1) > pages_of_object - (offset >> self.state.grid.shift) {
            return Err(MapError::OffsetOverflow);
        }
        if self.len() > self.state.layout.areas_max {
            return Err(MapError::TooManyAreas);
        }
        let pages = self.place(request, len)?;
        if matches!(request.at, At::Vacant(_)) && !self.is_vacant(pages) {
            return Err(MapError::Occupied);
        }
        if let Some(refusal) = request.refusal {
            return Err(refusal);
        }
        if !request.is_kind() {
            return Err(MapError::Kind);
        }
        if !request.may.contains(request.prot.known()) {
            return Err(MapError::Access);
        }
        let replaced = match request.at {
            At::Fixed(_) => self.mapped_in(pages),
            _ => 0,
        };
        if !self.fits(len, replaced) {
            return Err(MapError::TooManyPages);
        }
        if self.cuts_in_vain(pages) {
            return Err(MapError::TooManyAreas);
        }
        Ok(pages)
    }

    fn attr_of(&self, request: &Request<A>, pages: Pages) -> Attr {
        let origin = request.offset.map_or(0, |offset| {
            (offset >> self.state.grid.shift).wrapping_sub(pages.first)
        });
        let object = request.offset.map_or(Flags::NONE, |_| Flags::OBJECT);
        Attr {
            prot: request.prot.known(),
            may: request.may.and(Prot::ALL),
            flags: request.flags.without(Flags::OBJECT) | object,
            origin,
        }
    }

    /// Makes `pages` an area or a part of one, in place of what is there. Two changes.
    pub(super) fn put(
        &mut self,
        pages: Pages,
        attr: Attr,
        value: A,
        mut freed: impl FnMut(Freed<A>),
    ) {
        if !self.is_vacant(pages) {
            self.cut(pages, &mut freed);
        }
        self.state.count_in(pages.len(), attr);
        let joins = |one: &A, other: &A| one.merges(other);
        let left = self.index.before(pages.first).filter(|left| {
            left.pages.abuts(pages) && left.attr == attr && joins(left.value, &value)
        });
        let right = pages.last.checked_add(1);
        let right = right.and_then(|page| self.index.at_or_after(page));
        let right = right.filter(|right| {
            pages.abuts(right.pages) && right.attr == attr && joins(&value, right.value)
        });
        let (of, whole) = match (left.map(|left| left.pages), right.map(|right| right.pages)) {
            (None, None) => {
                let nothing = |_| debug_assert!(false, "the place is vacant");
                return self.index.store(pages, attr, value, nothing);
            }
            (Some(left), None) => (left, left.through(pages)),
            (None, Some(right)) => (right, pages.through(right)),
            (Some(left), Some(right)) => (left, left.through(right)),
        };
        self.index
            .extend(of.first, whole, |value| freed(Freed::Merged(value)));
        freed(Freed::Merged(value));
    }

    /// Whether there is room for `len` pages where `replaced` go.
    pub(super) fn fits(&self, len: u64, replaced: u64) -> bool {
        let left = self.state.usage.pages() - replaced;
        left.checked_add(len)
            .is_some_and(|pages| pages <= self.state.layout.pages_max)
    }

    /// Whether taking `pages` out would cut an area in two where there may be no more areas.
    pub(super) fn cuts_in_vain(&self, pages: Pages) -> bool {
        let owner = self.index.at_or_after(pages.first);
        self.len() >= self.state.layout.areas_max
            && owner.is_some_and(|owner| {
                owner.pages.first < pages.first && pages.last < owner.pages.last
            })
    }

    /// Whether nothing is mapped in `pages`.
    pub(super) fn is_vacant(&self, pages: Pages) -> bool {
        let next = self.index.at_or_after(pages.first);
        next.is_none_or(|next| pages.last < next.pages.first)
    }

    /// How many of `pages` are mapped.
    pub(super) fn mapped_in(&self, pages: Pages) -> u64 {
        let parts = self
            .index
            .iter(pages)
            .filter_map(|area| area.pages.and(pages));
        parts.map(|part| part.len()).sum()
    }
}
