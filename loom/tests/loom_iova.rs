//! Loom models of the state that CPUs share in a domain of device addresses; `ci/loom.sh` runs
//! them, and states the bound on preemptions.
//!
//! Each rule below was broken by hand, one at a time; these models failed:
//!
//! | broken | models that then fail |
//! |---|---|
//! | redemption does not end at the seal | flush, seal |
//! | `flush` reads the end after the device's flush | flush |
//! | the flush for a full quarantine seals after flushing the device | full |
//! | a magazine that is no longer needed is dropped | room |
//! | a magazine for which the depot has no room is treated as empty | depot, room |
//! | an extent is put into two places | the first that frees |
//! | a magazine is fetched in place of a non-empty one | fetch |
//!
//! Meaning of the names: *depot* `an_extent_that_crosses_..`, *room* `two_that_make_room_..`,
//! *flush* `a_flush_frees_..`, *seal* `a_seal_by_hand_..`, *full* `what_comes_while_..`, *fetch*
//! `a_magazine_that_is_fetched_..`.
#![forbid(unsafe_code)]

mod orders;
mod thread_cpu;

use std::sync::Arc;
use std::sync::atomic::AtomicBool as Note;

use furlong::addr::{Address, Extent, Iova};
use furlong::check::Check;
use furlong::iova::{
    ChunkSpace, Domain, DomainConfig, Flush, Grant, Lowest, Request, Standard, VecSpace,
};
use furlong::rbtree::Off;
use furlong::sync::SpinLock;
use furlong::sync::atomic::{AtomicBool, Ordering};
use orders::{Start, body, model};
use thread_cpu::{ThreadCpu, on_cpu};

const PAGE: u64 = 4096;
const PAGES: usize = 4;

/// One class of one page, one round a magazine, one magazine in the depot.
struct Least<const QUARANTINE: usize>;

impl<const QUARANTINE: usize> DomainConfig for Least<QUARANTINE> {
    type Space = Standard;
    type Lock = SpinLock;
    type Cpu = ThreadCpu;
    type Counters = Off;
    const CLASSES: usize = 1;
    const MAGAZINE: usize = 1;
    const DEPOT: usize = 1;
    const QUARANTINE: usize = QUARANTINE;
    const HIGH_WATER: usize = QUARANTINE;
}

/// The machine's state of a page.
struct Page {
    /// The page has an owner.
    held: Note,
    /// A translation leads to it.
    mapped: AtomicBool,
    /// The device's TLB caches that translation.
    cached: Note,
}

/// The machine: translations, and a device that fetches each possible translation at once.
///
/// Relaxed: visibility between threads must come from the locks of the domain. `mapped` is a loom
/// atomic, so that a flush may come before or after an unmapping; the other fields bypass loom.
struct Machine(Vec<Page>);

impl Flush for Machine {
    fn flush(&self) {
        for page in &self.0 {
            // Relaxed: see the type. A page that is still mapped would be fetched again.
            if !page.mapped.load(Ordering::Relaxed) {
                page.cached.store(false, Ordering::SeqCst);
            }
        }
    }
}

impl Machine {
    fn new(pages: usize) -> Self {
        let page = |_| Page {
            held: Note::new(false),
            mapped: AtomicBool::new(false),
            cached: Note::new(false),
        };
        Self((0..pages).map(page).collect())
    }

    fn page(&self, grant: &Grant) -> &Page {
        &self.0[(grant.iova().raw() / PAGE) as usize]
    }

    /// Maps a granted page: it must have no owner, and the device must not cache it.
    fn map(&self, grant: &Grant) {
        let page = self.page(grant);
        assert!(!page.held.load(Ordering::SeqCst), "handed out twice");
        assert!(!page.cached.load(Ordering::SeqCst), "not flushed");
        page.held.store(true, Ordering::SeqCst);
        // Relaxed: see the type.
        page.mapped.store(true, Ordering::Relaxed);
        page.cached.store(true, Ordering::SeqCst);
    }

    fn unmap(&self, grant: &Grant) {
        let page = self.page(grant);
        // Relaxed: see the type.
        page.mapped.store(false, Ordering::Relaxed);
        page.held.store(false, Ordering::SeqCst);
    }

    /// Number of pages that the device caches and nobody owns.
    fn remembered(&self) -> u64 {
        let stale =
            |page: &&Page| page.cached.load(Ordering::SeqCst) && !page.held.load(Ordering::SeqCst);
        self.0.iter().filter(stale).count() as u64
    }
}

struct World<const QUARANTINE: usize = 2> {
    domain: Domain<Arc<Machine>, Least<QUARANTINE>>,
    machine: Arc<Machine>,
}

impl<const QUARANTINE: usize> World<QUARANTINE> {
    fn new(pages: usize) -> Arc<Self> {
        let extent = Extent::from_len(Iova::new(0), pages as u64 * PAGE).unwrap();
        let space = VecSpace::new(extent, PAGE, Vec::new()).unwrap();
        let machine = Arc::new(Machine::new(pages));
        let domain = Domain::with_config(space, Arc::clone(&machine), ThreadCpu, 2).unwrap();
        // Growth is not part of the model.
        domain.prepare(PAGES).unwrap();
        Arc::new(Self { domain, machine })
    }

    fn reserve(&self) -> Grant {
        let grant = self.domain.reserve(&Request::new(PAGE), Lowest).unwrap();
        self.machine.map(&grant);
        grant
    }

    /// Reserves up to `PAGES` pages, as many as are available, and releases them.
    fn have_and_release<const PAGES: usize>(&self) {
        let grants = [(); PAGES].map(|()| {
            let grant = self.domain.try_reserve(&Request::new(PAGE), Lowest).ok()?;
            self.machine.map(&grant);
            Some(grant)
        });
        for grant in grants.into_iter().flatten() {
            self.release(grant);
        }
    }

