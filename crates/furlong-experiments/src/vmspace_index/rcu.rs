//! The arm `maple`: a B-tree of ranges whose readers take no lock.
#![forbid(unsafe_code)]

use std::cell::Cell;

use furlong::addr::VirtAddr;
use furlong::check::Check;
use furlong::maple::{Config, RcuMaple};
use furlong::rcu::{Domain, Guard, Rcu, Reader};
use furlong::sync::SpinLock;
use furlong_spec::maple::Metered;

use super::index::{AreaIndex, Span};
use super::owned::{MEMORY, extent, mixed, start};
use super::work::{Counted, Work};
use furlong_lab::model::Failure;

/// What all trees of the arm retire to.
pub(super) static RCU: Domain = Domain::new();

/// Changes of this thread between two looks at what can be reclaimed. Each look takes a reader's
/// line away from it, for which its next fence waits; meanwhile some 64 nodes wait, 24 KiB.
const POLL: u32 = 64;

thread_local! {
    static CHANGES: Cell<u32> = const { Cell::new(0) };
    static FAULTS: Faults = Faults::new();
}

/// A thread whose faults are a reader: it stays inside from one until its next call. In a kernel,
/// too, a call shows that a thread is not inside, and going inside costs nothing.
struct Faults {
    reader: &'static Reader<'static>,
    guard: Cell<Option<Guard<'static>>>,
}

impl Faults {
    /// A slot for good: a guard may be dropped when the thread ends, after its reader would be.
    fn new() -> Self {
        let domain: &'static Domain = &RCU;
        let reader = domain.register().expect("there is a slot");
        Self {
            reader: Box::leak(Box::new(reader)),
            guard: Cell::new(None),
        }
    }
}

/// Runs something inside, where this thread stays until it makes a change.
#[inline]
pub(super) fn inside<T>(run: impl FnOnce(&Guard<'static>) -> T) -> T {
    FAULTS.with(|faults| {
        let guard = faults.guard.take();
        let guard = guard.unwrap_or_else(|| faults.reader.enter());
        let done = run(&guard);
        faults.guard.set(Some(guard));
        done
    })
}

/// Leaves: before a call, which shows that this thread is not inside.
#[inline]
pub(super) fn leave() {
    FAULTS.with(|faults| faults.guard.set(None));
}

/// Reclaims now and then what changes have retired.
#[inline]
pub(super) fn changed() {
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

/// Frees whatever was retired. No reader is inside.
pub(super) fn settle() {
    leave();
    while RCU.pending() > 0 {
        RCU.poll(usize::MAX);
    }
    CHANGES.set(0);
}

/// A B-tree of ranges. Each change takes its lock.
pub(super) struct Shared<C: Config>(
    pub(super) RcuMaple<VirtAddr, u32, &'static Domain, SpinLock, C>,
);

impl<C: Config<Counters: Counted>> Shared<C> {
    /// As [`AreaIndex::store`], beside readers.
    #[inline]
    pub(super) fn put(&self, span: Span, value: u32) {
        drop(self.0.lock().store(extent(span), value).expect(MEMORY));
        changed();
    }

    /// As [`AreaIndex::erase`], beside readers.
    #[inline]
    pub(super) fn take(&self, span: Span) -> Option<u32> {
        let erased = self.0.lock().erase(VirtAddr::new(span.first));
        let value = erased.expect(MEMORY).map(|(_, value)| value.into_inner());
        changed();
        value
    }

    /// Runs something with a reader that is inside.
    fn inside<T>(&self, run: impl FnOnce(&<Domain as Rcu>::Guard<'_>) -> T) -> T {
        let reader = RCU.register().expect("there is a slot");
        let guard = reader.enter();
        run(&guard)
    }
}

impl<C: Config<Counters: Counted>> AreaIndex for Shared<C> {
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

    /// The reader goes inside once for all: in a kernel that costs nothing.
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

    /// The lock is taken once for all: what is found means something only to who holds it, and in
    /// a kernel who looks for a gap holds it for what goes there.
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

    /// All that trees have on this thread; where it is asked there is one.
    fn bytes(&self) -> u64 {
        settle();
        Metered::bytes()
    }

    fn check(&self) -> Result<(), Failure> {
        let checked = self.0.check();
        checked.map_err(|broken| Failure(broken.to_string()))
    }
}
