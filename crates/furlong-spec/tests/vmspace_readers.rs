//! Faults that look areas up while another thread changes the space. Each area found did exist, is
//! consistent, and lives as long as the guard.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use furlong::addr::{Address, VirtAddr};
use furlong::check::Check;
use furlong::maple::{self, Fan, Heap};
use furlong::rcu::{Domain, Rcu};
use furlong::sync::SpinLock;
use furlong::vmspace::{
    At, Custom, Glimpse, Layout, Maple, Prot, Request, Shared, SharedConfig, Standard, Value,
};
use furlong_spec::Random;

type Tiny = Custom<Maple<maple::Custom<Fan<3, 3, 32>, Heap>>>;

type Raced<C> = Shared<Twin, Arc<Domain>, SpinLock, C>;

const FIRST: u64 = 0x10_0000;
const PAGES: u64 = 96;
const PAGE: u64 = 4096;
const CHANGES: u64 = 20_000;

/// A number held twice, so that a reader detects memory that is torn or was freed.
#[derive(Clone, Debug)]
struct Twin(Box<u64>, u64);

impl Twin {
    fn new(number: u64) -> Self {
        Self(Box::new(number), !number)
    }

    fn is_whole(&self) -> bool {
        *self.0 == !self.1
    }
}

impl Value for Twin {
    fn merges(&self, next: &Self) -> bool {
        self.1 == next.1
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        self.1 = 0;
        *self.0 = 0;
    }
}

fn page(random: &mut Random) -> VirtAddr {
    VirtAddr::new(FIRST + random.below(PAGES) * PAGE)
}

/// Makes a random change. Every mapping has an object offset equal to its address, so that a reader
/// can check any area it finds.
fn change<C: SharedConfig>(space: &Raced<C>, random: &mut Random) {
    let (start, len) = (page(random), (1 + random.below(7)) * PAGE);
    let prot = Prot::from_bits(random.below(8) as u32);
    let mut freed = Vec::new();
    let mut space = space.lock();
    match random.below(4) {
        0 | 1 => {
            let value = Twin::new(1 + random.below(3));
            let request = Request::object(len, prot, start.raw(), value);
            let mapped = space.map(request.at(At::Fixed(start)), |piece| freed.push(piece));
            assert_eq!(mapped.ok(), Some(start));
        }
        2 => {
            let unmapped = space.unmap(start, len, |piece| freed.push(piece));
            assert_eq!(unmapped, Ok(()));
        }
        _ => {
            // Refused if the range has a gap.
            let _ = space.protect(start, len, prot, |piece| freed.push(piece));
        }
    }
    drop(space);
    drop(freed);
}

fn is_right<T: maple::Config>(seen: &Glimpse<'_, Twin, T>, address: VirtAddr) -> bool {
    let area = seen.area();
    area.extent.contains(address)
        && area.offset == area.extent.start().raw()
        && area.value.is_whole()
        && (1..=3).contains(&*area.value.0)
}

/// The number of areas that readers found while the space changed.
fn race<C: SharedConfig>() -> u64
where
    Raced<C>: Sync,
{
    let domain = Arc::new(Domain::new());
    let layout = Layout::LINUX_X86_64;
    let space = Raced::<C>::new(layout, Arc::clone(&domain), SpinLock::new());
    let space = space.expect("the layout makes sense");
    let (is_over, seen) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for seed in 0..2 {
            let (domain, space, is_over, seen) = (&domain, &space, &is_over, &seen);
            scope.spawn(move || {
                let reader = domain.register().expect("there is a slot");
                let mut random = Random::new(seed);
                while !is_over.load(Ordering::SeqCst) {
                    let guard = reader.enter();
                    let addresses = [(); 8].map(|()| page(&mut random));
                    let glimpses = addresses.map(|address| (address, space.look(&guard, address)));
                    for (address, glimpse) in &glimpses {
                        let Some(glimpse) = glimpse else { continue };
                        assert!(is_right(glimpse, *address), "{glimpse:?} at {address}");
                        seen.fetch_add(1, Ordering::SeqCst);
                    }
                    drop(guard);
                    thread::yield_now();
                }
            });
        }
        let mut random = Random::new(7);
        for step in 0..CHANGES {
            change(&space, &mut random);
            domain.poll(usize::MAX);
            if step % 64 == 0 {
                thread::yield_now();
            }
        }
        is_over.store(true, Ordering::SeqCst);
    });
    space.check().expect("the space is whole");
    seen.into_inner()
}

#[test]
fn what_is_seen_without_a_lock_is_whole_and_lives() {
    let seen = race::<Standard>();
    assert!(seen > 100, "{seen} areas seen");
}

#[test]
fn what_is_seen_without_a_lock_is_whole_with_tiny_nodes() {
    let seen = race::<Tiny>();
    assert!(seen > 100, "{seen} areas seen");
}

#[test]
fn a_glimpse_is_out_of_date_as_soon_as_its_area_is_touched() {
    let domain = Domain::new();
    let space = Shared::<u32, _, _>::new(Layout::LINUX_X86_64, &domain, SpinLock::new());
    let space = space.expect("the layout makes sense");
    let at = |page: u64| VirtAddr::new(FIRST + page * PAGE);
    let map = |first: u64, pages: u64, object: u32| {
        let request = Request::object(pages * PAGE, Prot::READ, first * PAGE, object);
        let mapped = space.lock().map(request.at(At::Fixed(at(first))), drop);
        assert_eq!(mapped.ok(), Some(at(first)));
    };
    let reader = domain.register().expect("there is a slot");
    let unmap = |page: u64| {
        let unmapped = space.lock().unmap(at(page), PAGE, drop);
        unmapped.expect("it is mapped");
    };
    let touch = |change: &dyn Fn(), is_touched: bool| {
        space.lock().clear(drop);
        map(0, 4, 1);
        map(8, 4, 2);
        let guard = reader.enter();
        let seen = space.look(&guard, at(9)).expect("it is mapped");
        assert!(seen.is_current());
        change();
        assert_eq!(seen.is_current(), !is_touched);
        assert_eq!(*seen.area().value, 2);
    };
    touch(&|| unmap(0), false);
    touch(&|| map(20, 4, 3), false);
    touch(&|| unmap(9), true);
    touch(&|| unmap(11), true);
    touch(&|| map(12, 4, 2), true);
    touch(&|| map(8, 4, 2), true);
    touch(&|| space.lock().clear(drop), true);
    let protects = || {
        let done = space.lock().protect(at(8), 4 * PAGE, Prot::ALL, drop);
        done.expect("it is mapped");
    };
    touch(&protects, true);
    assert!(space.look(&reader.enter(), at(30)).is_none());
}
