//! Blocks that become longer or shorter, and how long they are.

use super::{
    allocator::Malloc,
    block::{copy, pointer},
    class::{GRAIN, MEDIUM_MAX, UNIT},
    config::Config,
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
        if unsafe { self.usable_size(block) } < size {
            stop(&self.source, Misuse::WrongSize, block.addr());
        }
        // SAFETY: as above.
        unsafe { self.free(block) };
    }

    /// How many bytes a block really has.
    ///
    /// # Safety
    /// As for [`free`](Self::free), but the block stays in use.
    pub unsafe fn usable_size(&'static self, block: *mut u8) -> usize {
        let address = block.expose_provenance();
        if self.first_unit(address).is(Use::Blocks) {
            self.find_block(address).0.class().size()
        } else {
            self.object_at(address).1
        }
    }

    /// Makes a block longer or shorter, where it is or elsewhere, at a multiple of `align`. Null
    /// where memory is short; then the block is as before.
    ///
    /// # Safety
    /// As for [`free`](Self::free); where the answer is not null it takes the block's place. The
    /// block is at a multiple of `align`.
    pub unsafe fn resize(&'static self, block: *mut u8, size: usize, align: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        let have = unsafe { self.usable_size(block) };
        let fits = size <= have && size > have / 2;
        let address = block.expose_provenance();
        if fits || have <= 2 * GRAIN && size <= have {
            return block;
        }
        if have > MEDIUM_MAX && size > MEDIUM_MAX && size <= SIZE_MAX {
            if self.resize_units(address, size) {
                return block;
            }
            let moved = if align <= UNIT {
                self.move_huge(address, size)
            } else {
                0
            };
            if moved != 0 {
                return pointer(moved);
            }
        }
        let new = self.allocate_aligned(size, align);
        if !new.is_null() {
            // SAFETY: two blocks of at least this size, one new and one the caller's.
            unsafe { copy(address, new.expose_provenance(), have.min(size)) };
            // SAFETY: the caller's promise.
            unsafe { self.free(block) };
        }
        new
    }
}
