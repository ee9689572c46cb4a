//! The table: the data that readers share, and the rest under a lock.

use super::entry::Entries;
use crate::forms::debug_as;
#[cfg(not(loom))]
use crate::phys::index::direct::{Private, Root};
use crate::phys::{
    All, Arm, Concurrent, Config, Custom, Deferred, Direct, Hidden, InlineVec, Lookup, Memory,
    Order, Segments, Site, Slabs, Snapshot, Standard, View,
};
#[cfg(not(loom))]
use crate::rcu::Domain;
use crate::rcu::Rcu;
#[cfg(not(loom))]
use crate::sync::SpinLock;
use crate::sync::{Lock, RawLock};

/// Physical segments and the descriptors of their frames; see the [module](crate::phys).
///
/// The first `N` segments (a power of two) need no allocation.
///
/// # Example
///
/// ```
/// use furlong::addr::{Extent, Pfn, PhysAddr};
/// use furlong::phys::{Descriptor, SegmentTable};
///
/// struct Page(Pfn);
///
/// impl Descriptor for Page {
///     fn of_frame(frame: Pfn) -> Self {
///         Self(frame)
///     }
/// }
///
/// static TABLE: SegmentTable<Page> = SegmentTable::new();
///
/// // At boot: the ranges that the firmware reports.
/// let frames = Extent::from_len(Pfn::new(0x100), 0x1000).unwrap();
/// let low = TABLE.lock().plug(frames).unwrap();
///
/// // Once there is memory: descriptors, and readers that never wait.
/// # #[cfg(feature = "alloc")] {
/// TABLE.lock().grow_on_heap();
/// TABLE.lock().start().unwrap();
/// let reader = TABLE.rcu().register().unwrap();
/// let guard = reader.enter();
/// let view = TABLE.read(&guard);
/// assert_eq!(view.find(Pfn::new(0x103)), Some((low, 3)));
/// assert_eq!(view.page(PhysAddr::new(0x10_3456)).unwrap().0, Pfn::new(0x103));
/// assert!(view.page(PhysAddr::new(0)).is_none());
/// # }
/// ```
pub struct SegmentTable<D, C: Config = Standard, const N: usize = 32> {
    pub(crate) entries: Entries<D, N>,
    pub(crate) shared: <C::Lookup as Arm>::Shared<D>,
    pub(crate) rcu: C::Rcu,
    pub(crate) core: Lock<C::Lock, Core<D, C::Lookup, N>>,
}

/// The data under the lock.
pub(crate) struct Core<D, L: Lookup, const N: usize> {
    pub(crate) order: Order,
    /// In the order of their frames.
    pub(crate) hidden: InlineVec<Hidden, 2>,
    /// The number of isolations that will split their segment when they are removed.
    pub(crate) splits: usize,
    /// The number of entries that have ever been alive.
    pub(crate) used: u32,
    /// Head of the free list of entries, or [`NO_ENTRY`]. An entry's user value is the next index.
    pub(crate) dead: u32,
    pub(super) dead_len: u32,
    /// True if there are descriptors and an index.
    pub(crate) started: bool,
    /// The number of available frames that have descriptors.
    pub(crate) managed: u64,
    pub(crate) slabs: Slabs<D>,
    /// The number of places of slabs that belong to calls which have dropped the lock.
    pub(crate) between: u64,
    pub(crate) index: L::Private<D>,
    pub(crate) deferred: Deferred,
    pub(crate) memory: Memory,
}

/// The end of the list of dead entries.
pub(super) const NO_ENTRY: u32 = u32::MAX;

impl<D, L: Lookup, const N: usize> Core<D, L, N> {
    const fn new(index: L::Private<D>) -> Self {
        Self {
            order: Order::EMPTY,
            hidden: InlineVec::new(Hidden::NONE),
            splits: 0,
            used: 0,
            dead: NO_ENTRY,
            dead_len: 0,
            started: false,
            managed: 0,
            slabs: Slabs::new(),
            between: 0,
            index,
            deferred: Deferred::new(),
            memory: Memory::new(),
        }
    }

