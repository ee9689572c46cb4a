//! A reader's slot: its sequence, the memory orderings of enter and exit, and the storage of slots.
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
use alloc::boxed::Box;

use crate::forms::default_is_new;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence, fence};
use crate::sync::record;

record! {
    /// A domain's record of one reader.
    ///
    /// It fills 128 bytes, two cache lines, since some processors fetch lines in pairs. The reader
    /// writes `sequence`, `depth` and `fenced`; the thread that advances reads `sequence` and
    /// writes `noted`.
    #[derive(Debug)]
    #[repr(align(128))]
    pub struct ReaderSlot {
        /// Odd inside, even outside (I1).
        sequence: AtomicUsize = AtomicUsize::new(0),
        /// Number of open guards.
        depth: AtomicUsize = AtomicUsize::new(0),
        /// True if a fence was executed since the sequence became odd; nested guards need no other.
        fenced: AtomicBool = AtomicBool::new(false),
        /// True if a reader owns the slot.
        claimed: AtomicBool = AtomicBool::new(false),
        /// The odd sequence of a straggler, else zero. Written under the grace period's lock.
        noted: AtomicUsize = AtomicUsize::new(0),
    }
    /// A free slot.
    pub const fn new;
}

impl ReaderSlot {
    /// `N` free slots.
    #[cfg(not(loom))]
    pub const fn array<const N: usize>() -> [Self; N] {
        [const { Self::new() }; N]
    }

    /// `N` free slots.
    #[cfg(loom)]
    pub fn array<const N: usize>() -> [Self; N] {
        core::array::from_fn(|_| Self::new())
    }

    /// Opens a guard. Only the slot's owner calls it, or a handler that interrupts the owner and
    /// closes all its guards before it returns.
    ///
    /// Wait-free: no loop. The depth is incremented first, so that no handler makes the owner's
    /// sequence even. A handler that interrupts before the fence finds `fenced` false and completes
    /// the owner's remaining steps for itself. The owner then repeats them, with the same odd
    /// number.
    ///
    /// # Panics
    ///
    /// If `usize::MAX` guards are open, which takes a leak of guards.
    #[inline]
    pub(super) fn enter(&self) {
        self.enter_with(|_| ());
    }

