//! The shared allocator of a device's addresses: a space under a lock, and what keeps most callers
//! away from that lock.
#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use super::class::{CLASSES, Class};
use super::cpu::{Padded, Part};
use super::depot::Depot;
use super::flush::Flush;
use super::magazine::{Magazine, Shelf};
use super::traffic::DomainCounters;
use crate::iova::tag::Tag;
use crate::iova::{ChunkSpace, Config, Space, SpaceNode, Standard, Storage};
use crate::rbtree::{ChunkTable, NoMemory, Off};
use crate::sync::{Cpu, Lock, LockGuard, OneCpu, RawLock, SpinLock};

/// What may differ between two domains. The numbers are Linux's.
pub trait DomainConfig {
    /// The configuration of the space.
    type Space: Config;
    /// The lock of the tree, of each class's depot and of each CPU's part.
    type Lock: RawLock + Default;
    /// Says which CPU this is.
    type Cpu: Cpu;
    /// What is counted.
    type Counters: DomainCounters;

    /// How many size classes have magazines, from single granules on; at most [`CLASSES`]. With 0
    /// all goes to the tree, and nothing is rounded up.
    const CLASSES: usize = CLASSES;
    /// Extents in a magazine, at least 1.
    const MAGAZINE: usize = 127;
    /// Magazines of a class that no CPU has, at most: Linux's bound until 2023.
    const DEPOT: usize = 32;
    /// Released extents that wait for a flush on a CPU, at most. With 0 each one is flushed for.
    const QUARANTINE: usize = 256;
    /// From how many on a flush is due.
    const HIGH_WATER: usize = 192;
}

/// The numbers of [`DomainConfig`] with any lock, CPU, counters and configuration of the space.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shared<L = SpinLock, U = OneCpu, K = Off, S = Standard>(PhantomData<(L, U, K, S)>);

impl<L, U, K, S> DomainConfig for Shared<L, U, K, S>
where
    L: RawLock + Default,
    U: Cpu,
    K: DomainCounters,
    S: Config,
{
    type Space = S;
    type Lock = L;
    type Cpu = U;
    type Counters = K;
}

/// Device addresses for many CPUs.
///
/// Three layers on a [`Space`](crate::iova::Space): *tokens*, which keep a released extent until
/// the device has forgotten it; a *quarantine* a CPU, in which they wait for one flush together;
/// and *magazines*, in which small extents go from hand to hand without the tree, as Linux's
/// `iova.c` has them after Bonwick.
///
/// # Magazines
/// They keep extents of 1, 2, 4 .. 32 granules, which start at a multiple of their length. A
/// request of up to 32 granules is rounded up to one of those, and the whole of it is reserved and
/// given back, since the grant knows it. Served this way are requests without guards whose
/// alignment is at most that length and whose boundary, if any, is at least that; window and
/// exclusion choose among what is there, from the latest on. All others go to the tree, and what
/// they reserve goes back there. An extent in a magazine stays reserved in the tree.
///
/// Each CPU has two magazines a class; a depot a class keeps up to [`DomainConfig::DEPOT`] full and
/// empty ones. With the standard numbers that is at most 24 KiB a CPU and 390 KiB a domain. Where
/// there is no memory for a magazine, its extents go to the tree.
///
/// # Order under pressure
/// The CPU's own magazines, the depot, the tree: first for an extent of the class, then for the
/// request as it is, not rounded up. If it has neither, it is asked again after a flush of every
/// quarantine into the tree, and once more after all magazines have gone into the tree. A request
/// is refused only if none of these has a place for it; extents that another CPU is moving at that
/// moment are not seen.
///
/// # Locks
/// A CPU's, a depot's, the tree's; where two are held they were taken in this order. Under none of
/// them memory is obtained or freed, and [`Flush::flush`] is called under none. Small moves are
/// made under the first two. Under the tree's at most one search, or [`DomainConfig::MAGAZINE`]
/// releases.
///
/// # Memory
/// Nodes live in chunks of [`CHUNK_NODES`](crate::rbtree::CHUNK_NODES), 16 KiB, and never move. A
/// reservation that finds no node obtains and fills one chunk with no lock held, and adds it under
/// the tree's: no node is copied. The table of chunks, a word each, doubles when it is full.
/// [`prepare`](Self::prepare) does all that in advance.
///
/// # Panics of the caller's code
/// A lock, a [`Flush`], a [`Cpu`], counters, a measure and a policy's closure may panic. No lock
/// stays held, what the domain keeps is in order, and it can be used as before. A grant or a token
/// that was given to the call is gone: its extent stays reserved and has leaked, a token's is
/// counted among the [outstanding](Self::outstanding). Where extents were on their way to the tree,
/// counters or a measure that panic leak up to a [`DomainConfig::MAGAZINE`] of them. An extent that
/// has leaked is reserved in the space that [`into_space`](Self::into_space) returns, and can be
/// released there by its address.
///
/// # Example
/// ```
/// use furlong::addr::{Extent, Iova};
/// use furlong::iova::{Domain, Flush, Highest, OneCpu, Request, Shared, VecSpace};
///
/// struct Iommu;
/// impl Flush for Iommu {
///     fn flush(&self) { /* invalidate the TLB of this domain, and wait */ }
/// }
/// # fn map(_: Iova) {}
/// # fn unmap(_: Iova) {}
///
/// let below_4g = Extent::from_last(Iova::new(0x1000), Iova::new(0xffff_ffff)).unwrap();
/// let space = VecSpace::new(below_4g, 4096, Vec::new())?;
/// let domain = Domain::new(space, Iommu, OneCpu, 1)?;
///
/// let grant = domain.reserve(&Request::new(1500), Highest)?;
/// map(grant.iova());
/// // .. the device works ..
/// unmap(grant.iova());
/// let _ = domain.release_later(grant)?; // some later flush makes it free
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Source
/// J. Bonwick, J. Adams, "Magazines and Vmem", USENIX 2001; Linux `drivers/iommu/iova.c` (sizes,
/// limited requests) and `dma-iommu.c` (queues of 256).
pub struct Domain<F, C: DomainConfig = Shared> {
    pub(super) tree: Locked<C, Root<C>>,
    pub(super) depots: [Locked<C, Store<C>>; CLASSES],
    pub(super) parts: Vec<Locked<C, Part<C::Counters>>>,
    pub(super) flush: F,
    pub(super) cpu: C::Cpu,
    pub(super) tag: Tag,
    pub(super) shift: u32,
}