    /// Invalidates the one page, and releases it at once.
    fn release(&self, grant: Grant) {
        self.machine.unmap(&grant);
        self.machine
            .page(&grant)
            .cached
            .store(false, Ordering::SeqCst);
        self.domain.release_flushed(grant).unwrap();
    }

    fn release_later(&self, grant: Grant) {
        self.machine.unmap(&grant);
        let _ = self.domain.release_later(grant).unwrap();
    }

    /// Checks that the remaining state is consistent, and that nothing was lost.
    fn is_whole(&self) {
        self.domain.check().unwrap();
        let quarantined = self.domain.quarantined();
        assert_eq!(self.domain.outstanding(), quarantined);
        let reserved = self.domain.with_space(ChunkSpace::len) as u64;
        assert_eq!(reserved, self.domain.cached() + quarantined);
        // Every page that the device still caches is in quarantine.
        assert!(self.machine.remembered() <= quarantined);
    }
}

/// One CPU frees more than its magazines and the depot hold, another reserves more than its own
/// hold.
#[test]
fn an_extent_that_crosses_the_depot_has_one_owner() {
    fn make() -> Start<World, 2> {
        let world = World::new(PAGES);
        let grants = [(); PAGES].map(|()| world.reserve());
        let threads = [
            body(move |world: &World| {
                on_cpu(0);
                grants.into_iter().for_each(|grant| world.release(grant));
            }),
            body(|world: &World| {
                on_cpu(1);
                world.have_and_release::<2>();
            }),
        ];
        (world, threads)
    }
    model(make, World::is_whole);
}

/// Two threads free on the same CPU, whose magazines have no room: both bring one.
#[test]
fn two_that_make_room_on_one_cpu_lose_nothing() {
    fn make() -> Start<World, 2> {
        let world = World::new(PAGES);
        let [a, b, c, d] = [(); PAGES].map(|()| world.reserve());
        let free = |first: Grant, second: Grant| {
            body(move |world: &World| {
                world.release(first);
                world.release(second);
            })
        };
        (world, [free(a, b), free(c, d)])
    }
    model(make, World::is_whole);
}

/// A CPU is drained while another thread still frees on it.
#[test]
fn a_drain_beside_others_loses_and_doubles_nothing() {
    fn make() -> Start<World, 2> {
        let world = World::new(3);
        let [first, second, third] = [(); 3].map(|()| world.reserve());
        world.release(third);
        let threads = [
            body(move |world: &World| {
                on_cpu(0);
                world.release(first);
                world.release(second);
            }),
            body(|world: &World| {
                on_cpu(1);
                world.domain.drain_cpu(0);
            }),
        ];
        (world, threads)
    }
    model(make, World::is_whole);
}

/// One thread releases twice, another flushes and tries to reserve the freed extents.
#[test]
fn a_flush_frees_what_was_pushed_before_it_was_sealed() {
    fn make() -> Start<World, 2> {
        let world = World::new(2);
        let [first, second] = [(); 2].map(|()| world.reserve());
        let threads = [
            body(move |world: &World| {
                on_cpu(0);
                world.release_later(first);
                world.release_later(second);
            }),
            body(|world: &World| {
                on_cpu(0);
                world.domain.flush();
                world.have_and_release::<2>();
            }),
        ];
        (world, threads)
    }
    model(make, World::is_whole);
}

/// The same with a caller that flushes the device itself.
#[test]
fn a_seal_by_hand_covers_what_was_there() {
    fn make() -> Start<World, 2> {
        let world = World::new(2);
        let [first, second] = [(); 2].map(|()| world.reserve());
        let threads = [
            body(move |world: &World| {
                world.release_later(first);
                world.release_later(second);
            }),
            body(|world: &World| {
                let sealed = world.domain.seal();
                world.machine.flush();
                world.domain.redeem_sealed(sealed).unwrap();
                world.have_and_release::<1>();
            }),
        ];
        (world, threads)
    }
    model(make, World::is_whole);
}

/// The thread that finds a quarantine full flushes for it. Another thread may empty it meanwhile,
/// and release an extent for which this flush came too early.
#[test]
fn what_comes_while_another_flushes_for_a_full_quarantine_waits() {
    fn make() -> Start<World<1>, 2> {
        let world = World::<1>::new(3);
        let [first, second, third] = [(); 3].map(|()| world.reserve());
        world.release_later(first);
        let sealed = world.domain.seal();
        world.machine.flush();
        let threads = [
            body(move |world: &World<1>| world.release_later(second)),
            body(move |world: &World<1>| {
                world.domain.redeem_sealed(sealed).unwrap();
                world.release_later(third);
            }),
        ];
        (world, threads)
    }
    model(make, World::is_whole);
}

/// A CPU fetches a magazine from the depot because both of its own are empty, and one of them
/// receives an extent meanwhile.
#[test]
fn a_magazine_that_is_fetched_displaces_nothing() {
    fn make() -> Start<World, 2> {
        let world = World::new(PAGES);
        let grants = [(); PAGES].map(|()| world.reserve());
        let [first, second, third, fourth] = grants;
        world.release(first);
        world.release(second);
        let [first, second] = [(); 2].map(|()| world.reserve());
        on_cpu(1);
        for grant in [first, second, third] {
            world.release(grant);
        }
        on_cpu(0);
        let threads = [
            body(World::have_and_release::<1>),
            body(move |world: &World| world.release(fourth)),
        ];
        (world, threads)
    }
    model(make, World::is_whole);
}
