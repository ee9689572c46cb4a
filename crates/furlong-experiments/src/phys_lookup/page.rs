//! Descriptors, and tables of them.

use std::ops::Range;

use furlong::addr::{Address, Pfn};
use furlong::check::Check;
use furlong::phys::{Custom, Descriptor, View};
use furlong::rcu::Domain;
use furlong::sync::SpinLock;

use super::layout::{Layout, extent};
use super::lookup_arm::{LookupArm, Table};
use furlong_lab::model::Failure;

/// A descriptor that can verify its frame.
pub(super) trait Page: Descriptor + 'static {
    /// Integer type that holds every frame to look up in memory with such descriptors.
    type Frame: Copy + Into<u64> + TryFrom<u64>;

    /// True if it was made for the frame.
    fn is_of(&self, frame: u64) -> bool;
}

/// A descriptor of Linux's size: 64 bytes.
#[repr(align(64))]
pub(super) struct Wide(u64);

impl Descriptor for Wide {
    fn of_frame(frame: Pfn) -> Self {
        Self(frame.raw())
    }
}

impl Page for Wide {
    type Frame = u32;

    #[inline]
    fn is_of(&self, frame: u64) -> bool {
        self.0 == frame
    }
}

/// A descriptor of one byte, for memory of hundreds of GiB: its address identifies the frame.
pub(super) struct Narrow(u8);

impl Narrow {
    /// A byte that differs between neighbours.
    fn mark(frame: u64) -> u8 {
        (frame.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
    }
}

impl Descriptor for Narrow {
    fn of_frame(frame: Pfn) -> Self {
        Self(Self::mark(frame.raw()))
    }
}

impl Page for Narrow {
    type Frame = u64;

    #[inline]
    fn is_of(&self, frame: u64) -> bool {
        self.0 == Self::mark(frame)
    }
}

/// The address of a descriptor, or 0 if there is none: an answer that needs no branch.
#[inline(always)]
pub(super) fn address<D>(page: Option<&D>) -> usize {
    page.map_or(0, |page| std::ptr::from_ref(page).addr())
}

/// Builds a table with everything plugged and removed as in a layout.
///
/// # Errors
/// The table refuses, or is broken.
pub(super) fn table<L: LookupArm, D: Page>(layout: &Layout) -> Result<Table<D, L>, Failure> {
    let mut table = Table::with_config(SpinLock::new(), Domain::new());
    let mut segments = table.get_mut();
    segments.grow_on_heap();
    for frames in &layout.boot {
        segments.plug(extent(frames)).map_err(Failure::of)?;
    }
    segments.start().map_err(Failure::of)?;
    if let Some(chunk) = &layout.chunk {
        segments.plug(extent(chunk)).map_err(Failure::of)?;
    }
    for hole in &layout.holes {
        segments.unplug(extent(hole)).map_err(Failure::of)?;
    }
    drop(segments);
    Ok(table)
}

/// Looks a frame up both ways. Returns its descriptor's address and a word for the digest, which is
/// the same in every arm.
///
/// # Errors
/// The answers differ from the list's.
pub(super) fn answer<L: LookupArm, D: Page>(
    view: View<'_, D, Custom<L>>,
    frame: u64,
    expected: Option<&Range<u64>>,
) -> Result<(usize, u64), Failure> {
    let page = view.page_of(Pfn::new(frame));
    let found = view.find(Pfn::new(frame)).map(|(_, offset)| offset);
    let wanted = expected.map(|segment| frame - segment.start);
    // Descriptors of a segment are contiguous.
    let place = expected.map(|segment| {
        let first = address(view.page_of(Pfn::new(segment.start)));
        first + (frame - segment.start) as usize * size_of::<D>()
    });
    let place = place.unwrap_or(0);
    let is_right = page.is_none_or(|page| page.is_of(frame));
    if found != wanted || address(page) != place || !is_right {
        return Err(Failure(format!(
            "the lookup of frame {frame:#x} returned offset {found:?}, page {:#x}; expected \
             {wanted:?}, {place:#x}",
            address(page)
        )));
    }
    Ok((address(page), wanted.map_or(0, |offset| offset + 1)))
}

/// Checks the table's invariants.
///
/// # Errors
/// The broken one.
pub(super) fn check<L: LookupArm, D: Page>(table: &Table<D, L>) -> Result<(), Failure> {
    table.lock().check().map_err(Failure::of)
}