/// Something under a lock, in cache lines of its own.
pub(super) type Locked<C, T> = Padded<Lock<<C as DomainConfig>::Lock, T>>;

/// What is under the tree's lock.
pub(super) struct Root<C: DomainConfig> {
    pub(super) space: ChunkSpace<C::Space>,
    pub(super) counters: C::Counters,
}

/// What is under a depot's lock.
pub(super) struct Store<C: DomainConfig> {
    pub(super) depot: Depot,
    pub(super) counters: C::Counters,
}

/// There is no memory for a domain: what was to become of one.
pub struct NoDomain<F, C: DomainConfig, S = Vec<SpaceNode<<C as DomainConfig>::Space>>>
where
    S: Storage<C::Space>,
{
    /// The space, as it was.
    pub space: Space<C::Space, S>,
    /// How its device would have been flushed.
    pub flush: F,
    /// What would have said which CPU it is.
    pub cpu: C::Cpu,
}

impl<F, C: DomainConfig, S: Storage<C::Space>> fmt::Debug for NoDomain<F, C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NoDomain").finish_non_exhaustive()
    }
}

impl<F, C: DomainConfig, S: Storage<C::Space>> fmt::Display for NoDomain<F, C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no memory for the nodes, the quarantines and the depots")
    }
}

impl<F, C: DomainConfig, S: Storage<C::Space>> core::error::Error for NoDomain<F, C, S> {}

/// A CPU's part, locked.
pub(super) type PartGuard<'a, C> =
    LockGuard<'a, <C as DomainConfig>::Lock, Part<<C as DomainConfig>::Counters>>;

impl<F: Flush> Domain<F> {
    /// A domain for `cpus` CPUs over a space; what is reserved in that stays so, and its grants are
    /// good here.
    ///
    /// Magazines are obtained when they are needed; see [`stock`](Self::stock). All who call count
    /// as one CPU; [`with_config`](Self::with_config) takes what says which one a caller is on.
    ///
    /// The space may have its nodes anywhere; they are copied into chunks, which never move.
    /// Memory for more of them is left behind: see [`prepare`](Self::prepare).
    ///
    /// # Shapes
    /// `cpus` is at least 1; numbers of CPUs beyond are taken modulo it.
    ///
    /// # Errors
    /// [`NoDomain`], with what was given, if there is no memory for the nodes, the quarantines and
    /// the depots.
    ///
    /// # Panics
    /// If `cpus` is 0.
    pub fn new<S: Storage<Standard>>(
        space: Space<Standard, S>,
        flush: F,
        cpu: OneCpu,
        cpus: usize,
    ) -> Result<Self, NoDomain<F, Shared, S>> {
        Self::with_config(space, flush, cpu, cpus)
    }
}

