//! Tags that identify the owner of a grant or a token.

use crate::sync::serial;

/// Low bits of a tag, below the owner's number: a size class, or none.
pub(crate) const CLASS_BITS: u32 = 3;

/// Owner of a grant or a token, and its size class. With it a space and a domain refuse foreign
/// values without reading the tree. A domain grants under the number of its space, so that grants
/// outlive it. Its tokens and seals have a number of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag(pub(crate) u32);

impl Tag {
    /// No owner.
    #[cfg(feature = "alloc")]
    pub(crate) const NONE: Self = Self(0);
    /// Value of the class bits in tags made by a space itself.
    pub(crate) const OF_SPACE: u32 = (1 << CLASS_BITS) - 1;

    /// A new tag for a space, with a unique number; numbers repeat after half a billion.
    pub(crate) fn fresh() -> Self {
        const OWNERS: u32 = u32::MAX >> CLASS_BITS;
        Self((serial() % OWNERS + 1) << CLASS_BITS | Self::OF_SPACE)
    }

    /// The same owner's tag for its domain: no class.
    #[cfg(feature = "alloc")]
    pub(crate) const fn of_domain(self) -> Self {
        Self(self.0 & !Self::OF_SPACE)
    }

    /// This owner's tag, with the class of `other`.
    #[cfg(feature = "alloc")]
    #[inline(always)]
    pub(crate) const fn with_class_of(self, other: Self) -> Self {
        Self(self.0 & !Self::OF_SPACE | other.0 & Self::OF_SPACE)
    }

    /// True for the tag of a space that was a domain's: there may be grants with a class.
    #[cfg(feature = "alloc")]
    pub(crate) const fn was_of_domain(self) -> bool {
        self.0 & Self::OF_SPACE != Self::OF_SPACE
    }

    /// True if both have the same owner.
    #[inline(always)]
    pub(crate) fn is_with(self, other: Self) -> bool {
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
        assert!(domain.is_with(one) && domain != one);
        assert!(domain.was_of_domain() && !one.was_of_domain());
        assert_eq!(two.of_domain().with_class_of(one), two);
    }
}
