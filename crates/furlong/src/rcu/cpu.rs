//! Readers that are CPUs: a guard means "preemption is off here".

use core::marker::PhantomData;
use core::ops::ControlFlow;

use super::{BarrierError, Batch, Core, Domain, Period, Progress, Rcu, ReaderSlot, SlotStore};
use crate::forms::debug_as;
use crate::sync::const_unless_loom;

/// Kernel interface that pins the caller to its CPU and returns the CPU's number.
///
/// # Safety
///
/// From the return of `pin` to the drop of the pin
///
/// - no other context runs with the same number, except handlers that interrupt this one and have
///   dropped their pins and guards when they return to it;
/// - this context runs nowhere else.
///
/// Also, all accesses that a CPU makes under one pin happen before those under a later one.
pub unsafe trait CurrentCpu {
    /// Holds the caller to its CPU: preemption or interrupts are off.
    type Pin;

    /// Holds the caller to its CPU, and returns that CPU's number.
    fn pin(&self) -> (usize, Self::Pin);
}

/// An [`Rcu`] whose readers are CPUs, without registration.
///
/// The CPU with number n has slot n. A forgotten guard delays all reclaiming for good, like a
/// missing call to re-enable preemption.
///
/// # Example
///
/// A table in a static that every CPU reads, its interrupt handlers too:
///
/// ```
/// use furlong::addr::Pfn;
/// use furlong::phys::{Custom, Descriptor, Direct, SegmentTable};
/// use furlong::rcu::{CurrentCpu, PerCpu, ReaderSlot};
/// use furlong::sync::SpinLock;
/// # fn preemption_off() {}
/// # fn preemption_on() {}
/// # fn cpu_number() -> usize { 0 }
///
/// struct ThisCpu;
///
/// /// Preemption is off while this exists. Pins may nest.
/// struct Pinned;
///
/// impl Drop for Pinned {
///     fn drop(&mut self) {
///         preemption_on();
///     }
/// }
///
/// // SAFETY: while preemption is off, only interrupt handlers also run with this CPU's number, and
/// // they drop their guards before they return. A CPU sees its own earlier writes.
/// unsafe impl CurrentCpu for ThisCpu {
///     type Pin = Pinned;
///
///     fn pin(&self) -> (usize, Pinned) {
///         preemption_off();
///         (cpu_number(), Pinned)
///     }
/// }
///
/// struct Page(Pfn);
///
/// impl Descriptor for Page {
///     fn of_frame(frame: Pfn) -> Self {
///         Self(frame)
///     }
/// }
///
/// type Readers = PerCpu<ThisCpu, [ReaderSlot; 8]>;
///
/// static MEMORY: SegmentTable<Page, Custom<Direct, SpinLock, Readers>> =
///     SegmentTable::with_parts(SpinLock::new(), PerCpu::new(ThisCpu, ReaderSlot::array()));
///
/// // No CPU registers. A guard makes the current CPU a reader.
/// let guard = MEMORY.rcu().enter();
/// let page = MEMORY.read(&guard).page_of(Pfn::new(7));
/// assert!(page.is_none_or(|page| page.0 == Pfn::new(7)));
/// ```
pub struct PerCpu<C, S: SlotStore> {
    domain: Domain<S>,
    cpu: C,
}

impl<C: CurrentCpu, S: SlotStore> PerCpu<C, S> {
    const_unless_loom! {
        /// A domain for as many CPUs as there are slots.
        pub const fn new(cpu: C, slots: S) -> Self {
            Self { domain: Domain::with_all_slots_used(slots), cpu }
        }
    }

    /// Enters on the current CPU, which the guard pins. Also usable from interrupt handlers,
    /// non-maskable ones included.
    ///
    /// # Panics
    ///
    /// If the CPU's number is not less than the number of slots, or if `usize::MAX` guards are open
    /// on it.
    ///
    /// # Cost
    ///
    /// Wait-free, if pinning is; one fence, none when nested.
    #[inline]
    pub fn enter(&self) -> CpuGuard<'_, C::Pin> {
        let (slot, pin) = self.pin();
        slot.enter();
        CpuGuard {
            slot,
            core: self.domain.core(),
            pin,
            here: PhantomData,
        }
    }

    #[inline]
    fn pin(&self) -> (&ReaderSlot, C::Pin) {
        let (number, pin) = self.cpu.pin();
        let Some(slot) = self.domain.slots().get(number) else {
            no_such_cpu(number, self.domain.capacity());
        };
        (slot, pin)
    }
}

#[cold]
#[inline(never)]
fn no_such_cpu(number: usize, slots: usize) -> ! {
    panic!("CPU {number} has no reader slot: the domain has {slots}");
}

// SAFETY: as for `Domain`. `CurrentCpu` promises that each slot has one writer at a time, apart
// from handlers that finish before the interrupted writer continues. Slots require no more.
unsafe impl<C: CurrentCpu, S: SlotStore> Rcu for PerCpu<C, S> {
    type Guard<'r> = CpuGuard<'r, C::Pin>;

    fn covers(&self, guard: &Self::Guard<'_>) -> bool {
        core::ptr::eq(guard.core, self.domain.core())
    }

    fn retire(&self, batch: Batch) {
        self.domain.retire(batch);
    }

    fn snapshot(&self) -> Period {
        self.domain.snapshot()
    }

    fn elapsed(&self, period: Period) -> bool {
        self.domain.elapsed(period)
    }

    fn is_quiet(&self) -> bool {
        self.domain.is_quiet()
    }

    fn advance(&self) -> Progress {
        self.domain.advance()
    }

    fn reclaim(&self, max: usize) -> usize {
        self.domain.reclaim(max)
    }

    /// See [`Rcu::barrier`]; refused inside a guard on this CPU. In a drop function it waits until
    /// `pause` gives up.
    fn barrier(&self, pause: impl FnMut() -> ControlFlow<()>) -> Result<(), BarrierError> {
        let (slot, pin) = self.pin();
        let inside = slot.depth() != 0;
        drop(pin);
        if inside {
            return Err(BarrierError::InsideGuard);
        }
        self.domain.barrier(pause)
    }

    fn pending(&self) -> usize {
        self.domain.pending()
    }
}

debug_as! { PerCpu<C, S> where [C, S: SlotStore]: |it| PerCpu { domain: it.domain, .. } }

/// Proof that the current CPU is inside, and pinned, for the guard's lifetime.
#[must_use = "the section ends as soon as the guard is dropped"]
pub struct CpuGuard<'r, P> {
    slot: &'r ReaderSlot,
    core: &'r Core,
    /// Dropped after `drop` has left the slot.
    #[expect(dead_code, reason = "held for its drop")]
    pin: P,
    /// Not `Send`: only the context that entered may write the slot.
    here: PhantomData<*const ()>,
}

impl<P> Drop for CpuGuard<'_, P> {
    #[inline]
    fn drop(&mut self) {
        self.slot.exit();
    }
}

debug_as! { CpuGuard<'_, P> where [P]: CpuGuard { .. } }