impl<F: Flush, C: DomainConfig> Domain<F, C> {
    /// A domain with any configuration; otherwise as [`new`](Domain::new).
    ///
    /// # Errors
    /// [`NoDomain`], with what was given, if there is no memory for the nodes, the quarantines and
    /// the depots.
    ///
    /// # Panics
    /// If `cpus` is 0.
    ///
    /// # Example
    /// ```
    /// use furlong::addr::{Extent, Iova};
    /// use furlong::iova::{Cpu, Domain, NoTlb, Shared, VecSpace};
    /// use furlong::sync::SpinLock;
    /// # fn this_cpu() -> usize { 0 }
    ///
    /// struct ThisCpu;
    /// impl Cpu for ThisCpu {
    ///     fn number(&self) -> usize { this_cpu() }
    /// }
    ///
    /// let below_4g = Extent::from_last(Iova::new(0x1000), Iova::new(0xffff_ffff)).unwrap();
    /// let space = VecSpace::new(below_4g, 4096, Vec::new())?;
    /// let domain = Domain::<_, Shared<SpinLock, ThisCpu>>::with_config(space, NoTlb, ThisCpu, 8)?;
    /// assert_eq!(domain.cpus(), 8);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn with_config<S: Storage<C::Space>>(
        space: Space<C::Space, S>,
        flush: F,
        cpu: C::Cpu,
        cpus: usize,
    ) -> Result<Self, NoDomain<F, C, S>> {
        const { assert!(C::CLASSES <= CLASSES, "there are no more size classes") };
        const { assert!(C::MAGAZINE > 0, "a magazine holds an extent") };
        assert!(cpus > 0, "somebody has to run");
        let Some((parts, depots)) = Self::try_parts(cpus).zip(Self::try_depots()) else {
            return Err(NoDomain { space, flush, cpu });
        };
        let space = match space.into_chunks() {
            Ok(space) => space,
            Err(space) => return Err(NoDomain { space, flush, cpu }),
        };
        let (shift, tag) = (space.shift, space.tag.of_domain());
        let root = Root {
            space,
            counters: C::Counters::default(),
        };
        Ok(Self {
            tree: Padded(Lock::new(C::Lock::default(), root)),
            depots,
            parts,
            flush,
            cpu,
            tag,
            shift,
        })
    }

    fn try_parts(cpus: usize) -> Option<Vec<Locked<C, Part<C::Counters>>>> {
        let mut parts = Vec::new();
        parts.try_reserve_exact(cpus).ok()?;
        for _ in 0..cpus {
            let part = Part::try_new(C::QUARANTINE, C::HIGH_WATER)?;
            parts.push(Padded(Lock::new(C::Lock::default(), part)));
        }
        Some(parts)
    }

    fn try_depots() -> Option<[Locked<C, Store<C>>; CLASSES]> {
        let mut depots = [const { Depot::new() }; CLASSES];
        for depot in &mut depots[..C::CLASSES] {
            depot.try_reserve(C::DEPOT)?;
        }
        Some(depots.map(|depot| {
            let counters = C::Counters::default();
            Padded(Lock::new(C::Lock::default(), Store { depot, counters }))
        }))
    }

    /// Makes sure that the next `nodes` reservations in the tree obtain no memory.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    ///
    /// # Cost
    /// Chunks of [`CHUNK_NODES`](crate::rbtree::CHUNK_NODES) nodes are obtained and filled with no
    /// lock held. Under the tree's, a word a chunk is written.
    pub fn prepare(&self, nodes: usize) -> Result<(), NoMemory> {
        loop {
            let (room, table) = {
                let root = self.tree.0.lock();
                (root.space.room(), root.space.table())
            };
            match nodes.checked_sub(room) {
                None | Some(0) => return Ok(()),
                Some(missing) => self.grow(table, missing)?,
            }
        }
    }

    /// Puts empty magazines into the depot of each class until there are `magazines`, or
    /// [`DomainConfig::DEPOT`], so that releasing obtains none as long as there are some.
    ///
    /// # Errors
    /// [`NoMemory`]: those that were obtained stay.
    pub fn stock(&self, magazines: usize) -> Result<(), NoMemory> {
        for class in Class::all().take(C::CLASSES) {
            let store = &self.depots[class.order()].0;
            while store.lock().depot.len().1 < magazines.min(C::DEPOT) {
                let magazine = Magazine::try_new(C::MAGAZINE).ok_or(NoMemory)?;
                let kept = store.lock().depot.keep(magazine);
                if kept.is_err() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Obtains memory for `nodes` more nodes with no lock held, and adds it.
    pub(super) fn grow(&self, table: ChunkTable, nodes: usize) -> Result<(), NoMemory> {
        let growth = table.growth(nodes)?;
        let left = self.tree.0.lock().space.grow_with(growth);
        drop(left);
        Ok(())
    }

    /// The index of the current CPU's part.
    #[inline]
    pub(super) fn here(&self) -> usize {
        let number = self.cpu.number();
        if number < self.parts.len() {
            number
        } else {
            number % self.parts.len()
        }
    }

    #[inline]
    pub(super) fn part(&self, cpu: usize) -> PartGuard<'_, C> {
        self.parts[cpu].0.lock()
    }

    /// Lends the space to `look`, under the tree's lock. Extents in magazines and in quarantine are
    /// reserved in it. `look` must not ask the domain for anything: it would wait for the lock that
    /// it is under. If it panics, the lock is released.
    pub fn with_space<T>(&self, look: impl FnOnce(&ChunkSpace<C::Space>) -> T) -> T {
        look(&self.tree.0.lock().space)
    }

    /// The space, with everything that was cached or in quarantine freed, after a last flush. What
    /// is granted or stands for an outstanding token stays reserved; the grants are good there.
    pub fn into_space(self) -> ChunkSpace<C::Space> {
        self.drain_all();
        self.tree.0.into_inner().space
    }

    /// How the device is flushed.
    pub fn flusher(&self) -> &F {
        &self.flush
    }

    /// How many CPUs have a part.
    pub fn cpus(&self) -> usize {
        self.parts.len()
    }

    /// How many tokens were issued and not redeemed: those in quarantine, those in other hands, and
    /// those that were dropped, whose extents have leaked.
    ///
    /// # Cost
    /// Every CPU's lock, one after the other: exact while nobody releases or redeems.
    pub fn outstanding(&self) -> u64 {
        self.sum(|part| part.issued.wrapping_sub(part.redeemed))
    }

    /// How many tokens are in quarantine.
    ///
    /// # Cost
    /// As [`outstanding`](Self::outstanding).
    pub fn quarantined(&self) -> u64 {
        self.sum(|part| part.ring.len() as u64)
    }

    /// How many extents are in magazines, the depots' included.
    ///
    /// # Cost
    /// Every lock but the tree's, one after the other: exact while nobody reserves or frees.
    pub fn cached(&self) -> u64 {
        let rounds = |magazine: &Magazine| magazine.entries().len() as u64;
        let held = self.sum(|part| {
            let shelves = part.shelves.iter().flat_map(Shelf::magazines);
            shelves.map(rounds).sum()
        });
        let kept = self.depots[..C::CLASSES].iter().map(|store| {
            let full = store.0.lock();
            full.depot.full().iter().map(rounds).sum::<u64>()
        });
        held + kept.sum::<u64>()
    }

    /// How many full magazines and how many empty ones the depots have, together.
    pub fn depot_len(&self) -> (usize, usize) {
        let lens = self.depots[..C::CLASSES]
            .iter()
            .map(|store| store.0.lock().depot.len());
        lens.fold((0, 0), |sum, len| (sum.0 + len.0, sum.1 + len.1))
    }

    /// What has been counted so far, everywhere.
    pub fn counters(&self) -> C::Counters {
        let mut sum = C::Counters::default();
        for part in &self.parts {
            sum.absorb(&part.0.lock().counters);
        }
        for store in &self.depots[..C::CLASSES] {
            sum.absorb(&store.0.lock().counters);
        }
        sum.absorb(&self.tree.0.lock().counters);
        sum
    }

    fn sum(&self, of: impl Fn(&Part<C::Counters>) -> u64) -> u64 {
        let parts = self.parts.iter().map(|part| of(&part.0.lock()));
        parts.fold(0, u64::wrapping_add)
    }
}

impl<F, C: DomainConfig> fmt::Debug for Domain<F, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Domain")
            .field("cpus", &self.parts.len())
            .finish_non_exhaustive()
    }
}
