//! The arm `maple`: a B-tree of ranges with lock-free readers.

use std::cell::Cell;

use furlong::addr::VirtAddr;
use furlong::check::Check;
use furlong::maple::{Config, RcuMaple};
use furlong::rcu::{Domain, Guard, Rcu, Reader};
use furlong::sync::SpinLock;
use furlong_spec::maple::Metered;

use crate::vmspace_index::index::{AreaIndex, Span};
use crate::vmspace_index::owned::{MEMORY, extent, mixed, start};
use crate::vmspace_index::work::{Counted, Work};
use furlong_lab::model::Failure;

/// The RCU domain of all trees of the arm.
pub(in crate::vmspace_index) static RCU: Domain = Domain::new();

/// Changes of this thread between two polls for reclaimable memory. Each poll takes a reader's
/// cache line away from it, and the reader's next fence waits for that. About 64 nodes, 24 KiB,
/// wait meanwhile.
const POLL: u32 = 64;

thread_local! {
    static CHANGES: Cell<u32> = const { Cell::new(0) };
    static FAULTS: Faults = Faults::new();
}

/// RCU state of a thread that faults. It stays in a read-side section from a fault until its next
/// call. In a kernel, too, a call is a quiescent state, and entering a section costs nothing.
struct Faults {
    reader: &'static Reader<'static>,
    guard: Cell<Option<Guard<'static>>>,
}

impl Faults {
    /// Leaks the slot: a guard may be dropped at the thread's end, after its reader would be.
    fn new() -> Self {
        let domain: &'static Domain = &RCU;
        let reader = domain.register().expect("there is a slot");
        Self {
            reader: Box::leak(Box::new(reader)),
            guard: Cell::new(None),
        }
    }
}

/// Runs a function in a read-side section, which lasts until this thread makes a change.
#[inline]
pub(in crate::vmspace_index) fn inside<T>(run: impl FnOnce(&Guard<'static>) -> T) -> T {
    FAULTS.with(|faults| {
        let guard = faults.guard.take();
        let guard = guard.unwrap_or_else(|| faults.reader.enter());
        let done = run(&guard);
        faults.guard.set(Some(guard));
        done
    })
}

/// Leaves the read-side section. Called before a call, which is a quiescent state.
#[inline]
pub(in crate::vmspace_index) fn leave() {
    FAULTS.with(|faults| faults.guard.set(None));
}

/// Reclaims retired memory from time to time.
#[inline]
pub(in crate::vmspace_index) fn changed() {
    if RCU.pending() == 0 {
        return;
    }
    let changes = CHANGES.get() + 1;
    if changes < POLL {
        return CHANGES.set(changes);
    }
    CHANGES.set(0);
    RCU.poll(usize::MAX);
}

/// Frees all retired memory. No reader may be in a section.
pub(in crate::vmspace_index) fn settle() {
    leave();
    while RCU.pending() > 0 {
        RCU.poll(usize::MAX);
    }
    CHANGES.set(0);
}

/// A B-tree of ranges. Each change takes its lock.
pub(in crate::vmspace_index) struct RcuIndex<C: Config>(
    pub(in crate::vmspace_index) RcuMaple<VirtAddr, u32, &'static Domain, SpinLock, C>,
);

impl<C: Config<Counters: Counted>> RcuIndex<C> {
    /// As [`AreaIndex::store`], concurrent with readers.
    #[inline]
    pub(in crate::vmspace_index) fn put(&self, span: Span, value: u32) {
        drop(self.0.lock().store(extent(span), value).expect(MEMORY));
        changed();
    }

    /// As [`AreaIndex::erase`], concurrent with readers.
    #[inline]
    pub(in crate::vmspace_index) fn take(&self, span: Span) -> Option<u32> {
        let erased = self.0.lock().erase(VirtAddr::new(span.first));
        let value = erased.expect(MEMORY).map(|(_, value)| value.into_inner());
        changed();
        value
    }

    /// Runs a function in a read-side section.
    fn inside<T>(&self, run: impl FnOnce(&<Domain as Rcu>::Guard<'_>) -> T) -> T {
        let reader = RCU.register().expect("there is a slot");
        let guard = reader.enter();
        run(&guard)
    }
}

impl<C: Config<Counters: Counted>> AreaIndex for RcuIndex<C> {
    fn new() -> Self {
        Self(RcuMaple::with_config(&RCU, SpinLock::new()))
    }

    #[inline]
    fn store(&mut self, span: Span, value: u32) {
        self.put(span, value);
    }

    #[inline]
    fn erase(&mut self, span: Span) -> Option<u32> {
        self.take(span)
    }

    fn find(&self, address: u64) -> Option<u32> {
        self.inside(|guard| self.0.read(guard).load(VirtAddr::new(address)))
    }

    /// Enters the section once for all addresses: in a kernel that costs nothing.
    fn look_up(&self, addresses: &[u64]) -> u64 {
        self.inside(|guard| {
            let view = self.0.read(guard);
            let found = addresses.iter().map(|address| {
                let value = view.load(VirtAddr::new(*address));
                value.map_or(0, |value| u64::from(value) + 1)
            });
            found.fold(0, u64::wrapping_add)
        })
    }

    fn sum(&self) -> u64 {
        self.inside(|guard| self.0.read(guard).iter().fold(0, mixed))
    }

    fn duplicate(&self) -> Self {
        let copy = |_, value| Ok::<_, ()>(value);
        let copy = self.0.lock().duplicate(&RCU, SpinLock::new(), copy);
        Self(copy.expect(MEMORY))
    }

    fn duplicate_part(&self, keeps: impl Fn(u32) -> bool) -> Self {
        let copy = Self::new();
        {
            let mut session = copy.0.lock();
            let parent = self.0.lock();
            for (at, value) in parent.view().iter().filter(|(_, value)| keeps(*value)) {
                session.insert(at, value).expect(MEMORY);
            }
        }
        copy
    }

    #[inline]
    fn lowest(&self, window: Span, len: u64) -> Option<u64> {
        let session = self.0.lock();
        session.lowest_gap(len, extent(window)).map(start)
    }

    #[inline]
    fn highest(&self, window: Span, len: u64) -> Option<u64> {
        let session = self.0.lock();
        session.highest_gap(len, extent(window)).map(start)
    }

    /// Takes the lock once for all gaps. A gap is stable only under the lock, and a kernel holds it
    /// from the search to the store.
    fn search(&self, gaps: &[(Span, u64)], lowest: bool, starts: &mut [u64]) {
        let session = self.0.lock();
        for ((window, len), found) in gaps.iter().zip(starts) {
            let gap = if lowest {
                session.lowest_gap(*len, extent(*window))
            } else {
                session.highest_gap(*len, extent(*window))
            };
            *found = gap.map_or(u64::MAX, start);
        }
    }

    fn work(&self) -> Work {
        self.0.counters().work()
    }

    /// Bytes of all trees on this thread; only one exists when this is called.
    fn bytes(&self) -> u64 {
        settle();
        Metered::bytes()
    }

    fn check(&self) -> Result<(), Failure> {
        self.0.check().map_err(Failure::of)
    }
}