    pub(crate) fn snapshot<'a>(&'a self, all: All<'a, D>) -> Snapshot<'a, D> {
        Snapshot {
            all,
            order: self.order,
            hidden: self.hidden.as_slice(),
        }
    }

    pub(crate) fn site<'a>(
        &'a mut self,
        all: All<'a, D>,
        shared: &'a L::Shared<D>,
    ) -> Site<'a, L, D> {
        Site {
            shared,
            private: &mut self.index,
            memory: &mut self.memory,
            deferred: &mut self.deferred,
            snapshot: Snapshot {
                all,
                order: self.order,
                hidden: self.hidden.as_slice(),
            },
        }
    }

    /// The number of entries without a segment, of `all` entries.
    pub(super) fn unused_entries(&self, all: usize) -> usize {
        all - self.used as usize + self.dead_len as usize
    }
}

impl<D, const N: usize> SegmentTable<D, Standard, N> {
    /// An empty table, with a spin lock and a domain of its own.
    #[cfg(not(loom))]
    #[must_use]
    pub const fn new() -> Self {
        Self {
            entries: Entries::new(),
            shared: Root::new(),
            rcu: Domain::new(),
            core: Lock::new(SpinLock::new(), Core::new(Private::new())),
        }
    }
}

#[cfg(not(loom))]
crate::forms::default_is_new! { SegmentTable<D, Standard, N> where [D, const N: usize] }

impl<D, K: RawLock, R: Rcu, const BITS: u32, const N: usize>
    SegmentTable<D, Custom<Direct, K, R, BITS>, N>
{
    /// An empty table with the caller's lock, whose readers hold guards of `rcu`.
    #[cfg(not(loom))]
    pub const fn with_parts(lock: K, rcu: R) -> Self {
        Self {
            entries: Entries::new(),
            shared: Root::new(),
            rcu,
            core: Lock::new(lock, Core::new(Private::new())),
        }
    }
}

impl<D, C: Config, const N: usize> SegmentTable<D, C, N> {
    /// An empty table of any configuration.
    pub fn with_config(lock: C::Lock, rcu: C::Rcu) -> Self {
        Self {
            entries: Entries::new(),
            shared: <C::Lookup as Arm>::Shared::default(),
            rcu,
            core: Lock::new(lock, Core::new(C::Lookup::private())),
        }
    }

    /// Takes the lock, for changes and for all queries about more than one frame.
    ///
    /// Descriptors are made by [`plug`](Segments::plug) and dropped by [`remove`](Segments::remove)
    /// without the lock: these calls drop it and take it again.
    #[inline]
    pub fn lock(&self) -> Segments<'_, D, C, N> {
        Segments::locked(self)
    }

    /// Access without the lock. The borrow shows that there is no other writer and no reader, so no
    /// change waits for a grace period.
    pub fn get_mut(&mut self) -> Segments<'_, D, C, N> {
        Segments::alone(self)
    }

    /// The read-copy-update scheme, with which readers register.
    pub fn rcu(&self) -> &C::Rcu {
        &self.rcu
    }

    /// A reader's view of the table, valid inside the guard.
    ///
    /// # Panics
    /// If the guard belongs to another RCU domain.
    ///
    /// # Cost
    /// Any number of lookups can use one guard and one view.
    #[inline]
    pub fn read<'g>(&'g self, guard: &'g <C::Rcu as Rcu>::Guard<'_>) -> View<'g, D, C>
    where
        C::Lookup: Concurrent,
    {
        assert!(
            self.rcu.covers(guard),
            "the guard belongs to another domain"
        );
        View::beside(&self.shared, self.entries.all())
    }
}

impl<D, C: Config, const N: usize> Drop for SegmentTable<D, C, N> {
    fn drop(&mut self) {
        self.get_mut().drop_descriptors();
    }
}

debug_as! { SegmentTable<D, C, N> where [D, C: Config, const N: usize]: SegmentTable { .. } }
