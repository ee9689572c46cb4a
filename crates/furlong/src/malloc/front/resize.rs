//! Resizing of blocks, and their usable size.

use crate::malloc::{
    Class, Config, CurrentHeap, GRAIN, GuardedBlocks, Hardening, LARGE_MAX, LargeObjects, Malloc,
    Misuse, SIZE_MAX, Samples, Seals, UNIT, Use, copy, pointer, stop,
};

impl<C: Config> Malloc<C> {
    /// As [`free`](Self::free), with the requested size. A block that is smaller stops the program.
    ///
    /// # Safety
    /// As for [`free`](Self::free); not null.
    #[inline(always)]
    pub unsafe fn free_sized(&'static self, block: *mut u8, size: usize) {
        if C::Hardening::SCRUB || !self.is_own_with_room(block, size) {
            // SAFETY: the caller's promise.
            unsafe { self.check_size(block, size) };
        }
        // SAFETY: as above.
        unsafe { self.free(block) };
    }

    /// As [`free_sized`](Self::free_sized), for a block that was never resized, and not allocated
    /// with an alignment above 16: the size is also too small if a smaller block would have been
    /// enough.
    ///
    /// # Safety
    /// As for [`free_sized`](Self::free_sized).
    #[inline(always)]
    pub unsafe fn free_exact(&'static self, block: *mut u8, size: usize) {
        if C::Hardening::SCRUB
            || !self.is_own_with_room(block, size)
            || Class::of(size) != Some(self.central.map.span_at(block.addr()).class())
        {
            // SAFETY: the caller's promise.
            unsafe { self.check_exact(block, size) };
        }
        // SAFETY: as above.
        unsafe { self.free(block) };
    }

    /// Stops the program if a block does not have the requested size, or is too large for it.
    ///
    /// # Safety
    /// As for [`usable_size`](Self::usable_size).
    #[cold]
    #[inline(never)]
    unsafe fn check_exact(&'static self, block: *mut u8, size: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.check_size(block, size) };
        // SAFETY: as above.
        let have = unsafe { self.usable_size(block) };
        // A huge object may have a kept mapping that is a little longer.
        if have <= LARGE_MAX && have != self.good_size(size) && !C::Hardening::SCRUB {
            stop(&self.central.source, Misuse::WrongSize, block.addr());
        }
    }

    /// Stops the program if `len` bytes from an address on are neither within a block in use nor
    /// outside this allocator's memory: for a program about to write them.
    ///
    /// # Safety
    /// No block at this address is allocated, resized or freed meanwhile.
    ///
    /// # Cost
    /// O(1); no latch.
    #[inline(always)]
    pub unsafe fn check_write(&'static self, start: *const u8, len: usize) {
        if len > self.room_at(start.addr()) {
            stop(&self.central.source, Misuse::Overrun, start.addr());
        }
    }

    /// The number of bytes from an address to the end of its block; 0 if it is in no block in use.
    /// No limit if the memory is not this allocator's, and beyond the first unit of a huge object.
    #[inline(always)]
    fn room_at(&'static self, address: usize) -> usize {
        let map = &self.central.map;
        let span = map.first_of(map.span_at(address));
        let (start, room) = if span.is(Use::Blocks) {
            let block = span.block_around(address);
            if block >= usize::from(span.carved.get()) {
                return 0;
            }
            (span.address_of(block), span.class().size())
        } else if span.is(Use::Large) || span.is(Use::Huge) {
            (span.base(), span.summary.get() as usize)
        } else if span.is(Use::Guarded) {
            let block = GuardedBlocks::<C>::block(span);
            block
                .filter(|(start, _)| *start <= address)
                .unwrap_or((0, 0))
        } else if map.is_in_arena(address) {
            return 0;
        } else {
            return usize::MAX;
        };
        let contents = if C::Hardening::SCRUB {
            Seals(&self.central).sealed(start, room).unwrap_or(0)
        } else {
            room
        };
        (start + contents).saturating_sub(address)
    }

    /// True if a block is of the caller's own spans, and of a class of at least this size: of a
    /// pointer into other memory, `free` says what is wrong.
    #[inline(always)]
    fn is_own_with_room(&'static self, block: *mut u8, size: usize) -> bool {
        let _pin = C::Current::pin();
        let span = self.central.map.span_at(block.expose_provenance());
        span.owner.is(C::Current::get()) && size <= span.class().size()
    }

    /// Stops the program if a block does not have the requested size.
    ///
    /// # Safety
    /// As for [`usable_size`](Self::usable_size).
    #[cold]
    #[inline(never)]
    unsafe fn check_size(&'static self, block: *mut u8, size: usize) {
        // SAFETY: the caller's promise.
        let have = unsafe { self.usable_size(block) };
        if have < size || C::Hardening::SCRUB && have != size {
            stop(&self.central.source, Misuse::WrongSize, block.addr());
        }
    }

