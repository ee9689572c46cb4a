//! Faults: the area at an address, and the growth of stacks.

use crate::addr::VirtAddr;
use crate::vmspace::{
    Access, Area, Attr, Config, Entry, FaultError, Flags, Hold, Index, Mode, Pages, Prot, Space,
    Value,
};

impl<A: Value, C: Config, H: Hold> Space<A, C, H> {
    /// Handles a fault at `address`: returns the area there, if it allows the access. A stack above
    /// the address grows down to it.
    ///
    /// # Errors
    /// See [`FaultError`]. Nothing has changed, with one exception: in the mode
    /// [`Linux`](crate::vmspace::Linux), a stack that does not allow the access has grown.
    ///
    /// # Cost
    /// O(log n), without memory; if a stack grows, one index change.
    pub fn fault(&mut self, address: VirtAddr, access: Access) -> Result<Area<'_, A>, FaultError> {
        let page = self.state.grid.page(address);
        let allowed = self
            .index
            .get(page)
            .map(|area| area.attr.prot().allows(access));
        let is_allowed = match allowed {
            Some(is_allowed) => is_allowed,
            None => self.grow_to(page, access)?,
        };
        if !is_allowed {
            return Err(FaultError::Access);
        }
        let found = self.index.get(page).ok_or(FaultError::NotMapped)?;
        Ok(self.area(found))
    }

    /// Makes the stack above `page` grow down to it. Returns true if it allows the access.
    fn grow_to(&mut self, page: u64, access: Access) -> Result<bool, FaultError> {
        let above = self.index.at_or_after(page).ok_or(FaultError::NotMapped)?;
        let is_allowed = above.attr.prot().allows(access);
        let whole = self.plan_growth(page, above)?;
        if is_allowed || C::Mode::keeps_part() {
            self.grow(above.pages.first, whole, above.attr)?;
        }
        Ok(is_allowed)
    }

    /// The pages that `stack` has after growing down to `page`.
    fn plan_growth(&self, page: u64, stack: Entry<'_, A>) -> Result<Pages, FaultError> {
        if !stack.attr.flags().contains(Flags::GROWS_DOWN) {
            return Err(FaultError::NotMapped);
        }
        if page < self.state.grid.low {
            return Err(FaultError::BelowLow);
        }
        let is_close = |below: &Entry<'_, A>| {
            let is_stack = below.attr.flags().contains(Flags::GROWS_DOWN);
            let is_used = below.attr.prot() != Prot::NONE;
            !is_stack && is_used && page - below.pages.last <= self.state.layout.guard
        };
        if self.index.before(page).as_ref().is_some_and(is_close) {
            return Err(FaultError::Guard);
        }
        let whole = Pages {
            first: page,
            ..stack.pages
        };
        // A stack that was moved has the offsets of its old place, and Linux ends it at the first.
        let offset = stack.pages.first.wrapping_add(stack.attr.origin);
        if whole.len() > self.state.layout.stack_max || stack.pages.first - page > offset {
            return Err(FaultError::TooLarge);
        }
        if !self.fits(stack.pages.first - page, 0) {
            return Err(FaultError::TooManyPages);
        }
        Ok(whole)
    }

    /// Makes the area that begins at `first` cover `whole`. One index change.
    fn grow(&mut self, first: u64, whole: Pages, attr: Attr) -> Result<(), FaultError> {
        let grown = self.index.grow(first, whole);
        grown.map_err(|_| FaultError::NoMemory)?;
        self.state.count_in(first - whole.first, attr);
        Ok(())
    }
}
