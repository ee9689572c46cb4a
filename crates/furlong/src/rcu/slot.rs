//! A reader's line: its sequence, the orderings that make it work, and where slots are stored.
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
use alloc::boxed::Box;

use crate::sync::{
    atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence, fence},
    const_unless_loom,
};

/// What a domain keeps about one reader.
///
/// It fills 128 bytes, two lines, since some processors fetch lines in pairs. The reader writes
/// `sequence`, `depth` and `fenced`; who advances reads the sequence and writes `noted`.
#[derive(Debug)]
#[repr(align(128))]
pub struct ReaderSlot {
    /// Odd inside, even outside (I1).
    sequence: AtomicUsize,
    /// Guards that are open.
    depth: AtomicUsize,
    /// Whether a fence was executed since the sequence became odd: nested guards need no other.
    fenced: AtomicBool,
    /// Whether a reader has the slot.
    claimed: AtomicBool,
    /// The odd sequence of a straggler, else zero. Belongs to the keeper.
    noted: AtomicUsize,
}

impl ReaderSlot {
    const_unless_loom! {
        /// A slot that no reader has.
        pub const fn new() -> Self {
            Self {
                sequence: AtomicUsize::new(0),
                depth: AtomicUsize::new(0),
                fenced: AtomicBool::new(false),
                claimed: AtomicBool::new(false),
                noted: AtomicUsize::new(0),
            }
        }
    }

    /// `N` slots that no reader has.
    #[cfg(not(loom))]
    pub const fn array<const N: usize>() -> [Self; N] {
        [const { Self::new() }; N]
    }

    /// `N` slots that no reader has.
    #[cfg(loom)]
    pub fn array<const N: usize>() -> [Self; N] {
        core::array::from_fn(|_| Self::new())
    }

    /// Opens a guard. Only the slot's owner calls it, or a handler that interrupts the owner and
    /// has closed all its guards when it returns.
    ///
    /// Wait-free: no loop. The depth goes up first, so that no handler leaves on behalf of the
    /// owner. A handler that comes in before the fence finds `fenced` false and does for itself
    /// what the owner has not done yet; the owner then does it again, with the same odd number.
    ///
    /// # Panics
    ///
    /// If `usize::MAX` guards are open: so many were forgotten.
    #[inline]
    pub(super) fn enter(&self) {
        self.enter_with(|_| ());
    }

    /// `enter`, calling `gap` wherever a handler could come in. Tests do something there.
    #[inline(always)]
    pub(super) fn enter_with(&self, mut gap: impl FnMut(Step)) {
        // Relaxed, here and for `fenced` and `sequence` below: only the owner writes these words,
        // and its own handlers, which the compiler fences keep in program order.
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
        // Release, `slot-enter`: pairs with `slot-look`. Whoever sees that a later section has
        // begun must see that the earlier one is over, with all that it read; this store comes
        // after it in the same thread.
        self.sequence.store(sequence | 1, Ordering::Release);
        gap(Step::Other);
        // SeqCst, `reader-fence`: pairs with `keeper-fence`, and with `quiet-fence` as well.
        // One of the two comes first. If it is the reader's, the keeper, which looks afterwards,
        // sees the odd sequence and waits for this section. If it is the keeper's, the reader,
        // which loads afterwards, sees everything that was unlinked before the keeper took it.
        fence(Ordering::SeqCst);
        gap(Step::Fence);
        self.fenced.store(true, Ordering::Relaxed);
    }

    /// Closes a guard; see `enter` for who may call it.
    ///
    /// Wait-free. The depth goes down first. A handler that comes in afterwards enters and leaves
    /// as if there were no owner: under the odd sequence if that is still fenced, else with a fence
    /// of its own. The owner then finds the sequence even, or stores the number of an end that has
    /// passed, which is even as well. A number that comes again only makes a grace period longer.
    #[inline]
    pub(super) fn exit(&self) {
        self.exit_with(|_| ());
    }

    /// `exit`, calling `gap` wherever a handler could come in. Tests do something there.
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
            // Release, `slot-exit`: pairs with `slot-look`. What the section read was read before
            // anyone who sees the end reclaims it.
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

    /// Sets the sequence as nobody but a test does.
    #[cfg(all(test, not(loom)))]
    pub(super) fn set_sequence(&self, sequence: usize) {
        self.sequence.store(sequence, Ordering::SeqCst);
    }

    /// The sequence, for tests that look at it.
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

    /// Gives the slot to the caller, unless somebody has it.
    pub(super) fn claim(&self) -> bool {
        // Relaxed: a look only, so that the lines of other readers are not written.
        if self.claimed.load(Ordering::Relaxed) {
            return false;
        }
        // Acquire: pairs with `slot-release`; the owner before has written its last sequence.
        // A failed attempt learns nothing and may be relaxed.
        self.claimed
            .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Gives the slot back. Guards that were forgotten end here.
    pub(super) fn release(&self) {
        // Relaxed: the owner's own word; the store to `claimed` publishes it to the next.
        self.depth.store(0, Ordering::Relaxed);
        self.leave(|_| ());
        // Release, `slot-release`: pairs with the exchange in `claim`.
        self.claimed.store(false, Ordering::Release);
    }

    /// Whether no section is going on that has begun before the caller's fence.
    #[inline]
    pub(super) fn is_outside(&self) -> bool {
        // Acquire, `slot-look`: pairs with `slot-exit`, as in `note`.
        self.sequence.load(Ordering::Acquire).is_multiple_of(2)
    }

    /// Notes whether the reader is inside, at the start of a grace period.
    pub(super) fn note(&self) {
        // Acquire, `slot-look`: pairs with `slot-exit` and `slot-enter`. Sections that are seen
        // to be over happened before what the keeper does next.
        let sequence = self.sequence.load(Ordering::Acquire);
        if !sequence.is_multiple_of(2) {
            // Relaxed: belongs to the keeper, whose lock orders it. It is even where nothing is
            // stored, for the last grace period ended, and the line of an idle reader stays clean.
            self.noted.store(sequence, Ordering::Relaxed);
        }
    }

    /// Whether the reader has not left the section that was noted.
    pub(super) fn is_straggler(&self) -> bool {
        // Relaxed, here and below: belongs to the keeper, whose lock orders it.
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

/// What `enter` and `exit` have just done, where a handler could come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The fence of a section that begins.
    Fence,
    /// Anything else.
    Other,
}

impl Default for ReaderSlot {
    fn default() -> Self {
        Self::new()
    }
}

#[cold]
#[inline(never)]
fn too_deep() -> ! {
    panic!("usize::MAX guards of one reader are open: guards are being forgotten in a loop");
}

/// Where a domain has its slots: an array inside it, memory that it was lent for good, or a box.
///
/// Two domains never share slots, so a borrow has to be exclusive. The trait is sealed: a domain
/// relies on getting the same slots each time.
pub trait SlotStore: sealed::Sealed {
    /// The slots, always the same.
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

    /// Closed to others: implementations are relied on.
    pub trait Sealed {}

    impl<const N: usize> Sealed for [ReaderSlot; N] {}
    impl Sealed for &mut [ReaderSlot] {}
    #[cfg(feature = "alloc")]
    impl Sealed for Box<[ReaderSlot]> {}
}
