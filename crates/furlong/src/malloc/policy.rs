//! The limits on kept memory by class: the profiles, which are data.
#![forbid(unsafe_code)]

use crate::sync::record;

use super::{Byte, CLASSES, Class, Config, DEPTH, FREED, Word};

/// The memory that the system is to back with huge pages, if it has them.
///
/// A huge page needs one fault where small ones need hundreds. All of it is resident from its first
/// use on. One of an arena is replaced by small pages before a part of it is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum HugePages {
    /// None.
    Off,
    /// Huge objects: those above 2 MiB, which have mappings of their own.
    Objects,
    /// Huge objects, and the blocks of a size class of which a heap has four spans already, if it
    /// has 2 MiB of spans in all; not with [`Secure`](super::Secure), whose pages become accessible
    /// a few at a time.
    Arenas,
}

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
    /// back to the system. With the mappings of huge objects it may be up to three times as much.
    pub dirty_bytes: (usize, usize),
    /// The most by which the lower bound grows. It grows by the memory that is taken again soon
    /// after it was given back.
    pub regretted_bytes_max: usize,
    /// The delay in milliseconds after which unused memory is given back, while allocation goes on.
    pub purge_delay_ms: usize,
    /// Back new arenas with memory at once.
    pub prefault: bool,
    /// The memory that is to have huge pages.
    pub huge_pages: HugePages,
    /// The mean number of bytes from one sampled block to the next; 0 samples nothing. An allocator
    /// that begins with 0 never samples. See [`Sampler`](super::Sampler).
    pub sample_bytes: usize,
    /// One of so many allocations that find no block at hand gets guard pages, at most one a
    /// millisecond; with 1 all of them, and with 0 none. Only sizes up to 28 KiB can get them, with
    /// pages of 4 KiB, and the type `Secure` none.
    pub guarded_every: usize,
}

impl Profile {
    /// For programs.
    pub const STANDARD: Self = Self {
        kept_bytes_max: 64 << 10,
        kept_blocks_max: DEPTH,
        aside_bytes_max: 1 << 20,
        dirty_bytes: (4 << 20, 128 << 20),
        regretted_bytes_max: 64 << 20,
        purge_delay_ms: 1000,
        prefault: false,
        huge_pages: HugePages::Arenas,
        sample_bytes: 0,
        guarded_every: 0,
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
        huge_pages: HugePages::Off,
        sample_bytes: 0,
        guarded_every: 0,
    };
}

record! {
    /// The limits in force, by class.
    #[derive(Debug)]
    pub struct Policy {
        kept: [Byte; 256] = [const { Byte::new(0) }; 256],
        aside: Word = Word::new(0),
        dirty_min: Word = Word::new(0),
        dirty_max: Word = Word::new(0),
        regretted_max: Word = Word::new(0),
        delay: Word = Word::new(0),
        prefault: Byte = Byte::new(0),
        huge_pages: Byte = Byte::new(0),
        sample: Word = Word::new(0),
        two_stacks: Byte = Byte::new(0),
        guarded_every: Word = Word::new(0),
    }
    pub(crate) const fn new;
}

impl Policy {
    /// Puts the first profile in force. It decides for good if each class has two stacks.
    pub(crate) fn begin<C: Config>(&self, profile: &Profile) {
        self.follow(profile);
        let samples = C::SAMPLER.is_some() && profile.sample_bytes > 0;
        self.two_stacks.set(u8::from(samples));
    }

