//! Blocks that become longer or shorter, and how long they are.

use super::{
    allocator::Malloc,
    block::{copy, pointer},
    class::{GRAIN, MEDIUM_MAX, UNIT},
    config::Config,
    current::CurrentHeap,
    hardening::Hardening,
    large::SIZE_MAX,
    source::Misuse,
    span::Use,
    system::stop,
};

impl<C: Config> Malloc<C> {
    /// As [`free`](Self::free) with the size that was asked for. A block that is smaller than that
    /// stops the program.
    ///
    /// # Safety
    /// As for [`free`](Self::free); not null.
    pub unsafe fn free_sized(&'static self, block: *mut u8, size: usize) {
        // SAFETY: the caller's promise.
        let have = unsafe { self.usable_size(block) };
        if have < size || C::Hardening::SCRUB && have != size {
            stop(&self.source, Misuse::WrongSize, block.addr());
        }
        // SAFETY: as above.
        unsafe { self.free(block) };
    }

    /// How many bytes a block really has.
    ///
    /// # Safety
    /// As for [`free`](Self::free), but the block stays in use, and is not null.
    #[must_use]
    pub unsafe fn usable_size(&'static self, block: *mut u8) -> usize {
        let address = block.expose_provenance();
        let span = self.first_unit(address);
        let room = if span.is(Use::Blocks) {
            self.block_in(span, address);
            span.class().size()
        } else {
            self.object_at(address).1
        };
        self.contents(address, room)
    }

    /// Makes a block longer or shorter, where it is or elsewhere, at a multiple of `align`. Null if
    /// out of memory; then the block is as before.
    ///
    /// # Safety
    /// As for [`free`](Self::free); where the answer is not null it takes the block's place.
    /// `align` is a power of two; the block is not null, and at a multiple of it.
    #[must_use = "the block may be elsewhere now"]
    pub unsafe fn resize(&'static self, block: *mut u8, size: usize, align: usize) -> *mut u8 {
        let address = block.expose_provenance();
        let span = self.map.span_at(address);
        if C::Hardening::SCRUB || !span.is(Use::Blocks) {
            return self.resize_slow(address, size, align);
        }
        self.block_in(span, address);
        let have = span.class().size();
        if is_kept(have, size) {
            return block;
        }
        self.replace(address, (have, size), align)
    }

    /// The same for everything but the small blocks of the types without seals.
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
        if have > MEDIUM_MAX && size > MEDIUM_MAX && size <= SIZE_MAX {
            let resized = self.resize_object(address, size, align);
            if resized != 0 {
                return pointer(resized);
            }
        }
        self.replace(address, (have, size), align)
    }

    /// Makes a large or huge object longer or shorter without copying it; 0 where that cannot be.
    fn resize_object(&'static self, address: usize, size: usize, align: usize) -> usize {
        let _pin = C::Current::pin();
        if self.resize_units(address, size) {
            address
        } else if align <= UNIT {
            self.move_huge(address, size)
        } else {
            0
        }
    }

    /// The same where a block's contents end at its seal.
    #[cold]
    fn resize_sealed(
        &'static self,
        address: usize,
        (have, size): (usize, usize),
        align: usize,
    ) -> *mut u8 {
        let span = self.first_unit(address);
        if span.is(Use::Blocks) && self.reseal(address, span.class().size(), size) {
            return pointer(address);
        }
        self.replace(address, (have, size), align)
    }

    /// Copies what a block has, of which `size` bytes are wanted, to a new one, and frees it.
    fn replace(
        &'static self,
        address: usize,
        (have, size): (usize, usize),
        align: usize,
    ) -> *mut u8 {
        let new = self.allocate_aligned(size, align);
        if !new.is_null() {
            // SAFETY: two blocks of at least this size, one new and one the caller's.
            unsafe { copy(address, new.expose_provenance(), have.min(size)) };
            // SAFETY: the caller gave it up, for the new one.
            unsafe { self.free(pointer(address)) };
        }
        new
    }
}

/// Whether a block stays where it is: what is wanted has room, and needs most of it.
#[inline(always)]
fn is_kept(have: usize, size: usize) -> bool {
    size <= have && (size > have / 2 || have <= 2 * GRAIN)
}
