//! The limits on kept memory by class: the profiles, which are data.
#![forbid(unsafe_code)]

use super::{
    class::{CLASSES, Class},
    field::{Byte, Word},
    thread::bins::DEPTH,
};

/// A named set of limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The most bytes of one class in a heap's stack.
    pub kept_bytes_max: usize,
    /// The most blocks of one class in a heap's stack.
    pub kept_blocks_max: usize,
    /// The most bytes that a heap sets aside, over all classes.
    pub aside_bytes_max: usize,
    /// The lower and upper bound of the limit on dirty memory: free memory that is not yet given
    /// back to the system.
    pub dirty_bytes: (usize, usize),
    /// The most by which the lower bound grows. It grows by the memory that is taken again soon
    /// after it was given back.
    pub regretted_bytes_max: usize,
    /// The delay in milliseconds after which unused memory is given back, while allocation goes on.
    pub purge_delay_ms: usize,
    /// Back new arenas with memory at once.
    pub prefault: bool,
}

impl Profile {
    /// For programs.
    pub const STANDARD: Self = Self {
        kept_bytes_max: 64 << 10,
        kept_blocks_max: DEPTH,
        aside_bytes_max: 1 << 20,
        dirty_bytes: (4 << 20, 32 << 20),
        regretted_bytes_max: 12 << 20,
        purge_delay_ms: 1000,
        prefault: false,
    };

    /// Less memory for more work: small caches, and free memory goes back early.
    pub const CONSERVATIVE: Self = Self {
        kept_bytes_max: 8 << 10,
        kept_blocks_max: 16,
        aside_bytes_max: 0,
        dirty_bytes: (256 << 10, 4 << 20),
        regretted_bytes_max: 0,
        purge_delay_ms: 100,
        prefault: false,
    };
}

/// The limits in force, by class.
#[derive(Debug)]
pub struct Policy {
    kept: [Byte; 256],
    aside: Word,
    dirty_min: Word,
    dirty_max: Word,
    regretted_max: Word,
    delay: Word,
    prefault: Byte,
}

impl Policy {
    pub(crate) const fn new() -> Self {
        Self {
            kept: [const { Byte::new(0) }; 256],
            aside: Word::new(0),
            dirty_min: Word::new(0),
            dirty_max: Word::new(0),
            regretted_max: Word::new(0),
            delay: Word::new(0),
            prefault: Byte::new(0),
        }
    }

    /// Puts a profile in force; heaps follow when they refill a stack.
    pub(crate) fn follow(&self, profile: &Profile) {
        for class in (1..CLASSES).map(Class::numbered) {
            let most = (profile.kept_bytes_max / class.size()).clamp(2, DEPTH);
            let most = most.min(profile.kept_blocks_max);
            #[expect(clippy::cast_possible_truncation, reason = "at most DEPTH")]
            self.kept[class.index()].set(most as u8);
        }
        self.aside.set(profile.aside_bytes_max);
        self.dirty_min.set(profile.dirty_bytes.0);
        self.dirty_max.set(profile.dirty_bytes.1);
        self.regretted_max.set(profile.regretted_bytes_max);
        self.delay.set(profile.purge_delay_ms);
        self.prefault.set(u8::from(profile.prefault));
    }

    /// The most bytes that a heap sets aside.
    #[inline]
    pub(crate) fn aside_bytes_max(&self) -> usize {
        self.aside.get()
    }

    /// The most blocks of a class in a heap's stack.
    #[inline(always)]
    pub(crate) fn kept(&self, class: Class) -> usize {
        usize::from(self.kept[class.index()].get())
    }

    /// True if a heap keeps blocks of a class at all.
    #[inline(always)]
    pub(crate) fn keeps(&self, class: u8) -> bool {
        self.kept[usize::from(class)].get() > 0
    }

    /// True if new arenas are backed with memory at once.
    pub(crate) fn prefaults(&self) -> bool {
        self.prefault.get() == 1
    }

    /// The delay in milliseconds after which unused dirty memory is purged.
    pub(crate) fn purge_delay_ms(&self) -> u64 {
        self.delay.get() as u64
    }

    /// The most bytes that may be dirty while `live` bytes are in use, and `regretted` bytes were
    /// taken again soon after they had been given back.
    pub(crate) fn dirty_bytes_max(&self, live: usize, regretted: usize) -> usize {
        let least = regretted.min(self.regretted_max.get());
        let least = least.saturating_add(self.dirty_min.get());
        (live / 8).max(least).min(self.dirty_max.get())
    }
}
