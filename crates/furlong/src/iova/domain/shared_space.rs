//! The shared allocator of a device's addresses: a space under a lock, with caches in front of the
//! lock.

use alloc::vec::Vec;
use core::marker::PhantomData;

use crate::error::{messages, reserved};
use crate::forms::debug_as;

use super::class::{CLASSES, Class};
use super::depot::Depot;
use super::flush::Flush;
use super::magazine::{Magazine, Shelf};
use super::per_cpu::{Padded, PerCpu};
use super::traffic::DomainCounters;
use crate::iova::quarantine::tag::Tag;
use crate::iova::{ChunkSpace, Config, Space, SpaceNode, Standard, Storage};
use crate::rbtree::{ChunkTable, NoMemory, Off};
use crate::sync::{Cpu, Lock, LockGuard, OneCpu, RawLock, SpinLock};

/// Type parameters and limits of a domain. The default numbers are Linux's.
pub trait DomainConfig {
    /// The configuration of the space.
    type Space: Config;
    /// The lock of the tree, of each class's depot and of each CPU's data.
    type Lock: RawLock + Default;
    /// Returns the number of the current CPU.
    type Cpu: Cpu;
    /// The event counters.
    type Counters: DomainCounters;

    /// Number of size classes with magazines, from single granules on; at most [`CLASSES`]. With 0,
    /// everything comes from the tree and nothing is rounded up.
    const CLASSES: usize = CLASSES;
    /// Extents in a magazine, at least 1.
    const MAGAZINE: usize = 127;
    /// Upper limit on the magazines of a class that no CPU holds: Linux's bound until 2023.
    const DEPOT: usize = 32;
    /// Upper limit on the released extents that wait for a flush on a CPU. With 0 each release
    /// flushes.
    const QUARANTINE: usize = 256;
    /// Number of waiting extents from which a flush is due.
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
/// Three layers on a [`Space`](crate::iova::Space). *Tokens* keep a released extent reserved until
/// the device's TLB is flushed. A *quarantine* on each CPU collects them for one flush. *Magazines*
/// recycle small extents without the tree, as in Linux's `iova.c` after Bonwick.
///
/// # Magazines
/// They hold extents of 1, 2, 4 .. 32 granules, which start at a multiple of their length. A
/// request of up to 32 granules is rounded up to one of those. The whole extent is reserved and
/// released, since the grant records it. Magazines serve requests without guards whose alignment is
/// at most that length and whose boundary, if any, is at least that length. Window and exclusion
/// select among the cached extents, latest first. All other requests are served by the tree, and
/// their extents return to it. An extent in a magazine stays reserved in the tree.
///
/// Each CPU has two magazines per class; one depot per class keeps up to [`DomainConfig::DEPOT`]
/// full and empty ones. With the standard numbers that is at most 24 KiB a CPU and 390 KiB a
/// domain. If memory for a magazine runs out, its extents are freed in the tree.
///
/// # Order under pressure
/// A request tries the CPU's own magazines, the depot, and then the tree. In the tree it tries an
/// extent of the class first, then the request as it is, not rounded up. If these fail, it retries
/// after a flush of every quarantine into the tree, and again after all magazines were drained into
/// the tree. A request is refused only if none of these has a place for it. Extents that another
/// CPU is moving at that moment are not seen.
///
/// # Locks
/// A CPU's lock, a depot's lock, the tree's lock: if two are held, they were taken in this order.
/// No memory is obtained or freed under any of them, and [`Flush::flush`] is called with none held.
/// Under the first two, small moves are made. Under the tree's lock, at most one search or
/// [`DomainConfig::MAGAZINE`] releases are made.
///
/// # Memory
/// Nodes live in chunks of [`CHUNK_NODES`](crate::rbtree::CHUNK_NODES), 16 KiB, and never move. A
/// reservation that finds no free node obtains and fills one chunk with no lock held, and adds it
/// under the tree's lock. No node is copied. The table of chunks has a word per chunk and doubles
/// when it is full. [`prepare`](Self::prepare) does all that in advance.
///
/// # Panics of the caller's code
/// A lock, a [`Flush`], a [`Cpu`], counters, a measure and a policy's closure may panic. No lock
/// stays held, the domain's data stays consistent, and the domain stays usable. A grant or a token
/// passed to the call is lost: its extent stays reserved and has leaked. A lost token still counts
/// as [outstanding](Self::outstanding). If counters or a measure panic while extents move to the
/// tree, up to [`DomainConfig::MAGAZINE`] of these leak. A leaked extent is reserved in the space
/// that [`into_space`](Self::into_space) returns, and can be released there by its address.
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
    pub(super) per_cpu: Vec<Locked<C, PerCpu<C::Counters>>>,
    pub(super) flush: F,
    pub(super) cpu: C::Cpu,
    /// The tag of grants: that of the space.
    pub(super) tag: Tag,
    /// The tag of tokens and seals.
    pub(super) own: Tag,
    /// True if an earlier domain had the space: its grants may name a class.
    pub(super) is_heir: bool,
    pub(super) shift: u32,
}