    /// `enter`, calling `gap` at each point where a handler could interrupt. Tests use it.
    #[inline(always)]
    pub(super) fn enter_with(&self, mut gap: impl FnMut(Step)) {
        // Relaxed, here and for `fenced` and `sequence` below: only the owner and its own handlers
        // write these words, and the compiler fences keep their accesses in program order.
        let depth = self.depth.load(Ordering::Relaxed);
        let Some(deeper) = depth.checked_add(1) else {
            too_deep()
        };
        gap(Step::Other);
        self.depth.store(deeper, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        gap(Step::Other);
        if self.fenced.load(Ordering::Relaxed) {
            return;
        }
        gap(Step::Other);
        let sequence = self.sequence.load(Ordering::Relaxed);
        gap(Step::Other);
        // Release, `slot-enter`: pairs with `slot-look`. A thread that sees the start of a later
        // section must see that the earlier one is over, with all its reads; they precede this
        // store in the same thread.
        self.sequence.store(sequence | 1, Ordering::Release);
        gap(Step::Other);
        // SeqCst, `reader-fence`: pairs with `period-fence`, and with `quiet-fence` as well. One of
        // the two comes first. If it is the reader's, the grace period's later loads see the odd
        // sequence, and it waits for this section. If it is the grace period's, the reader's later
        // loads see everything that was unlinked before the grace period took it.
        fence(Ordering::SeqCst);
        gap(Step::Fence);
        self.fenced.store(true, Ordering::Relaxed);
    }

    /// Closes a guard; see `enter` for the permitted callers.
    ///
    /// Wait-free. The depth is decremented first. A handler that interrupts afterwards enters and
    /// leaves as if there were no owner: under the odd sequence if that is still fenced, else with
    /// a fence of its own. The owner then finds the sequence even, or stores the number of an end
    /// that has already happened, which is even as well. A repeated number only makes a grace
    /// period longer.
    #[inline]
    pub(super) fn exit(&self) {
        self.exit_with(|_| ());
    }

    /// `exit`, calling `gap` at each point where a handler could interrupt. Tests use it.
    #[inline(always)]
    pub(super) fn exit_with(&self, mut gap: impl FnMut(Step)) {
        // Relaxed: as in `enter`. There is a guard, so the depth is not zero.
        let depth = self.depth.load(Ordering::Relaxed) - 1;
        gap(Step::Other);
        self.depth.store(depth, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        gap(Step::Other);
        if depth == 0 {
            self.leave(gap);
        }
    }

    /// Makes the sequence even if it is odd.
    #[inline(always)]
    fn leave(&self, mut gap: impl FnMut(Step)) {
        // Relaxed: as in `enter`.
        self.fenced.store(false, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        gap(Step::Other);
        let sequence = self.sequence.load(Ordering::Relaxed);
        gap(Step::Other);
        if !sequence.is_multiple_of(2) {
            // Release, `slot-exit`: pairs with `slot-look`. All reads of the section precede the
            // reclaiming by any thread that sees this end.
            self.sequence
                .store(sequence.wrapping_add(1), Ordering::Release);
        }
    }

    /// A slot whose next section has the sequence after `sequence`, which is even.
    #[cfg(all(test, not(loom)))]
    pub(super) fn starting_at(sequence: usize) -> Self {
        Self {
            sequence: AtomicUsize::new(sequence),
            ..Self::new()
        }
    }

    /// Sets the sequence, for tests only.
    #[cfg(all(test, not(loom)))]
    pub(super) fn set_sequence(&self, sequence: usize) {
        self.sequence.store(sequence, Ordering::SeqCst);
    }

    /// The sequence, for tests only.
    #[cfg(all(test, not(loom)))]
    pub(super) fn sequence(&self) -> usize {
        self.sequence.load(Ordering::SeqCst)
    }

    /// The number of open guards, as the owner sees it.
    #[inline]
    pub(super) fn depth(&self) -> usize {
        // Relaxed: the owner's own word.
        self.depth.load(Ordering::Relaxed)
    }

    /// Claims the slot for the caller, unless it is taken.
    pub(super) fn claim(&self) -> bool {
        // Relaxed: a read-only check first, so that the lines of other readers are not written.
        if self.claimed.load(Ordering::Relaxed) {
            return false;
        }
        // Acquire: pairs with `slot-release`; the previous owner has written its last sequence. A
        // failed attempt reads nothing else and may be relaxed.
        self.claimed
            .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Frees the slot. Forgotten guards end here.
    pub(super) fn release(&self) {
        // Relaxed: the owner's own word; the store to `claimed` publishes it to the next owner.
        self.depth.store(0, Ordering::Relaxed);
        self.leave(|_| ());
        // Release, `slot-release`: pairs with the exchange in `claim`.
        self.claimed.store(false, Ordering::Release);
    }

    /// True if no section that began before the caller's fence is still open.
    #[inline]
    pub(super) fn is_outside(&self) -> bool {
        // Acquire, `slot-look`: pairs with `slot-exit`, as in `note`.
        self.sequence.load(Ordering::Acquire).is_multiple_of(2)
    }

    /// Notes the sequence of a reader that is inside, at the start of a grace period.
    pub(super) fn note(&self) {
        // Acquire, `slot-look`: pairs with `slot-exit` and `slot-enter`. Sections that are seen as
        // over happened before the grace period's next steps.
        let sequence = self.sequence.load(Ordering::Acquire);
        if !sequence.is_multiple_of(2) {
            // Relaxed: belongs to the grace period, whose lock orders it. If nothing is stored, it
            // is already zero, since the last grace period ended; and the line of an idle reader
            // stays clean.
            self.noted.store(sequence, Ordering::Relaxed);
        }
    }

    /// True if the reader has not left the noted section.
    pub(super) fn is_straggler(&self) -> bool {
        // Relaxed, here and below: belongs to the grace period, whose lock orders it.
        let noted = self.noted.load(Ordering::Relaxed);
        if noted == 0 {
            return false;
        }
        // Acquire, `slot-look`: pairs with `slot-enter` and `slot-exit`, as in `note`.
        if self.sequence.load(Ordering::Acquire) == noted {
            return true;
        }
        self.noted.store(0, Ordering::Relaxed);
        false
    }
}

/// The step just completed by `enter` or `exit`, at a point where a handler could interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The fence at the start of a section.
    Fence,
    /// Any other step.
    Other,
}

default_is_new! { ReaderSlot }

#[cold]
#[inline(never)]
fn too_deep() -> ! {
    panic!("one reader has usize::MAX open guards: a loop calls `mem::forget` on guards");
}

/// Storage of a domain's slots: an array inside it, memory lent to it for good, or a box.
///
/// Two domains never share slots, so a borrow has to be exclusive. The trait is sealed: a domain
/// relies on getting the same slots each time.
pub trait SlotStore: sealed::Sealed {
    /// The slots; every call returns the same ones.
    fn slots(&self) -> &[ReaderSlot];
}

impl<const N: usize> SlotStore for [ReaderSlot; N] {
    fn slots(&self) -> &[ReaderSlot] {
        self
    }
}

impl SlotStore for &mut [ReaderSlot] {
    fn slots(&self) -> &[ReaderSlot] {
        self
    }
}

#[cfg(feature = "alloc")]
impl SlotStore for Box<[ReaderSlot]> {
    fn slots(&self) -> &[ReaderSlot] {
        self
    }
}

mod sealed {
    #[cfg(feature = "alloc")]
    use super::Box;
    use super::ReaderSlot;

    /// Closed to other crates, because domains rely on the implementations.
    pub trait Sealed {}

    impl<const N: usize> Sealed for [ReaderSlot; N] {}
    impl Sealed for &mut [ReaderSlot] {}
    #[cfg(feature = "alloc")]
    impl Sealed for Box<[ReaderSlot]> {}
}