    /// Puts a profile in force; heaps follow when they refill a stack.
    pub(crate) fn follow(&self, profile: &Profile) {
        for class in (1..CLASSES).map(Class::numbered) {
            let most = (profile.kept_bytes_max / class.size()).clamp(2, DEPTH);
            let most = most.min(profile.kept_blocks_max);
            #[expect(clippy::cast_possible_truncation, reason = "at most DEPTH")]
            self.kept[class.index()].set(most as u8);
            #[expect(clippy::cast_possible_truncation, reason = "at most DEPTH")]
            self.kept[FREED + class.index()].set(most as u8);
        }
        self.aside.set(profile.aside_bytes_max);
        self.dirty_min.set(profile.dirty_bytes.0);
        self.dirty_max.set(profile.dirty_bytes.1);
        self.regretted_max.set(profile.regretted_bytes_max);
        self.delay.set(profile.purge_delay_ms);
        self.prefault.set(u8::from(profile.prefault));
        self.huge_pages.set(profile.huge_pages as u8);
        self.sample.set(profile.sample_bytes);
        self.guarded_every.set(profile.guarded_every);
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

    /// True if memory of this kind is to have huge pages.
    pub(crate) fn has_huge_pages(&self, kind: HugePages) -> bool {
        self.huge_pages.get() >= kind as u8
    }

    /// Records that the system has no huge pages for arenas. Under the pool's latch.
    pub(crate) fn leave_arenas_out(&self) {
        let objects = HugePages::Objects as u8;
        self.huge_pages.set(self.huge_pages.get().min(objects));
    }

    /// The mean number of bytes between samples; 0 without samples.
    pub(crate) fn sample_bytes(&self) -> usize {
        self.sample.get()
    }

    /// The mean number of slow allocations for each with guard pages; 0 without them.
    pub(crate) fn guarded_every(&self) -> usize {
        self.guarded_every.get()
    }

    /// True if each class has a second stack, for freed blocks, because blocks are sampled.
    #[inline(always)]
    pub(crate) fn has_two_stacks(&self) -> bool {
        self.two_stacks.get() == 1
    }

    /// The number of the stack for freed blocks of a class.
    #[expect(clippy::cast_possible_truncation, reason = "less than 256")]
    pub(crate) fn bin(&self, class: Class) -> u8 {
        (class.index() + usize::from(self.two_stacks.get()) * FREED) as u8
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

    /// The most bytes that may be dirty or in kept mappings, while `dirty` bytes may be dirty. The
    /// pages of a mapping are all used again at once, so a large process keeps more of them.
    pub(crate) fn kept_bytes_max(&self, live: usize, dirty: usize) -> usize {
        (live / 3).clamp(dirty, dirty.saturating_mul(3))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{CLASSES, Class, DEPTH, HugePages, Policy, Profile};

    #[test]
    fn nothing_is_kept_before_a_profile_is_in_force() {
        let policy = Policy::new();
        for class in 0..=u8::MAX {
            assert!(!policy.keeps(class));
        }
        assert_eq!((policy.aside_bytes_max(), policy.purge_delay_ms()), (0, 0));
        assert_eq!(policy.dirty_bytes_max(usize::MAX, usize::MAX), 0);
        assert!(!policy.prefaults());
        assert!(!policy.has_huge_pages(HugePages::Objects));
    }

    #[test]
    fn arenas_have_huge_pages_only_if_huge_objects_have_them() {
        let policy = Policy::new();
        for (huge_pages, of) in [
            (HugePages::Off, [false, false]),
            (HugePages::Objects, [true, false]),
            (HugePages::Arenas, [true, true]),
        ] {
            policy.follow(&Profile {
                huge_pages,
                ..Profile::STANDARD
            });
            let kinds = [HugePages::Objects, HugePages::Arenas];
            assert_eq!(kinds.map(|kind| policy.has_huge_pages(kind)), of);
        }
    }

    #[test]
    fn each_class_keeps_what_the_profile_allows_but_two_blocks_at_least() {
        let (policy, standard) = (Policy::new(), Profile::STANDARD);
        for (bytes, blocks) in [
            (64 << 10, DEPTH),
            (8 << 10, 16),
            (0, DEPTH),
            (1 << 20, 1),
            (0, 0),
        ] {
            policy.follow(&Profile {
                kept_bytes_max: bytes,
                kept_blocks_max: blocks,
                ..standard
            });
            for class in (1..CLASSES).map(Class::numbered) {
                let fit = (bytes / class.size()).clamp(2, DEPTH).min(blocks);
                assert_eq!(policy.kept(class), fit, "{class:?} of {bytes}, {blocks}");
                assert_eq!(policy.keeps(class.number()), fit > 0);
            }
        }
    }

    #[test]
    fn the_limit_on_dirty_memory_is_an_eighth_of_what_is_live_within_bounds() {
        let policy = Policy::new();
        policy.follow(&Profile {
            dirty_bytes: (100, 1000),
            regretted_bytes_max: 50,
            purge_delay_ms: 7,
            aside_bytes_max: 9,
            prefault: true,
            ..Profile::STANDARD
        });
        for (live, regretted, most) in [
            (0, 0, 100),
            (800, 0, 100),
            (816, 0, 102),
            (7_999, 0, 999),
            (8_800, 0, 1000),
            (0, 30, 130),
            (0, 60, 150),
            (1208, 60, 151),
        ] {
            assert_eq!(policy.dirty_bytes_max(live, regretted), most);
        }
        for (live, dirty, most) in [
            (0, 0, 0),
            (300, 100, 100),
            (303, 100, 101),
            (903, 100, 300),
            (usize::MAX, usize::MAX, usize::MAX),
        ] {
            assert_eq!(policy.kept_bytes_max(live, dirty), most);
        }
        assert_eq!((policy.purge_delay_ms(), policy.aside_bytes_max()), (7, 9));
        assert!(policy.prefaults());
    }

    /// The documents and the measurements are about these figures.
    #[test]
    fn the_profiles_are_those_of_the_documents() {
        let all = |profile: Profile| {
            let (least, most) = profile.dirty_bytes;
            let kept = (profile.kept_bytes_max >> 10, profile.kept_blocks_max);
            let aside = (
                profile.aside_bytes_max >> 10,
                profile.regretted_bytes_max >> 10,
            );
            (
                kept,
                aside,
                (least >> 10, most >> 10),
                profile.purge_delay_ms,
                (profile.prefault, profile.huge_pages),
            )
        };
        assert_eq!(
            all(Profile::STANDARD),
            (
                (64, 63),
                (1024, 64 << 10),
                (4096, 128 << 10),
                1000,
                (false, HugePages::Arenas)
            )
        );
        assert_eq!(
            all(Profile::CONSERVATIVE),
            ((8, 16), (0, 0), (256, 4096), 100, (false, HugePages::Off))
        );
    }
}
