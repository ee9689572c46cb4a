//! The abilities of some arms only: concurrent readers, and ranges that host their own bookkeeping.

use core::mem::MaybeUninit;

use furlong::addr::{Address, Extent, Pfn, PhysAddr};
use furlong::phys::{Concurrent, HostError, MakeError, SegmentId};

use super::{Held, Table};

/// The result of a reader's lookups: a segment with the offset in it, and the descriptor's frame.
pub(super) type Read = (Option<(SegmentId, u64)>, Option<u64>);

/// Plugs frames, the first of which are this memory.
type PlugHosted<L> = fn(
    &mut Held<'_, L>,
    Extent<Pfn>,
    &'static mut [MaybeUninit<u8>],
) -> Result<SegmentId, HostError>;

/// The abilities that only some arms have.
pub(super) struct Hosting<L: furlong::phys::Lookup> {
    pub(super) read: fn(&Table<L>, u64) -> Read,
    pub(super) bytes: fn(&Held<'_, L>, Extent<Pfn>) -> Option<usize>,
    pub(super) plug: PlugHosted<L>,
    pub(super) make: fn(&mut Held<'_, L>, u64) -> Result<bool, MakeError>,
}

impl<L: Concurrent> Hosting<L> {
    pub(super) fn new() -> Self {
        Self {
            read: |table, frame| {
                let reader = table.rcu().register().expect("a slot");
                let guard = reader.enter();
                let view = table.read(&guard);
                let page = view.page(PhysAddr::new(frame << 12));
                let found = view.find(Pfn::new(frame));
                (found, page.map(|page| page.frame.raw()))
            },
            bytes: |segments, frames| segments.hosted_bytes(frames),
            plug: |segments, frames, memory| segments.plug_hosted(frames, memory),
            make: |segments, frame| {
                let made = segments.make(Pfn::new(frame))?;
                let page = segments.page_or_make(PhysAddr::new(frame << 12));
                // Isolated frames have descriptors that no lookup finds.
                if let Ok(page) = page {
                    assert_eq!(page.frame.raw(), frame);
                }
                Ok(made)
            },
        }
    }
}
