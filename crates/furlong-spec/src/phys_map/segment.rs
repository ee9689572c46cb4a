//! What a map means to a table of segments: whole frames.
#![forbid(unsafe_code)]

use furlong::addr::{Address, Extent, Pfn, PhysAddr};

use super::kind::Kind;

/// Frames to plug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segment {
    /// Which.
    pub frames: Extent<Pfn>,
    /// Usable since boot, or plugged later.
    pub kind: Kind,
    /// The NUMA node that owns them; `None` where the source does not say.
    pub node: Option<u32>,
}

/// The frames of `1 << page_shift` bytes that lie wholly in `bytes`; `None` where there is none.
pub(super) fn frames_inside(bytes: &Extent<PhysAddr>, page_shift: u32) -> Option<Extent<Pfn>> {
    let page = 1_u64.checked_shl(page_shift)?;
    let start = bytes.start().align_up(page)?.raw() >> page_shift;
    // Right at the last byte of the space, where the end has no number.
    let end = (u128::from(bytes.last().raw()) + 1) >> page_shift;
    Extent::from_end(Pfn::new(start), Pfn::new(u64::try_from(end).ok()?))
}
