//! The part of a map that a table of segments uses: whole frames.

use furlong::addr::{Address, Extent, Pfn, PhysAddr};

use super::kind::Kind;

/// Frames to plug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segment {
    /// The frames.
    pub frames: Extent<Pfn>,
    /// Their kind: usable since boot, or plugged later.
    pub kind: Kind,
    /// The NUMA node that owns them; `None` if the source does not name one.
    pub node: Option<u32>,
}

/// The frames of `1 << page_shift` bytes that lie wholly in `bytes`; `None` if there are none.
pub(super) fn frames_inside(bytes: &Extent<PhysAddr>, page_shift: u32) -> Option<Extent<Pfn>> {
    let page = 1_u64.checked_shl(page_shift)?;
    let start = bytes.start().align_up(page)?.raw() >> page_shift;
    // In 128 bits, because the end of the last frame can be 2^64.
    let end = (u128::from(bytes.last().raw()) + 1) >> page_shift;
    Extent::from_end(Pfn::new(start), Pfn::new(u64::try_from(end).ok()?))
}
