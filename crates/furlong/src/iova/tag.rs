//! Whose a grant or a token is.
#![forbid(unsafe_code)]

use crate::sync::serial;

/// Bits for a size class, or none, below the owner's number.
pub(super) const CLASS_BITS: u32 = 3;

/// Whose a grant or a token is, and of which size class: with it a space, a quarantine and a domain
/// refuse what is not their own without a look at the tree. A domain has the number of its space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag(pub(super) u32);

impl Tag {
    /// Nobody's.
    pub(super) const NONE: Self = Self(0);
    /// Stands for a class in what a space grants by itself.
    pub(super) const OF_SPACE: u32 = (1 << CLASS_BITS) - 1;

    /// A space's or a quarantine's, which no other has; after half a billion they begin anew.
    pub(super) fn fresh() -> Self {
        const OWNERS: u32 = u32::MAX >> CLASS_BITS;
        Self((serial() % OWNERS + 1) << CLASS_BITS | Self::OF_SPACE)
    }

    /// The same owner's, as a domain has it: of no class.
    #[cfg(feature = "alloc")]
    pub(super) const fn of_domain(self) -> Self {
        Self(self.0 & !Self::OF_SPACE)
    }

    /// Whether a space has granted it, and not a domain.
    pub(super) const fn is_of_space(self) -> bool {
        self.0 & Self::OF_SPACE == Self::OF_SPACE
    }

    /// Whether both are the same owner's.
    #[inline(always)]
    pub(super) fn is_with(self, other: Self) -> bool {
        (self.0 ^ other.0) >> CLASS_BITS == 0
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::Tag;

    #[test]
    fn owners_are_told_apart() {
        let (one, two) = (Tag::fresh(), Tag::fresh());
        assert!(one.is_with(one) && !one.is_with(two));
        assert!(!one.is_with(Tag::NONE) && !Tag::NONE.is_with(two));
        let domain = one.of_domain();
        assert!(domain.is_with(one) && !domain.is_of_space() && one.is_of_space());
    }
}
