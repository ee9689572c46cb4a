//! The caller's code: a lock, a CPU, a device, counters, a measure and an array, all of which panic
//! when told to.
#![expect(unsafe_code, reason = "a lock of the caller's promises to exclude")]

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard};

use furlong::iova::{
    Config, Cpu, DomainConfig, DomainCounters, Event, Flush, GapHalf, Gaps, Largest, Measure, Need,
    SpaceNode,
};
use furlong::rbtree::{self, Checked, Counters, NoMemory, Store};
use furlong::sync::RawLock;
use furlong_spec::hostile::user_code;

thread_local! {
    /// The number of locks that this thread holds.
    pub(crate) static HELD: Cell<u32> = const { Cell::new(0) };
    /// The state of the generator of lies; 0 for none.
    static LIES: Cell<u64> = const { Cell::new(0) };
}

/// Starts lying, or stops if `seed` is `None`.
pub(crate) fn lie(seed: Option<u64>) {
    LIES.set(seed.map_or(0, |seed| seed | 1));
}

/// A lie, about every third time while lying.
fn lies() -> Option<u64> {
    let state = LIES.get();
    if state == 0 {
        return None;
    }
    let next = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(2);
    LIES.set(next | 1);
    (next >> 33).is_multiple_of(3).then_some(next >> 40)
}

/// The measure of the standard space, as user code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loud(Largest);

/// The value, or a lie.
fn or_lie(value: impl FnOnce() -> Largest) -> Largest {
    let (len, orders) = match lies() {
        Some(lie) => (lie, lie as u32),
        None => return value(),
    };
    Largest { len, orders }
}

impl PartialEq for Loud {
    fn eq(&self, other: &Self) -> bool {
        user_code("Measure::eq");
        lies().map_or(self.0 == other.0, |lie| lie % 2 == 0)
    }
}

impl Measure for Loud {
    type Halves = [GapHalf<Self>; 2];

    const NONE: Self = Self(Largest::NONE);
    const UNLINKED: Self::Halves = [GapHalf::UNLINKED; 2];

    fn of(start: u64, len: u64) -> Self {
        user_code("Measure::of");
        Self(or_lie(|| Largest::of(start, len)))
    }

    fn join(self, other: Self) -> Self {
        user_code("Measure::join");
        Self(or_lie(|| self.0.join(other.0)))
    }

    fn meets(self, need: &Need) -> bool {
        user_code("Measure::meets");
        lies().map_or_else(|| self.0.meets(need), |lie| lie % 2 == 0)
    }

    fn longest(self) -> u64 {
        user_code("Measure::longest");
        lies().unwrap_or_else(|| self.0.longest())
    }
}

/// Counters of a tree and of a domain, as user code.
#[derive(Debug, Default)]
pub(crate) struct Counting;

impl Counters for Counting {
    fn augmentation(&self) {
        user_code("Counters::augmentation");
    }
    fn rotation(&self) {
        user_code("Counters::rotation");
    }
    fn visit(&self) {
        user_code("Counters::visit");
    }
}

impl DomainCounters for Counting {
    fn count(&mut self, _: Event, _: u64) {
        user_code("DomainCounters::count");
    }
    fn absorb(&mut self, _: &Self) {
        user_code("DomainCounters::absorb");
    }
}

/// The configuration of a space, with user code in all places.
#[derive(Debug)]
pub(crate) struct LoudSpace;

impl rbtree::Config for LoudSpace {
    type Propagation = Checked;
    type Counters = Counting;
}

impl Config for LoudSpace {
    type Measure = Loud;
}

/// An array of nodes whose every access is user code.
pub(crate) struct Array(pub(crate) Vec<SpaceNode<LoudSpace>>);

impl Deref for Array {
    type Target = [SpaceNode<LoudSpace>];
    fn deref(&self) -> &Self::Target {
        user_code("Deref::deref");
        &self.0
    }
}

impl DerefMut for Array {
    fn deref_mut(&mut self) -> &mut Self::Target {
        user_code("DerefMut::deref_mut");
        &mut self.0
    }
}

impl Store<Gaps<Loud>> for Array {
    fn try_reserve(&mut self, more: usize) -> Result<(), NoMemory> {
        user_code("Store::try_reserve");
        Store::try_reserve(&mut self.0, more)
    }

    fn push(&mut self, node: SpaceNode<LoudSpace>) -> Result<(), NoMemory> {
        user_code("Store::push");
        Store::push(&mut self.0, node)
    }
}

/// A lock that counts how many are held, and may panic when it is taken.
#[derive(Default)]
pub(crate) struct Watched(Mutex<()>);

// SAFETY: a mutex of the standard library excludes and orders; its guard is the token.
unsafe impl RawLock for Watched {
    type Token<'a> = MutexGuard<'a, ()>;

    fn lock(&self) -> MutexGuard<'_, ()> {
        user_code("RawLock::lock");
        let token = self.0.try_lock();
        // A lock released by a panic is poisoned, but its data are consistent. If the lock is held,
        // waiting would be a deadlock with this very thread.
        let token = match token {
            Ok(token) => token,
            Err(std::sync::TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(std::sync::TryLockError::WouldBlock) => panic!("a lock was left held"),
        };
        HELD.set(HELD.get() + 1);
        token
    }

    unsafe fn unlock<'a>(&'a self, token: MutexGuard<'a, ()>) {
        HELD.set(HELD.get() - 1);
        drop(token);
    }
}

/// A CPU number that changes at every query, and is sometimes out of range.
pub(crate) struct Moving(pub(crate) Cell<usize>);

impl Cpu for Moving {
    fn number(&self) -> usize {
        user_code("Cpu::number");
        self.0.set(self.0.get().wrapping_mul(5).wrapping_add(3));
        lies().map_or(self.0.get() % 3, |lie| lie as usize)
    }
}

/// A device that checks that no lock is held during a flush.
#[derive(Debug)]
pub(crate) struct Device;

impl Flush for Device {
    fn flush(&self) {
        assert_eq!(HELD.get(), 0, "flushed under a lock");
        user_code("Flush::flush");
    }
}

/// Capacities so small that rare paths become common. With `N` = 0, the smallest possible ones.
#[derive(Debug)]
pub(crate) struct Tiny<const N: usize>;

impl<const N: usize> DomainConfig for Tiny<N> {
    type Space = LoudSpace;
    type Lock = Watched;
    type Cpu = Moving;
    type Counters = Counting;
    const CLASSES: usize = [0, 3, 6][N];
    const MAGAZINE: usize = [1, 2, 3][N];
    const DEPOT: usize = [0, 1, 2][N];
    const QUARANTINE: usize = [0, 3, 5][N];
    const HIGH_WATER: usize = [9, 2, 0][N];
}