    /// The number of bytes that a block really has.
    ///
    /// # Safety
    /// As for [`free`](Self::free), but the block stays in use, and is not null.
    #[must_use]
    pub unsafe fn usable_size(&'static self, block: *mut u8) -> usize {
        let address = block.expose_provenance();
        let span = self.central.map.first_unit(address);
        let room = if span.is(Use::Blocks) {
            self.central.block_in(span, address);
            span.class().size()
        } else if span.is(Use::Empty) {
            self.central.block_in(span, address);
            return 0;
        } else if span.is(Use::Guarded) {
            GuardedBlocks(&self.central).room(span, address)
        } else {
            LargeObjects(&self.central).object_at(address).1
        };
        Seals(&self.central).contents(address, room)
    }

    /// Makes a block longer or shorter, in place or elsewhere, at a multiple of `align`. Null if
    /// out of memory; the block is then unchanged. Unless the allocator is `Secure`, a shrinking
    /// resize returns the old block instead.
    ///
    /// # Safety
    /// As for [`free`](Self::free); a result that is not null replaces the block. `align` is a
    /// power of two; the block is not null, and at a multiple of it.
    #[must_use = "the block may be elsewhere now"]
    pub unsafe fn resize(&'static self, block: *mut u8, size: usize, align: usize) -> *mut u8 {
        let address = block.expose_provenance();
        let span = self.central.map.span_at(address);
        if C::Hardening::SCRUB || !span.is(Use::Blocks) {
            return self.resize_slow(address, size, align);
        }
        self.central.block_in(span, address);
        let have = span.class().size();
        if is_kept(have, size) {
            return block;
        }
        self.replace(address, (have, size), align)
    }

    /// [`resize`](Self::resize) for objects above the classes, and for all blocks if they have
    /// seals.
    #[cold]
    fn resize_slow(&'static self, address: usize, size: usize, align: usize) -> *mut u8 {
        let block = pointer(address);
        // SAFETY: the promise of resize's caller.
        let have = unsafe { self.usable_size(block) };
        if C::Hardening::SCRUB {
            return self.resize_sealed(address, (have, size), align);
        }
        if is_kept(have, size) {
            return block;
        }
        // The gate also leaves blocks in later units of their spans to this.
        let span = self.central.map.first_unit(address);
        let is_object = have > 0 && !span.is(Use::Blocks) && !span.is(Use::Guarded);
        if is_object && size <= SIZE_MAX {
            let resized = self.resize_object(address, size, align);
            if resized != 0 {
                return pointer(resized);
            }
        }
        self.replace(address, (have, size), align)
    }

    /// Resizes a large or huge object without copying it; 0 if that is impossible.
    fn resize_object(&'static self, address: usize, size: usize, align: usize) -> usize {
        let _pin = C::Current::pin();
        let objects = LargeObjects(&self.central);
        if objects.resize(address, size) {
            address
        } else if align <= UNIT {
            objects.relocate(address, size)
        } else {
            0
        }
    }

    /// [`resize`](Self::resize) for blocks with seals.
    #[cold]
    fn resize_sealed(
        &'static self,
        address: usize,
        (have, size): (usize, usize),
        align: usize,
    ) -> *mut u8 {
        let span = self.central.map.first_unit(address);
        if span.is(Use::Blocks) && Seals(&self.central).reseal(address, span.class().size(), size) {
            return pointer(address);
        }
        self.replace(address, (have, size), align)
    }

    /// Samples an object again that could not be resized, since the attempt ended its sample.
    /// Objects with seals are never resized.
    fn keep_sampled(&'static self, address: usize, size: usize, room: usize) {
        if C::Hardening::SCRUB {
            return;
        }
        let _pin = C::Current::pin();
        let span = self.central.map.first_unit(address);
        if span.is(Use::Large) || span.is(Use::Huge) {
            Samples(&self.central).consider(address, size, room);
        }
    }

    /// Copies the contents of a block, up to `size` bytes, to a new block, and frees the old one.
    /// If out of memory, a block that would only be shorter stays, unless its seal says its length.
    fn replace(
        &'static self,
        address: usize,
        (have, size): (usize, usize),
        align: usize,
    ) -> *mut u8 {
        let new = self.allocate_aligned(size, align);
        if new.is_null() {
            if size <= SIZE_MAX {
                self.keep_sampled(address, have.min(size), have);
            }
            let stays = size <= have && !C::Hardening::SCRUB;
            return if stays { pointer(address) } else { new };
        }
        // SAFETY: two blocks of at least this size, one new and one the caller's.
        unsafe { copy(address, new.expose_provenance(), have.min(size)) };
        // SAFETY: the caller gave it up, for the new one.
        unsafe { self.free(pointer(address)) };
        new
    }
}

/// True if a block stays in place: the new size fits, and needs more than half of it.
#[inline(always)]
fn is_kept(have: usize, size: usize) -> bool {
    size <= have && (size > have / 2 || have <= 2 * GRAIN)
}
