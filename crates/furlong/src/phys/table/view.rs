//! Views for lookups: a reader's view beside a writer, and the writer's own.
#![expect(unsafe_code, reason = "lends descriptors to readers")]

use core::marker::PhantomData;

use crate::addr::{Address, Pfn, PhysAddr};
use crate::forms::{copies, debug_as};
use crate::phys::{All, Arm, Concurrent, Config, Found, SegmentId};

type Reader<'a, D, C> = <<C as Config>::Lookup as Arm>::Reader<'a, D>;

/// A view of the table for lookups. It is `Copy`, and lives as long as the reader's guard or the
/// borrow of the writer's [`Segments`](crate::phys::Segments).
pub struct View<'a, D, C: Config> {
    reader: Reader<'a, D, C>,
    all: All<'a, D>,
    /// Not `Send`: a guard may belong to a CPU.
    here: PhantomData<*const ()>,
}

copies! { View<'_, D, C> where [D, C: Config]; }

impl<'a, D, C: Config> View<'a, D, C> {
    pub(crate) fn new(reader: Reader<'a, D, C>, all: All<'a, D>) -> Self {
        Self {
            reader,
            all,
            here: PhantomData,
        }
    }

    #[inline]
    pub(crate) fn beside(shared: &'a <C::Lookup as Arm>::Shared<D>, all: All<'a, D>) -> Self
    where
        C::Lookup: Concurrent,
    {
        Self::new(
            <C::Lookup as crate::phys::index::lookup::Beside>::reader_beside(shared),
            all,
        )
    }

    /// The segment that has `frame`, and the frame's offset in it. `None` if no segment has it, if
    /// it is isolated, and before the table has started.
    ///
    /// Beside a writer, the segment had the frame at some moment of the call. The offset counts
    /// from the segment's start at that moment or at a later one of the call.
    ///
    /// # Cost
    /// That of the arm; [`Direct`](crate::phys::Direct): O(1), wait-free, no writes.
    #[inline]
    pub fn find(&self, frame: Pfn) -> Option<(SegmentId, u64)> {
        let Found { is_found, index } = C::Lookup::find(self.reader, frame.raw(), || ());
        let entry = self.all.get(index);
        let generation = entry.generation();
        let offset = frame.raw().wrapping_sub(entry.start());
        is_found.then_some((SegmentId { index, generation }, offset))
    }

    /// The descriptor of the frame at `address`; `None` if [`find`](Self::find) finds nothing.
    ///
    /// # Cost
    /// Like [`find`](Self::find).
    #[inline]
    pub fn page(&self, address: PhysAddr) -> Option<&'a D> {
        self.page_of(Pfn::new(address.raw() >> C::PAGE_BITS))
    }

    /// The descriptor of `frame`.
    ///
    /// # Cost
    /// Like [`find`](Self::find).
    #[inline]
    pub fn page_of(&self, frame: Pfn) -> Option<&'a D> {
        let page = C::Lookup::page(self.reader, frame.raw(), &self.all, || ())?;
        // SAFETY: an arm finds only initialised descriptors. They are dropped after a grace period
        // that began when lookups stopped finding them, or by a writer that excludes lookups: in
        // both cases after `'a`.
        Some(unsafe { page.as_ref() })
    }

    /// The frame of a descriptor of the segment `id`. `None` if the descriptor is not one of that
    /// segment's, or the segment is gone.
    ///
    /// # Cost
    /// O(1), wait-free.
    pub fn frame_in(&self, id: SegmentId, page: &D) -> Option<Pfn> {
        let entry = self.all.resolve(id)?;
        let start = entry.pages()?.start().addr();
        let offset = core::ptr::from_ref(page).addr().wrapping_sub(start);
        let frame = (offset / size_of::<D>()) as u64;
        let is_its = entry.frames().contains(frame) && offset.is_multiple_of(size_of::<D>());
        (is_its && self.all.still_lives(id)).then(|| Pfn::new(frame))
    }

    /// The number of index cells that [`find`](Self::find) looks at for `frame`.
    pub fn probes_of_find(&self, frame: Pfn) -> u64 {
        let mut probes = 0;
        C::Lookup::find(self.reader, frame.raw(), || probes += 1);
        probes
    }

    /// The number of index cells that [`page`](Self::page) looks at for `address`.
    pub fn probes_of_page(&self, address: PhysAddr) -> u64 {
        let mut probes = 0;
        let frame = address.raw() >> C::PAGE_BITS;
        C::Lookup::page(self.reader, frame, &self.all, || probes += 1);
        probes
    }
}

debug_as! { View<'_, D, C> where [D, C: Config]: View { .. } }
