//! The shared tree: readers hold a guard, writers the caller's lock.

use core::marker::PhantomData;

use super::edit::write;
use super::{
    Broken, Config, Displaced, NoMemory, NotEnough, Off, Pool, Reservation, Retire, Session, Slots,
    Standard, Tree, Typed, View, Write,
};
use crate::addr::Address;
use crate::check::Check;
use crate::forms::debug_as;
use crate::rcu::Rcu;
use crate::sync::{Lock, Padded, RawLock, const_unless_loom};

/// The data under the writers' lock: the nodes that are in no tree.
type Locked<L, C> = Lock<L, Pool<<C as Config>::Geometry, <C as Config>::Source>>;

/// A map from extents of addresses to entries of one word, for readers that never wait.
///
/// Readers hold a guard of the domain `R`, take no lock and write nothing. Writers take the lock
/// `L`. Unlinked nodes and entries are retired to the domain. They are dropped only when a thread
/// [polls](Rcu::poll) it: if none does, memory grows.
///
/// # Example
/// ```
/// use furlong::addr::{Extent, VirtAddr};
/// use furlong::maple::RcuMaple;
/// use furlong::rcu::{Domain, Rcu, RcuBox};
/// use furlong::sync::SpinLock;
///
/// static RCU: Domain = Domain::new();
/// static AREAS: RcuMaple<VirtAddr, RcuBox<&str>, &Domain, SpinLock> =
///     RcuMaple::new(&RCU, SpinLock::new());
///
/// let extent = |start, len| Extent::from_len(VirtAddr::new(start), len).unwrap();
/// AREAS.lock().insert(extent(0x1000, 0x3000), RcuBox::new("code"))?;
///
/// let reader = RCU.register().unwrap();
/// let guard = reader.enter();
/// let found = AREAS.read(&guard).load(VirtAddr::new(0x1234));
/// AREAS.lock().erase(VirtAddr::new(0x1234))?;
/// assert_eq!(found, Some(&"code")); // it stays until the guard is dropped
/// assert_eq!(AREAS.read(&guard).load(VirtAddr::new(0x1234)), None);
/// drop(guard);
///
/// // After the lock is released, or in an idle loop: now the entry is dropped.
/// RCU.poll(usize::MAX);
/// assert_eq!(RCU.pending(), 0);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct RcuMaple<A: Address, E: Retire, R: Rcu, L: RawLock, C: Config = Standard> {
    pub(super) tree: Tree<C::Geometry>,
    /// Kept off the cache line that readers use, which holds the root and the domain.
    pub(super) pool: Padded<Locked<L, C>>,
    pub(super) count: C::Counters,
    pub(super) rcu: R,
    pub(super) typed: Typed<A, E>,
    /// Entries move from writer to writer, possibly on other threads, as values under a lock do.
    pub(super) owns: PhantomData<Lock<L, E>>,
}

impl<A: Address, E: Retire, R: Rcu, L: RawLock> RcuMaple<A, E, R, L, Standard> {
    const_unless_loom! {
        /// An empty map. Its readers hold guards of `rcu`, and its writers take `lock`. It
        /// allocates when it gets its first entry.
        pub const fn new(rcu: R, lock: L) -> Self {
            Self {
                tree: Tree::new(),
                pool: Padded(Lock::new(lock, Pool::new())),
                count: Off,
                rcu,
                typed: PhantomData,
                owns: PhantomData,
            }
        }
    }
}

impl<A: Address, E: Retire, R: Rcu, L: RawLock, C: Config> RcuMaple<A, E, R, L, C> {
    /// An empty map with any configuration; otherwise as [`new`](RcuMaple::new).
    pub fn with_config(rcu: R, lock: L) -> Self {
        Self {
            tree: Tree::new(),
            pool: Padded(Lock::new(lock, Pool::new())),
            count: C::Counters::default(),
            rcu,
            typed: PhantomData,
            owns: PhantomData,
        }
    }

    /// A view of the tree, for as long as the guard is held.
    ///
    /// # Panics
    /// If the guard belongs to another domain than this map.
    #[inline]
    pub fn read<'g>(&'g self, guard: &'g R::Guard<'_>) -> View<'g, A, E, C> {
        assert!(
            self.rcu.covers(guard),
            "the guard belongs to another domain"
        );
        View::new(&self.tree, &self.count)
    }

    /// Takes the lock, and waits while another thread holds it.
    pub fn lock(&self) -> Session<'_, A, E, R, L, C> {
        Session {
            map: self,
            pool: self.pool.0.lock(),
        }
    }

    /// Takes the lock with nodes for `changes` changes, obtained while it was not held. These
    /// changes then neither allocate, nor free, nor fail for lack of tree memory.
    ///
    /// Unused nodes stay in the tree; [`Session::unused`] takes them out.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed, and the lock is free.
    ///
    /// # Cost
    /// Takes the lock once if the nodes left of earlier calls suffice. Otherwise it takes it twice,
    /// or more often if other writers use up the new nodes or make the tree grow.
    pub fn lock_prepared(&self, changes: usize) -> Result<Session<'_, A, E, R, L, C>, NoMemory> {
        let mut reservation = Reservation::new(0, 0)?;
        loop {
            let mut session = self.lock();
            let Err(NotEnough { levels }) = session.supply(&mut reservation, changes) else {
                return Ok(session);
            };
            drop(session);
            reservation = Reservation::new(changes, levels)?;
        }
    }

    /// The domain.
    pub fn rcu(&self) -> &R {
        &self.rcu
    }

    /// The counters of the work done so far.
    pub fn counters(&self) -> &C::Counters {
        &self.count
    }
}

impl<A: Address, E: Retire, R: Rcu, L: RawLock, C: Config> Check for RcuMaple<A, E, R, L, C> {
    type Broken = Broken;

    /// Checks every invariant under the lock, in O(n).
    fn check(&self) -> Result<(), Broken> {
        let _pool = self.pool.0.lock();
        self.tree.check()
    }
}

impl<A: Address, E: Retire, R: Rcu, L: RawLock, C: Config> Drop for RcuMaple<A, E, R, L, C> {
    /// Drops entries and nodes at once, without the lock: views borrow the map, so no reader is
    /// left.
    fn drop(&mut self) {
        let (tree, count, pool) = (&self.tree, &self.count, self.pool.0.get_mut());
        pool.recycle_all();
        let mut write = Write::<C, true> {
            tree,
            pool,
            count,
            displaced: write::Displaced::new(),
        };
        write.unlink_subtree();
        let all = Slots::new(tree, write.pool, write.displaced, (0, u64::MAX));
        drop(Displaced::<A, E, C>::of(all));
    }
}

debug_as! { RcuMaple<A, E, R, L, C> where [A: Address, E: Retire, R: Rcu, L: RawLock, C: Config]:
    RcuMaple { .. }
}