/// A value under a lock, in cache lines of its own.
pub(super) type Locked<C, T> = Padded<Lock<<C as DomainConfig>::Lock, T>>;

/// Data under the tree's lock.
pub(super) struct Root<C: DomainConfig> {
    pub(super) space: ChunkSpace<C::Space>,
    pub(super) counters: C::Counters,
}

/// Data under a depot's lock.
pub(super) struct Store<C: DomainConfig> {
    pub(super) depot: Depot,
    pub(super) counters: C::Counters,
}

/// Error of [`Domain::new`]: out of memory. Returns the arguments.
pub struct NoDomain<F, C: DomainConfig, S = Vec<SpaceNode<<C as DomainConfig>::Space>>>
where
    S: Storage<C::Space>,
{
    /// The space, unchanged.
    pub space: Space<C::Space, S>,
    /// The device's flush.
    pub flush: F,
    /// The source of CPU numbers.
    pub cpu: C::Cpu,
}

messages! { NoDomain<F, C, S> where [F, C: DomainConfig, S: Storage<C::Space>]:
    Self { .. } => "out of memory for the nodes, the quarantines and the depots";
}

debug_as! { NoDomain<F, C, S> where [F, C: DomainConfig, S: Storage<C::Space>]: NoDomain { .. } }

/// A locked data of a CPU.
pub(super) type PerCpuGuard<'a, C> =
    LockGuard<'a, <C as DomainConfig>::Lock, PerCpu<<C as DomainConfig>::Counters>>;

