//! Seam `propagation`: when a node's halves are recomputed after an insertion or a removal.
//!
//! All three arms are one algorithm; they differ in the two answers below.

use crate::forms::Sealed;

/// Rule for the recomputation of halves.
pub trait Propagation: Sealed {
    /// If true, a first walk restores ranks, with rotations that recompute the nodes they move, and
    /// a second walk recomputes all halves. If false, the halves below a rotation are up to date
    /// before it.
    const AT_ROTATION: bool;

    /// Returns true if the walk continues above a node whose summary has or has not `changed`.
    fn climb(changed: bool) -> bool;
}

/// Every rotation recomputes, and the walk continues to the root: FreeBSD's `sys/tree.h` before
/// 7f2ec173e, and other trees without a check today.
#[derive(Clone, Copy, Debug, Default)]
pub struct Eager;

/// Every node once, and up to the root: FreeBSD's 7f2ec173e (review D35502).
#[derive(Clone, Copy, Debug, Default)]
pub struct Deferred;

/// Every node once, and only until a summary stays the same: FreeBSD's `RB_AUGMENT_CHECK`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checked;

impl Sealed for Eager {}
impl Sealed for Deferred {}
impl Sealed for Checked {}

impl Propagation for Eager {
    const AT_ROTATION: bool = true;

    #[inline(always)]
    fn climb(_changed: bool) -> bool {
        true
    }
}

impl Propagation for Deferred {
    const AT_ROTATION: bool = false;

    #[inline(always)]
    fn climb(_changed: bool) -> bool {
        true
    }
}

impl Propagation for Checked {
    const AT_ROTATION: bool = false;

    #[inline(always)]
    fn climb(changed: bool) -> bool {
        changed
    }
}
