//! Whose a grant or a token is.
#![forbid(unsafe_code)]

use crate::sync::serial;

/// Bits for a size class, or none, below the owner's number.
pub(super) const CLASS_BITS: u32 = 3;

/// Whose a grant or a token is, and of which size class: with it a quarantine and a domain refuse
/// what is not their own without a look at the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag(pub(super) u32);

impl Tag {
    /// Of a space, which knows its grants itself; of no class.
    pub(super) const NONE: Self = Self(0);

    /// One that no other owner has; after half a billion they begin anew.
    pub(super) fn fresh() -> Self {
        const OWNERS: u32 = u32::MAX >> CLASS_BITS;
        Self((serial() % OWNERS + 1) << CLASS_BITS)
    }

    /// Whether both are the same owner's.
    #[inline(always)]
    pub(super) fn is_with(self, other: Self) -> bool {
        (self.0 ^ other.0) >> CLASS_BITS == 0
    }
}

#[cfg(test)]
mod tests {
    use super::Tag;

    #[test]
    fn owners_are_told_apart() {
        let (one, two) = (Tag::fresh(), Tag::fresh());
        assert!(one.is_with(one) && !one.is_with(two));
        assert!(!one.is_with(Tag::NONE) && !Tag::NONE.is_with(two));
    }
}