impl<F: Flush> Domain<F> {
    /// A domain for `cpus` CPUs over a space. Existing reservations stay, and their grants are
    /// valid here. If the space was an earlier domain's, each release of a grant takes the tree's
    /// lock once more. Tokens and seals of the earlier domain are refused.
    ///
    /// Magazines are obtained on demand; see [`stock`](Self::stock). All callers count as one CPU;
    /// [`with_config`](Self::with_config) takes a [`Cpu`] that tells them apart.
    ///
    /// The space may have its nodes in any storage; they are copied into chunks, which never move.
    /// Spare memory of the old storage is not kept: see [`prepare`](Self::prepare).
    ///
    /// # Shapes
    /// `cpus` is at least 1; larger CPU numbers are taken modulo `cpus`.
    ///
    /// # Errors
    /// [`NoDomain`], with the arguments, if out of memory for the nodes, the quarantines or the
    /// depots.
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
    /// A domain with any configuration; otherwise the same as [`new`](Domain::new).
    ///
    /// # Errors
    /// [`NoDomain`], with the arguments, if out of memory for the nodes, the quarantines or the
    /// depots.
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
        const {
            assert!(
                C::CLASSES <= CLASSES,
                "`CLASSES` exceeds the number of size classes"
            );
        }
        const { assert!(C::MAGAZINE > 0, "`MAGAZINE` must be at least 1") };
        assert!(cpus > 0, "`cpus` must be at least 1");
        let Some((per_cpu, depots)) = Self::try_per_cpu(cpus).zip(Self::try_depots()) else {
            return Err(NoDomain { space, flush, cpu });
        };
        let space = match space.into_chunks() {
            Ok(space) => space,
            Err(space) => return Err(NoDomain { space, flush, cpu }),
        };
        let (shift, tag) = (space.shift, space.tag.of_domain());
        let is_heir = space.tag.was_of_domain();
        let root = Root {
            space,
            counters: C::Counters::default(),
        };
        Ok(Self {
            tree: Padded(Lock::new(C::Lock::default(), root)),
            depots,
            per_cpu,
            flush,
            cpu,
            tag,
            own: Tag::fresh().of_domain(),
            is_heir,
            shift,
        })
    }

    fn try_per_cpu(cpus: usize) -> Option<Vec<Locked<C, PerCpu<C::Counters>>>> {
        let mut all = reserved(cpus).ok()?;
        for _ in 0..cpus {
            let per_cpu = PerCpu::try_new(C::QUARANTINE, C::HIGH_WATER)?;
            all.push(Padded(Lock::new(C::Lock::default(), per_cpu)));
        }
        Some(all)
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

    /// Ensures that the next `nodes` reservations in the tree obtain no memory.
    ///
    /// # Errors
    /// [`NoMemory`]; nothing has changed.
    ///
    /// # Cost
    /// Chunks of [`CHUNK_NODES`](crate::rbtree::CHUNK_NODES) nodes are obtained and filled with no
    /// lock held. Under the tree's lock, one word per chunk is written.
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

    /// Puts empty magazines into the depot of each class until it has `magazines`, or
    /// [`DomainConfig::DEPOT`]. As long as some are left, a release obtains no memory.
    ///
    /// # Errors
    /// [`NoMemory`]: magazines already obtained stay.
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

    /// The index of the current CPU's data.
    #[inline]
    pub(super) fn here(&self) -> usize {
        let number = self.cpu.number();
        if number < self.per_cpu.len() {
            number
        } else {
            number % self.per_cpu.len()
        }
    }

    #[inline]
    pub(super) fn per_cpu(&self, cpu: usize) -> PerCpuGuard<'_, C> {
        self.per_cpu[cpu].0.lock()
    }

    /// Lends the space to `look`, under the tree's lock. Extents in magazines and in quarantine are
    /// reserved in it. `look` must not call the domain: it would deadlock on this lock. If it
    /// panics, the lock is released.
    pub fn with_space<T>(&self, look: impl FnOnce(&ChunkSpace<C::Space>) -> T) -> T {
        look(&self.tree.0.lock().space)
    }

    /// Converts the domain to its space, after a last flush that frees all cached and quarantined
    /// extents. Extents with a grant or an outstanding token stay reserved. The grants are valid
    /// there, the tokens nowhere any more: release their extents there by the address.
    pub fn into_space(self) -> ChunkSpace<C::Space> {
        self.drain_all();
        let mut space = self.tree.0.into_inner().space;
        space.tag = self.tag;
        space
    }

    /// The device's flush.
    pub fn flusher(&self) -> &F {
        &self.flush
    }

    /// Number of CPUs with data.
    pub fn cpus(&self) -> usize {
        self.per_cpu.len()
    }

    /// Number of tokens issued and not redeemed: those in quarantine, those held by callers, and
    /// dropped ones, whose extents have leaked.
    ///
    /// # Cost
    /// Every CPU's lock, one after the other: exact if no thread releases or redeems meanwhile.
    pub fn outstanding(&self) -> u64 {
        self.sum(|per_cpu| per_cpu.issued.wrapping_sub(per_cpu.redeemed))
    }

    /// Number of tokens in quarantine.
    ///
    /// # Cost
    /// Same as [`outstanding`](Self::outstanding).
    pub fn quarantined(&self) -> u64 {
        self.sum(|per_cpu| per_cpu.ring.len() as u64)
    }

    /// Number of extents in magazines, including the depots' magazines.
    ///
    /// # Cost
    /// Every lock but the tree's, one after the other: exact if no thread reserves or frees
    /// meanwhile.
    pub fn cached(&self) -> u64 {
        let rounds = |magazine: &Magazine| magazine.entries().len() as u64;
        let held = self.sum(|per_cpu| {
            let shelves = per_cpu.shelves.iter().flat_map(Shelf::magazines);
            shelves.map(rounds).sum()
        });
        let kept = self.depots[..C::CLASSES].iter().map(|store| {
            let full = store.0.lock();
            full.depot.full().iter().map(rounds).sum::<u64>()
        });
        held + kept.sum::<u64>()
    }

    /// Numbers of full and of empty magazines in all depots.
    pub fn depot_len(&self) -> (usize, usize) {
        let lens = self.depots[..C::CLASSES]
            .iter()
            .map(|store| store.0.lock().depot.len());
        lens.fold((0, 0), |sum, len| (sum.0 + len.0, sum.1 + len.1))
    }

    /// The sum of all counters.
    pub fn counters(&self) -> C::Counters {
        let mut sum = C::Counters::default();
        for per_cpu in &self.per_cpu {
            sum.absorb(&per_cpu.0.lock().counters);
        }
        for store in &self.depots[..C::CLASSES] {
            sum.absorb(&store.0.lock().counters);
        }
        sum.absorb(&self.tree.0.lock().counters);
        sum
    }

    fn sum(&self, of: impl Fn(&PerCpu<C::Counters>) -> u64) -> u64 {
        let per_cpu = self.per_cpu.iter().map(|per_cpu| of(&per_cpu.0.lock()));
        per_cpu.fold(0, u64::wrapping_add)
    }
}

debug_as! { Domain<F, C> where [F, C: DomainConfig]: |it| Domain { cpus: it.per_cpu.len(), .. } }
