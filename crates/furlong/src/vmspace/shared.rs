//! The shared shell of a space: changes under the caller's lock, faults without any.
#![expect(
    unsafe_code,
    reason = "what a space knows beside its areas is under the tree's lock"
)]

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr;

use super::config::SharedConfig;
use super::hold::Lending;
use super::layout::Grid;
use super::maple_index::CHANGE_RECORDS;
use super::ranges::entry;
use super::ranges_shared::{Boxed, blank_record};
use super::space::{State, area};
use super::{
    Area, BrokenSpace, Config, Entry, Layout, LayoutError, MapleIndex, NoMemory, Record, Space,
    Standard, Value,
};
use crate::addr::VirtAddr;
use crate::check::Check;
use crate::maple::{self, RcuMaple, Session, View};
use crate::rcu::Rcu;
use crate::sync::{Padded, RawLock, Under};

/// A space that is changed under the lock `L` while faults look areas up without it.
///
/// Readers hold a guard of the domain `R`; they take no lock, wait for nobody and write nothing.
/// What they see stays as it is until their guard is dropped, but may be out of date: a
/// [`Glimpse`] can be asked whether it still holds. Threads share the space where values are
/// [`Sync`], too: a [`Value`] alone need not be.
///
/// Records and nodes that a change takes out are retired to the domain, and freed when somebody
/// [polls](Rcu::poll) it, and not before: where nobody does, memory grows.
///
/// # Example
/// ```
/// use furlong::rcu::{Domain, Rcu};
/// use furlong::sync::SpinLock;
/// use furlong::vmspace::{Access, Layout, Prot, Request, Shared};
///
/// static RCU: Domain = Domain::new();
/// let space = Shared::<u32, _, _>::new(Layout::LINUX_X86_64, &RCU, SpinLock::new())?;
/// let start = space.lock().map(Request::anonymous(0x4000, Prot::READ, 7), drop)?;
///
/// let reader = RCU.register().unwrap();
/// let guard = reader.enter();
/// let seen = space.look(&guard, start).unwrap();
/// assert!(seen.area().prot.allows(Access::Read));
/// // Here a page table is filled, and then, still under that table's lock:
/// assert!(seen.is_current());
///
/// space.lock().unmap(start, 0x4000, drop)?;
/// assert!(!seen.is_current()); // what was filled has to be taken out again
/// assert_eq!(*seen.area().value, 7); // though it stays until the guard is dropped
/// drop(guard);
///
/// // After the lock, or in an idle loop: only now is its record freed.
/// RCU.poll(usize::MAX);
/// assert_eq!(RCU.pending(), 0);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct Shared<A: Value, R: Rcu, L: RawLock, C: SharedConfig = Standard> {
    tree: RcuMaple<VirtAddr, Boxed<A>, R, L, C::Tree>,
    /// What a space knows beside its areas, under the tree's lock.
    state: Padded<Under<State>>,
    grid: Grid,
}

/// The configuration of a space whose tree has readers.
#[derive(Debug)]
pub struct InSession<'m, R, L, C>(PhantomData<(&'m R, &'m L, C)>);

impl<'m, R: Rcu, L: RawLock, C: SharedConfig> Config for InSession<'m, R, L, C> {
    type Index<A: Value> = MapleIndex<A, Tree<'m, A, R, L, C>>;
    type Mode = C::Mode;
}

/// The tree of a space, locked.
type Tree<'m, A, R, L, C> = Session<'m, VirtAddr, Boxed<A>, R, L, <C as SharedConfig>::Tree>;

/// As many records that wait to be used.
fn blank_records<A: Value>(count: usize) -> Result<Vec<Boxed<A>>, NoMemory> {
    let mut records = Vec::new();
    records.try_reserve_exact(count).map_err(|_| NoMemory)?;
    for _ in 0..count {
        records.push(blank_record()?);
    }
    Ok(records)
}

impl<A: Value, R: Rcu, L: RawLock, C: SharedConfig> Shared<A, R, L, C> {
    /// An empty space, whose readers hold guards of `rcu` and whose writers take `lock`.
    ///
    /// # Errors
    /// See [`LayoutError`].
    pub fn new(layout: Layout, rcu: R, lock: L) -> Result<Self, LayoutError> {
        let state = State::new(layout)?;
        let grid = state.grid;
        Ok(Self {
            tree: RcuMaple::with_config(rcu, lock),
            state: Padded(Under::new(state)),
            grid,
        })
    }

