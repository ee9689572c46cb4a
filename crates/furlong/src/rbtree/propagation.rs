//! Seam `propagation`: when a node's halves are recomputed after an insertion or a removal.
//!
//! All three arms are one algorithm; they differ in the two answers below.
#![forbid(unsafe_code)]

mod sealed {
    pub trait Sealed {}
}

/// When halves are recomputed.
pub trait Propagation: sealed::Sealed {
    /// Whether ranks are mended first, by a walk in which rotations recompute the nodes that they
    /// move, and all halves after it. If not, what is below a rotation is in order before it.
    const AT_ROTATION: bool;

    /// Whether the walk goes on above a node whose summary has `changed` or not.
    fn climb(changed: bool) -> bool;
}

/// Every rotation recomputes, and the walk goes to the root: FreeBSD's `sys/tree.h` before
/// 7f2ec173e, and what trees without a check still do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Eager;

/// Every node once, and up to the root: FreeBSD's 7f2ec173e (review D35502).
#[derive(Clone, Copy, Debug, Default)]
pub struct Deferred;

/// Every node once, and only as far as something changes: FreeBSD's `RB_AUGMENT_CHECK`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checked;

impl sealed::Sealed for Eager {}
impl sealed::Sealed for Deferred {}
impl sealed::Sealed for Checked {}

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
