//! The only code that accesses bounce memory: raw copies with bounds checks, and no references.
//!
//! A host may change the memory at any time. A Rust reference would promise that it does not, so
//! there is none. Each byte is copied once, and decisions are based on the copy.

use core::marker::PhantomData;
use core::ptr::NonNull;

/// The memory of a run, borrowed from its owner.
pub(crate) struct Run<'a> {
    start: NonNull<u8>,
    len: usize,
    owner: PhantomData<&'a ()>,
}

impl Run<'_> {
    /// # Safety
    /// For the lifetime, which the caller chooses, `len` bytes from `start` are valid for reads and
    /// writes. No reference to them exists, and only devices and hosts use them otherwise.
    pub(crate) unsafe fn new(start: NonNull<u8>, len: usize) -> Self {
        Self {
            start,
            len,
            owner: PhantomData,
        }
    }

    /// The address of `len` bytes at `at`.
    #[inline]
    fn part(&self, at: usize, len: usize) -> NonNull<u8> {
        if at > self.len || len > self.len - at {
            outside(at, len, self.len);
        }
        // SAFETY: not beyond the run's end, as just checked.
        unsafe { self.start.add(at) }
    }

    /// Zeroes `len` bytes at `at`.
    #[inline]
    pub(crate) fn zero(&self, at: usize, len: usize) {
        let part = self.part(at, len);
        // SAFETY: in the run, which is valid for writes.
        unsafe { part.write_bytes(0, len) };
    }

    /// Zeroes everything outside `len` bytes at `at`.
    #[inline]
    pub(crate) fn zero_around(&self, at: usize, len: usize) {
        if at > 0 {
            self.zero(0, at);
        }
        let end = at + len;
        if end < self.len {
            self.zero(end, self.len - end);
        }
    }

    /// Copies `from` to `at`.
    #[inline]
    pub(crate) fn fill(&self, at: usize, from: &[u8]) {
        let part = self.part(at, from.len());
        // SAFETY: `from` is valid for reads. The part is in the run, which is valid for writes, and
        // no reference to the run exists, so that they do not overlap.
        unsafe { part.copy_from_nonoverlapping(NonNull::from(from).cast(), from.len()) };
    }

    /// Copies the bytes at `at` to `to`.
    #[inline]
    pub(crate) fn fetch(&self, at: usize, to: &mut [u8]) {
        let part = self.part(at, to.len());
        let len = to.len();
        // SAFETY: as in `fill`, the other way.
        unsafe { part.copy_to_nonoverlapping(NonNull::from(to).cast(), len) };
    }

    /// Lends `len` bytes at `at` to `copy`, which must not keep the pointer.
    #[inline]
    pub(crate) fn lend(&self, at: usize, len: usize, copy: impl FnOnce(NonNull<u8>)) {
        copy(self.part(at, len));
    }
}

/// Panics instead of a copy that would leave its run, which would be a bug of the pool.
#[cold]
#[inline(never)]
fn outside(at: usize, len: usize, run: usize) -> ! {
    panic!("a copy of {len} bytes at {at} leaves the run of {run} bytes");
}

#[cfg(test)]
mod tests {
    use super::Run;
    use core::ptr::NonNull;

    #[test]
    fn copies_stay_in_their_part() {
        let mut memory = [9_u8; 16];
        let start = NonNull::from(&mut memory).cast();
        // SAFETY: the array is not used otherwise while the run exists.
        let run = unsafe { Run::new(start, 12) };
        run.zero_around(4, 3);
        run.fill(4, &[1, 2, 3]);
        let mut back = [0; 4];
        run.fetch(3, &mut back);
        assert_eq!(back, [0, 1, 2, 3]);
        assert_eq!(memory, [0, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0, 0, 9, 9, 9, 9]);
    }

    #[test]
    #[should_panic(expected = "2 bytes at 11 leaves the run of 12 bytes")]
    fn a_copy_beyond_the_run_is_not_made() {
        let mut memory = [9_u8; 16];
        let start = NonNull::from(&mut memory).cast();
        // SAFETY: as above.
        let run = unsafe { Run::new(start, 12) };
        run.fill(11, &[1, 2]);
    }
}
