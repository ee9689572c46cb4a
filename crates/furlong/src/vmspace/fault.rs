//! Faults: the area that has an address, and stacks that grow to have it.
#![forbid(unsafe_code)]

use super::{Access, Area, Config, Entry, FaultError, Flags, Index, Pages, Prot, Space, Value};
use crate::addr::VirtAddr;

impl<A: Value, C: Config> Space<A, C> {
    /// The area that a fault at `address` is for, if it allows the access. A stack above it grows
    /// down to the address.
    ///
    /// # Errors
    /// See [`FaultError`]; nothing has changed.
    ///
    /// # Cost
    /// O(log n), no memory; where a stack grows one change of the index.
    pub fn fault(&mut self, address: VirtAddr, access: Access) -> Result<Area<'_, A>, FaultError> {
        let page = self.grid.page(address);
        let above = self.index.at_or_after(page).ok_or(FaultError::NotMapped)?;
        if page < above.pages.first {
            self.grow(page, above.pages)?;
        }
        let found = self.index.at_or_after(page).ok_or(FaultError::NotMapped)?;
        if !found.attr.prot.allows(access) {
            return Err(FaultError::Access);
        }
        Ok(self.area(found))
    }

    /// Lets the area of `stack` begin at `page`.
    fn grow(&mut self, page: u64, stack: Pages) -> Result<(), FaultError> {
        let above = self.index.at_or_after(stack.first);
        let attr = above.ok_or(FaultError::NotMapped)?.attr;
        if !attr.flags.contains(Flags::GROWS_DOWN) {
            return Err(FaultError::NotMapped);
        }
        if page < self.grid.low {
            return Err(FaultError::BelowLow);
        }
        let is_close = |below: &Entry<'_, A>| {
            let is_stack = below.attr.flags.contains(Flags::GROWS_DOWN);
            let is_used = below.attr.prot != Prot::NONE;
            !is_stack && is_used && page - below.pages.last <= self.layout.guard
        };
        if self.index.before(page).as_ref().is_some_and(is_close) {
            return Err(FaultError::Guard);
        }
        let whole = Pages {
            first: page,
            ..stack
        };
        if whole.len() > self.layout.stack_max {
            return Err(FaultError::TooLarge);
        }
        let more = stack.first - page;
        if !self.fits(more, 0) {
            return Err(FaultError::TooManyPages);
        }
        let room = self.index.prepare_extend();
        room.map_err(|_| FaultError::NoMemory)?;
        self.count_in(more, attr);
        let nothing = |_| debug_assert!(false, "nothing is below it");
        self.index.extend(stack.first, whole, nothing);
        Ok(())
    }
}
