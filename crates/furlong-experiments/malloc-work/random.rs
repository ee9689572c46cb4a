//! Random numbers that are the same in every run.
#![forbid(unsafe_code)]

/// Marsaglia's 32-bit xorshift generator with the shifts 13, 17 and 5.
#[derive(Clone, Copy)]
pub(crate) struct Random(u32);

impl Random {
    /// Starts from a seed. The state is never 0, so seed 0 is replaced.
    pub(crate) fn new(seed: u32) -> Self {
        Self(if seed == 0 { 0x9e37_79b9 } else { seed })
    }

    /// The generator of a thread.
    pub(crate) fn of_thread(seed: u64, thread: usize) -> Self {
        Self::new((seed as u32).wrapping_add((thread as u32).wrapping_mul(0x9e37_79b9)))
    }

    /// The next number.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    /// A number below `end`, which is not 0.
    #[inline(always)]
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end
    }
}