    /// Takes the lock, waiting as long as another holds it. The space can then be changed; readers
    /// see of each change of the index all or nothing. What was taken out is retired to the domain
    /// when the guard is dropped; what a change hands back are clones.
    pub fn lock(&self) -> Locked<'_, A, R, L, C> {
        self.locked(self.tree.lock())
    }

    /// Takes the lock with memory for so many changes of the index, obtained while it was not held:
    /// what is done under it then neither allocates nor frees. How many an operation makes is said
    /// with each.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed, and the lock is free.
    ///
    /// # Cost
    /// As [`RcuMaple::lock_prepared`], and the lock twice more where records are missing.
    ///
    /// # Example
    /// ```
    /// # use furlong::rcu::Domain;
    /// # use furlong::sync::SpinLock;
    /// # use furlong::vmspace::Layout;
    /// use furlong::vmspace::{MAP_CHANGES, Prot, Request, Shared};
    /// # let layout = Layout::LINUX_X86_64;
    /// # let space = Shared::<u32, _, _>::new(layout, Domain::new(), SpinLock::new())?;
    ///
    /// let mut locked = space.lock_prepared(MAP_CHANGES)?;
    /// locked.map(Request::anonymous(0x4000, Prot::READ, 7), drop)?;
    /// # drop(locked);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn lock_prepared(&self, changes: usize) -> Result<Locked<'_, A, R, L, C>, NoMemory> {
        let wanted = changes.checked_mul(CHANGE_RECORDS).ok_or(NoMemory)?;
        loop {
            let session = self.tree.lock_prepared(changes).map_err(|_| NoMemory)?;
            let missing = wanted.saturating_sub(session.spares());
            if missing == 0 {
                return Ok(self.locked(session));
            }
            drop(session);
            // Freed after the lock, in the order of declaration.
            let mut records = blank_records(missing)?;
            let mut session = self.tree.lock();
            records.drain(..).for_each(|record| session.keep(record));
        }
    }

    /// The space, whose tree is locked.
    fn locked<'m>(&'m self, session: Tree<'m, A, R, L, C>) -> Locked<'m, A, R, L, C> {
        // SAFETY: the session holds the tree's lock, and a session takes the state once, here. In a
        // space the state stands before the index, which has the session, and is dropped before.
        let state = unsafe { self.state.0.lend() };
        Locked {
            space: Space::over(MapleIndex::over(session), state),
        }
    }

    /// The area that has `address`, as a fault sees it.
    ///
    /// Nothing found does not mean that nothing is mapped: while a mapping goes over others and
    /// becomes one area with a neighbour, or something moves, neither may be there. Who finds
    /// nothing, or an area that does not allow the access, takes the lock and asks
    /// [`Space::fault`], which also lets stacks grow.
    ///
    /// # Panics
    /// If the guard is not one of this space's domain.
    ///
    /// # Cost
    /// O(log n); it waits for nobody and writes nothing.
    #[inline]
    pub fn look<'g>(
        &'g self,
        guard: &'g R::Guard<'_>,
        address: VirtAddr,
    ) -> Option<Glimpse<'g, A, C::Tree>> {
        let view = self.tree.read(guard);
        let page = VirtAddr::new(self.grid.page(address));
        let (at, record) = view.get(page)?;
        Some(Glimpse {
            entry: entry((at, record)),
            record,
            view,
            page,
            grid: self.grid,
        })
    }

    /// The domain.
    pub fn rcu(&self) -> &R {
        self.tree.rcu()
    }

    /// What the tree has counted.
    pub fn counters(&self) -> &<C::Tree as maple::Config>::Counters {
        self.tree.counters()
    }
}

/// An area that was seen without a lock. It stays until the guard is dropped.
pub struct Glimpse<'g, A: Value, T: maple::Config> {
    entry: Entry<'g, A>,
    record: &'g Record<A>,
    view: View<'g, VirtAddr, Boxed<A>, T>,
    page: VirtAddr,
    grid: Grid,
}

impl<'g, A: Value, T: maple::Config> Glimpse<'g, A, T> {
    /// The area as it was seen.
    #[inline]
    pub fn area(&self) -> Area<'g, A> {
        area(&self.grid, self.entry)
    }

    /// Whether the area is still what was seen: neither unmapped nor changed, cut nor grown.
    ///
    /// A fault asks under the lock of the page table that it has filled. A writer changes the space
    /// first and empties page tables, under their locks, afterwards: so either the fault is told
    /// that its area has gone, or the writer finds what the fault has filled.
    ///
    /// # Cost
    /// As [`look`](Shared::look).
    #[inline]
    #[must_use]
    pub fn is_current(&self) -> bool {
        let now = self.view.get(self.page);
        now.is_some_and(|(at, record)| {
            // A record in use never changes and, while the guard is held, no other one takes its
            // place in memory.
            ptr::eq(record, self.record) && entry((at, record)).pages == self.entry.pages
        })
    }
}

impl<A: Value + fmt::Debug, T: maple::Config> fmt::Debug for Glimpse<'_, A, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Glimpse").field(&self.area()).finish()
    }
}

/// The right to change a [`Shared`] space; dropping it releases the lock.
#[must_use = "the lock is released as soon as this is dropped"]
pub struct Locked<'m, A: Value, R: Rcu, L: RawLock, C: SharedConfig> {
    space: Space<A, InSession<'m, R, L, C>, Lending<'m>>,
}

impl<'m, A: Value, R: Rcu, L: RawLock, C: SharedConfig> Deref for Locked<'m, A, R, L, C> {
    type Target = Space<A, InSession<'m, R, L, C>, Lending<'m>>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.space
    }
}

impl<A: Value, R: Rcu, L: RawLock, C: SharedConfig> DerefMut for Locked<'_, A, R, L, C> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.space
    }
}

impl<A: Value, R: Rcu, L: RawLock, C: SharedConfig> Check for Shared<A, R, L, C> {
    type Broken = BrokenSpace<maple::Broken>;

    /// O(n), under the lock.
    fn check(&self) -> Result<(), Self::Broken> {
        self.tree.check().map_err(BrokenSpace::Index)?;
        self.lock().check()
    }
}

impl<A: Value, R: Rcu, L: RawLock, C: SharedConfig> fmt::Debug for Shared<A, R, L, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl<A: Value, R: Rcu, L: RawLock, C: SharedConfig> fmt::Debug for Locked<'_, A, R, L, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.areas().map(|area| area.extent))
            .finish()
    }
}
