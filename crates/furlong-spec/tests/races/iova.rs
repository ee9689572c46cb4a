//! A shared domain used by several threads. No address is granted twice, or before its flush.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;

use furlong::addr::{Address, Extent, Iova};
use furlong::check::Check;
use furlong::iova::{
    Domain, DomainConfig, Event, Flush, Grant, Highest, Lowest, Request, ReserveError, Shared,
    Standard, Token, Traffic, VecSpace,
};
use furlong::rbtree::Off;
use furlong::sync::SpinLock;
use furlong_spec::{Random, ThreadCpu};

const PAGE: u64 = 4096;

/// Capacities so small that rare paths become common.
struct Tiny;

impl DomainConfig for Tiny {
    type Space = Standard;
    type Lock = Mutex<()>;
    type Cpu = ThreadCpu;
    type Counters = Off;
    const CLASSES: usize = 3;
    const MAGAZINE: usize = 2;
    const DEPOT: usize = 2;
    const QUARANTINE: usize = 8;
    const HIGH_WATER: usize = 6;
}

const FREE: u8 = 0;
const HELD: u8 = 1;
/// Released, but possibly still remembered by the device.
const STALE: u8 = 2;

/// The state of every page, which the users record independently of the domain.
struct Pages(Vec<AtomicU8>);

impl Pages {
    fn new(count: u64) -> Self {
        Self((0..count).map(|_| AtomicU8::new(FREE)).collect())
    }

    /// Moves every page of `extent` from state `from` to state `to`.
    fn turn(&self, extent: Extent<Iova>, from: u8, to: u8) {
        let first = (extent.start().raw() / PAGE) as usize;
        let count = (extent.len().unwrap() / PAGE) as usize;
        for page in &self.0[first..first + count] {
            let was = page.swap(to, Ordering::SeqCst);
            assert_eq!(was, from, "{extent:?} was in the wrong hands");
        }
    }
}

/// A device that forgets at the beginning of a flush, and returns late.
struct Device(Arc<Pages>);

impl Flush for Device {
    fn flush(&self) {
        for page in &self.0.0 {
            let _ = page.compare_exchange(STALE, FREE, Ordering::SeqCst, Ordering::SeqCst);
        }
        for _ in 0..64 {
            thread::yield_now();
        }
    }
}

fn domain<C: DomainConfig<Space = Standard, Cpu = ThreadCpu>>(
    pages: u64,
    cpus: usize,
) -> (Domain<Device, C>, Arc<Pages>) {
    let extent = Extent::from_len(Iova::new(0), pages * PAGE).unwrap();
    let space = VecSpace::new(extent, PAGE, Vec::new()).unwrap();
    let pages = Arc::new(Pages::new(pages));
    let device = Device(Arc::clone(&pages));
    (
        Domain::with_config(space, device, ThreadCpu, cpus).unwrap(),
        pages,
    )
}

/// A thread's values and actions.
struct User<'a, C: DomainConfig> {
    domain: &'a Domain<Device, C>,
    pages: &'a Pages,
    random: Random,
    grants: Vec<Grant>,
    tokens: Vec<Token>,
    /// The channel to another thread, which releases this thread's grants.
    to: mpsc::Sender<Grant>,
    from: mpsc::Receiver<Grant>,
}

impl<C: DomainConfig> User<'_, C> {
    fn step(&mut self, cpus: usize) {
        match self.random.below(32) {
            0..13 => self.reserve(),
            13..22 => self.release(),
            22..25 => self.redeem(),
            // Rare, because a flush would hide that an earlier one was missing.
            25 if self.random.below(8) == 0 => {
                self.domain.flush();
            }
            26 if self.random.below(8) == 0 => {
                // This flush, by hand, covers only the pages sealed here.
                let sealed = self.domain.seal();
                self.domain.flusher().flush();
                self.domain.redeem_sealed(sealed).unwrap();
            }
            27 => {
                self.domain.drain_cpu(self.random.index(cpus));
            }
            28 => ThreadCpu::set(self.random.index(cpus)),
            29 => {
                if let Some(grant) = self.grants.pop() {
                    self.to.send(grant).unwrap();
                }
            }
            _ => self.grants.extend(self.from.try_recv()),
        }
    }

    fn reserve(&mut self) {
        let mut request = Request::new(1 + self.random.below(5 * PAGE));
        if self.random.below(4) == 0 {
            request = request.window(Iova::new(0), Iova::new(40 * PAGE));
        }
        let outcome = match self.random.below(8) {
            0 => self.domain.place(&request, Highest),
            1 => self.domain.try_reserve(&request, Highest),
            _ => self.domain.reserve(&request, Lowest),
        };
        match outcome {
            Ok(grant) => {
                self.pages.turn(grant.extent(), FREE, HELD);
                self.grants.push(grant);
            }
            Err(ReserveError::NoSpace { .. }) => self.release(),
            Err(error) => panic!("{error}"),
        }
    }

    fn release(&mut self) {
        if self.grants.is_empty() {
            return;
        }
        let grant = self
            .grants
            .swap_remove(self.random.index(self.grants.len()));
        match self.random.below(4) {
            0 => {
                self.pages.turn(grant.extent(), HELD, FREE);
                self.domain.release_flushed(grant).unwrap();
            }
            1 => self.tokens.push(self.domain.release(grant).unwrap()),
            _ => {
                self.pages.turn(grant.extent(), HELD, STALE);
                let _ = self.domain.release_later(grant).unwrap();
            }
        }
    }

    fn redeem(&mut self) {
        if let Some(token) = self.tokens.pop() {
            self.pages.turn(token.extent(), HELD, FREE);
            self.domain.redeem(token).unwrap();
        }
    }

    /// Releases everything that it holds and that it still receives.
    fn leave(mut self) {
        drop(self.to);
        self.grants.extend(self.from.iter());
        while let Some(grant) = self.grants.pop() {
            self.pages.turn(grant.extent(), HELD, FREE);
            self.domain.release_flushed(grant).unwrap();
        }
        while let Some(token) = self.tokens.pop() {
            self.pages.turn(token.extent(), HELD, FREE);
            self.domain.redeem(token).unwrap();
        }
    }
}

