//! The shared form of a space: changes take the caller's lock, faults take none.
#![expect(
    unsafe_code,
    reason = "what a space knows beside its areas is under the tree's lock"
)]

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr;

use super::address_space::{State, area};
use super::layout::Grid;
use crate::addr::VirtAddr;
use crate::check::Check;
use crate::error::reserved;
use crate::forms::debug_as;
use crate::maple::{self, RcuMaple, Session, View};
use crate::rcu::Rcu;
use crate::sync::{Padded, RawLock, Under};
use crate::vmspace::{
    Area, Boxed, BrokenSpace, CHANGE_RECORDS, Config, Entry, Layout, LayoutError, Lending,
    MapleIndex, NoMemory, Seen, SharedConfig, Space, Standard, Value, blank_record, seen_entry,
};

/// A space that is changed under the lock `L`, while faults look up areas without it.
///
/// Readers hold a guard of the domain `R`; they take no lock, never wait, and write nothing. An
/// area that they see stays as it is until their guard is dropped, but it may be out of date: call
/// [`Glimpse::is_current`] to check. To share a space between threads, values must be [`Sync`]; a
/// [`Value`] alone need not be.
///
/// Records and nodes that a change removes are retired to the domain. They are freed only when a
/// thread [polls](Rcu::poll) it: if none does, memory grows.
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
/// assert!(!seen.is_current()); // the filled page table entry must be cleared again
/// assert_eq!(*seen.area().value, 7); // though it stays until the guard is dropped
/// drop(guard);
///
/// // After the lock is released, or in an idle loop: now its record is freed.
/// RCU.poll(usize::MAX);
/// assert_eq!(RCU.pending(), 0);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct Shared<A: Value, R: Rcu, L: RawLock, C: SharedConfig = Standard> {
    tree: RcuMaple<VirtAddr, Boxed<A>, R, L, C::Tree>,
    /// The state of the space other than its areas, under the tree's lock.
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

/// The locked tree of a space.
type Tree<'m, A, R, L, C> = Session<'m, VirtAddr, Boxed<A>, R, L, <C as SharedConfig>::Tree>;

/// Allocates `count` unused records.
fn blank_records<A: Value>(count: usize) -> Result<Vec<Boxed<A>>, NoMemory> {
    let mut records = reserved(count)?;
    for _ in 0..count {
        records.push(blank_record()?);
    }
    Ok(records)
}

impl<A: Value, R: Rcu, L: RawLock, C: SharedConfig> Shared<A, R, L, C> {
    /// An empty space. Its readers hold guards of `rcu`, and its writers take `lock`.
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

    /// Takes the lock, and waits while another thread holds it. The space can then be changed.
    /// Readers see all of an index change or nothing of it. Removed memory is retired to the domain
    /// when this guard is dropped. The values that a change hands back are clones.
    pub fn lock(&self) -> Locked<'_, A, R, L, C> {
        self.locked(self.tree.lock())
    }

    /// Takes the lock with memory for `changes` index changes, obtained while it was not held. The
    /// changes then neither allocate nor free. Each operation documents its number of changes.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed, and the lock is free.
    ///
    /// # Cost
    /// As [`RcuMaple::lock_prepared`], and the lock twice more if records are missing.
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
            let session = self.tree.lock_prepared(changes)?;
            let missing = wanted.saturating_sub(session.spares());
            if missing == 0 {
                return Ok(self.locked(session));
            }
            drop(session);
            // Freed after the lock is released, by the order of declaration.
            let mut records = blank_records(missing)?;
            let mut session = self.tree.lock();
            records.drain(..).for_each(|record| session.keep(record));
        }
    }

    /// The space over its locked tree.
    fn locked<'m>(&'m self, session: Tree<'m, A, R, L, C>) -> Locked<'m, A, R, L, C> {
        // SAFETY: the session holds the tree's lock, and a session takes the state once, here. The
        // space declares the state before the index, which holds the session, so it is dropped
        // first.
        let state = unsafe { self.state.0.lend() };
        Locked {
            space: Space::over(MapleIndex::over(session), state),
        }
    }

    /// The area that contains `address`, for a fault.
    ///
    /// `None` does not prove that nothing is mapped. While a mapping replaces others and merges
    /// with a neighbour, or memory moves, both the old and the new area may be missing. If nothing
    /// is found, or an area that does not allow the access, take the lock and call
    /// [`Space::fault`]. That also grows stacks.
    ///
    /// # Panics
    /// If the guard belongs to another domain than this space.
    ///
    /// # Cost
    /// O(log n); it never waits and writes nothing.
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
            entry: seen_entry((at, record)),
            growths: record.growths(),
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

    /// The work counters of the tree.
    pub fn counters(&self) -> &<C::Tree as maple::Config>::Counters {
        self.tree.counters()
    }
}

/// An area that was seen without a lock. It stays valid until the guard is dropped.
pub struct Glimpse<'g, A: Value, T: maple::Config> {
    entry: Entry<'g, A>,
    record: &'g Seen<A>,
    growths: u32,
    view: View<'g, VirtAddr, Boxed<A>, T>,
    page: VirtAddr,
    grid: Grid,
}

impl<'g, A: Value, T: maple::Config> Glimpse<'g, A, T> {
    /// The area as it was when it was seen.
    #[inline]
    pub fn area(&self) -> Area<'g, A> {
        area(&self.grid, self.entry)
    }

    /// True if the area is unchanged: not unmapped, changed, cut or grown. A growth that failed for
    /// want of memory also makes it false.
    ///
    /// A fault calls this under the lock of the page table that it has filled. A writer first
    /// changes the space, and then clears page tables under their locks. So either the fault sees
    /// that its area is gone, or the writer finds the filled entry.
    ///
    /// # Cost
    /// As [`look`](Shared::look).
    #[inline]
    #[must_use]
    pub fn is_current(&self) -> bool {
        let now = self.view.get(self.page);
        now.is_some_and(|(at, record)| {
            // A record in use never changes, and no other one reuses its memory while the guard is
            // held. If its area was cut, and is as it was, it has grown since.
            ptr::eq(record, self.record)
                && seen_entry((at, record)).pages == self.entry.pages
                && record.growths() == self.growths
        })
    }
}

debug_as! { Glimpse<'_, A, T> where [A: Value + fmt::Debug, T: maple::Config]:
    |it| Glimpse(it.area())
}

/// The right to change a [`Shared`] space; its drop releases the lock.
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

    /// Checks every invariant under the lock, in O(n).
    fn check(&self) -> Result<(), Self::Broken> {
        self.tree.check().map_err(BrokenSpace::Index)?;
        self.lock().check()
    }
}

debug_as! { Shared<A, R, L, C> where [A: Value, R: Rcu, L: RawLock, C: SharedConfig]:
    Shared { .. }
}

debug_as! { Locked<'_, A, R, L, C> where [A: Value, R: Rcu, L: RawLock, C: SharedConfig]:
    |it| [it.areas().map(|area| area.extent)]
}
