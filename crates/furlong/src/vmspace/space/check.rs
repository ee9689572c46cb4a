//! `check()`: walks every invariant of a space and names the one that is broken.

use crate::error::messages;

use crate::check::Check;
use crate::vmspace::{Config, Flags, Hold, Index, Pages, Space, Usage, Value};

/// A broken invariant of a space, numbered as in the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BrokenSpace<B> {
    /// V1: the index reports a broken invariant.
    Index(B),
    /// V2: this area is reversed, or overlaps the one before.
    Overlap(Pages),
    /// V3: this area is outside the space, or below its lowest address.
    Outside(Pages),
    /// V4: this area has an unknown protection, or one that it may not have.
    Prot(Pages),
    /// V5: these are the mapped pages, but other numbers were counted.
    Usage(Usage),
    /// V6: so many pages are in areas that grow, but another number was counted.
    Growing(u64),
    /// V8: so many pages are in areas that a fork does not copy, but another number was counted.
    Withheld(u64),
    /// V7: so many areas were found, but the index reports another number.
    Length(usize),
}

messages! { BrokenSpace<B> where [B: core::error::Error]:
    Self::Index(it) => "V1: the index: {it}";
    Self::Overlap(it) => "V2: {it:?} overlap the area before them";
    Self::Outside(it) => "V3: {it:?} are not in the space";
    Self::Prot(it) => "V4: {it:?} have a protection that is not allowed";
    Self::Usage(it) => "V5: {it:?} is mapped";
    Self::Growing(n) => "V6: {n} pages are of areas that grow";
    Self::Withheld(n) => "V8: {n} pages are marked as not inherited";
    Self::Length(n) => "V7: the count of areas is not {n}";
}

impl<A: Value, C: Config, H: Hold> Check for Space<A, C, H> {
    type Broken = BrokenSpace<<C::Index<A> as Index<A>>::Broken>;

    /// Checks every invariant, in O(n).
    fn check(&self) -> Result<(), Self::Broken> {
        self.index.check().map_err(BrokenSpace::Index)?;
        let mut next = Some(0);
        let mut usage = Usage::default();
        let (mut growing, mut withheld, mut count) = (0, 0, 0);
        for area in self.index.iter(Pages::ALL) {
            let (pages, attr) = (area.pages, area.attr);
            if next.is_none_or(|next| pages.first < next) || pages.last < pages.first {
                return Err(BrokenSpace::Overlap(pages));
            }
            if pages.first < self.state.grid.low || self.state.grid.last < pages.last {
                return Err(BrokenSpace::Outside(pages));
            }
            if !attr.may().contains(attr.prot()) {
                return Err(BrokenSpace::Prot(pages));
            }
            usage.add(attr.prot(), pages.len());
            if attr.flags().contains(Flags::GROWS_DOWN) {
                growing += pages.len();
            }
            if attr.flags().contains(Flags::DONT_COPY) {
                withheld += pages.len();
            }
            count += 1;
            next = pages.last.checked_add(1);
        }
        if !usage.agrees(&self.state.usage) {
            return Err(BrokenSpace::Usage(usage));
        }
        if growing != self.state.growing {
            return Err(BrokenSpace::Growing(growing));
        }
        if withheld != self.state.withheld {
            return Err(BrokenSpace::Withheld(withheld));
        }
        if count != self.len() {
            return Err(BrokenSpace::Length(count));
        }
        Ok(())
    }
}