/// Runs threads that do everything at once, and move between CPUs.
fn everything_at_once<C>(pages: u64, cpus: usize, threads: usize, steps: usize)
where
    C: DomainConfig<Space = Standard, Cpu = ThreadCpu>,
    Domain<Device, C>: Sync,
{
    let (domain, pages) = domain::<C>(pages, cpus);
    let (to, mut from): (Vec<_>, Vec<_>) = (0..threads).map(|_| mpsc::channel()).unzip();
    from.rotate_left(1);
    thread::scope(|scope| {
        for (thread, (to, from)) in to.into_iter().zip(from).enumerate() {
            let (domain, pages) = (&domain, &pages);
            scope.spawn(move || {
                ThreadCpu::set(thread % cpus);
                let mut user = User {
                    domain,
                    pages,
                    random: Random::new(thread as u64),
                    grants: Vec::new(),
                    tokens: Vec::new(),
                    to,
                    from,
                };
                for _ in 0..steps {
                    user.step(cpus);
                }
                user.leave();
            });
        }
    });
    domain.check().unwrap();
    domain.drain_all();
    domain.check().unwrap();
    assert_eq!(domain.outstanding(), 0);
    assert!(domain.into_space().is_empty());
    assert!(
        pages
            .0
            .iter()
            .all(|page| page.load(Ordering::SeqCst) == FREE)
    );
}

#[test]
fn no_address_is_handed_out_twice_nor_before_its_flush() {
    everything_at_once::<Tiny>(128, 2, 4, 20_000);
}

#[test]
fn the_same_holds_with_the_numbers_of_the_real_system() {
    everything_at_once::<Shared<SpinLock, ThreadCpu>>(4096, 2, 2, 50_000);
}

/// The capacities of a real system, with counters.
type Counted = Shared<Mutex<()>, ThreadCpu, Traffic>;

/// Reserves on one CPU and frees on the other, which never reuses what it frees.
fn all_frees_on_the_other_cpu(count: usize) -> (usize, Traffic, u64) {
    let (domain, pages) = domain::<Counted>(1 << 16, 2);
    let most_kept = AtomicUsize::new(0);
    let (to, from) = mpsc::sync_channel(64);
    thread::scope(|scope| {
        scope.spawn(|| {
            ThreadCpu::set(1);
            for grant in from {
                let grant: Grant = grant;
                pages.turn(grant.extent(), HELD, FREE);
                domain.release_flushed(grant).unwrap();
                let (full, empty) = domain.depot_len();
                most_kept.fetch_max(full + empty, Ordering::SeqCst);
            }
        });
        ThreadCpu::set(0);
        for _ in 0..count {
            let grant = domain.reserve(&Request::new(1500), Highest).unwrap();
            pages.turn(grant.extent(), FREE, HELD);
            to.send(grant).unwrap();
        }
        drop(to);
    });
    domain.check().unwrap();
    let cached = domain.cached();
    (most_kept.into_inner(), domain.counters(), cached)
}

#[test]
fn the_depot_stays_bounded_when_all_frees_are_on_the_other_cpu() {
    let (count, magazine) = (50_000, Counted::MAGAZINE);
    let (most_kept, traffic, cached) = all_frees_on_the_other_cpu(count);
    assert!(most_kept <= Counted::DEPOT, "{most_kept} magazines");
    // Every extent that ever came from the tree is cached at the end, and most grants reused one.
    let from_tree = count as u64 - traffic.count_of(Event::Hit);
    assert_eq!(from_tree, cached);
    assert!(
        cached as usize <= (Counted::DEPOT + 4) * magazine,
        "{cached} extents"
    );
    let visits = traffic.count_of(Event::DepotVisit);
    let exchanges = 2 * (count / magazine) as u64;
    assert!(visits <= exchanges + from_tree, "{visits} visits");
    assert_eq!(traffic.count_of(Event::Drained), 0);
}
