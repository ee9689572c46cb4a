//! A shared domain that runs out: its search order, what it returns to the tree, and what it
//! refuses.

use super::world::{CPUS, PAGE, PAGES, State, World, pages};
use std::cell::{OnceCell, RefCell};
use std::rc::{Rc, Weak};

use furlong::addr::{Extent, Iova};
use furlong::iova::{
    ChunkSpace, Domain, DomainConfig, Event, Flush, Grant, Highest, Level, Lowest, OneCpu, Request,
    ReserveError, Standard, VecSpace,
};
use furlong::rbtree::Off;
use furlong::sync::SpinLock;

/// A world in which CPU 1 has two free pages in a magazine, CPU 2 has one page in quarantine, and
/// all others are granted.
fn nearly_full() -> World {
    let mut world = World::new();
    let page = Request::new(PAGE);
    while let Ok(grant) = world.domain.reserve(&page, Lowest) {
        world.granted(&page, grant);
    }
    for (cpu, count) in [(1, 2), (2, 1)] {
        world.seat.0.set(cpu);
        for _ in 0..count {
            let grant = world.grants.pop().unwrap();
            if cpu == 1 {
                world.set(grant.extent(), |_| true, State::Free);
                world.domain.release_flushed(grant).unwrap();
            } else {
                world.set(grant.extent(), |_| true, State::Waiting(cpu));
                assert_eq!(world.domain.release_later(grant), Ok(Level::Low));
            }
        }
    }
    world.seat.0.set(0);
    world.device.flushes.set(0);
    world
}

#[test]
fn under_pressure_the_quarantine_comes_before_the_magazines_of_others() {
    let mut world = nearly_full();
    let page = Request::new(PAGE);
    // The CPU's magazines, the depot and the tree are empty. The quarantine has one page.
    let grant = world.domain.reserve(&page, Lowest).unwrap();
    assert_eq!((world.device.flushes.get(), world.domain.cached()), (1, 2));
    world.granted(&page, grant);
    // The quarantine is empty, so there is no flush. The magazines of CPU 1 are drained.
    let grant = world.domain.reserve(&page, Lowest).unwrap();
    assert_eq!((world.device.flushes.get(), world.domain.cached()), (1, 0));
    world.granted(&page, grant);
    let grant = world.domain.reserve(&page, Lowest).unwrap();
    world.granted(&page, grant);
    let full = world.domain.reserve(&page, Lowest);
    let wanted = (PAGE, 0);
    assert!(
        matches!(full, Err(ReserveError::NoSpace { wanted: w, largest: l }) if (w, l) == wanted)
    );
    assert_eq!(world.device.flushes.get(), 1);
}

#[test]
fn without_effort_neither_a_flush_nor_a_drain_happens() {
    let world = nearly_full();
    let refused = world.domain.try_reserve(&Request::new(PAGE), Lowest);
    assert!(matches!(refused, Err(ReserveError::NoSpace { .. })));
    assert_eq!((world.device.flushes.get(), world.domain.cached()), (0, 2));
}

#[test]
fn own_magazine_then_depot_then_tree() {
    let world = World::new();
    let page = Request::new(PAGE);
    let count = |event| world.domain.counters().count_of(event);
    let grants: Vec<_> = (0..8)
        .map(|_| world.domain.reserve(&page, Lowest).unwrap())
        .collect();
    // Eight pages: two magazines of two pages in the depot, and two more on this CPU.
    for grant in grants {
        world.domain.release_flushed(grant).unwrap();
    }
    assert_eq!(
        (world.domain.cached(), world.domain.depot_len()),
        (8, (2, 0))
    );
    let (trees, depots) = (count(Event::TreeVisit), count(Event::DepotVisit));
    let mut taken = Vec::new();
    for (hits, visits) in [(4, 0), (6, 1), (8, 2)] {
        while count(Event::Hit) < hits {
            taken.push(world.domain.reserve(&page, Lowest).unwrap());
        }
        assert_eq!(count(Event::DepotVisit) - depots, visits);
    }
    assert_eq!(count(Event::TreeVisit), trees);
    taken.push(world.domain.reserve(&page, Lowest).unwrap());
    assert_eq!(count(Event::TreeVisit), trees + 1);
    assert_eq!(world.domain.depot_len(), (0, 2));
}

#[test]
fn what_does_not_fit_the_depot_goes_to_the_tree_under_one_lock() {
    let world = World::new();
    let page = Request::new(PAGE);
    let grants: Vec<_> = (0..9)
        .map(|_| world.domain.reserve(&page, Lowest).unwrap())
        .collect();
    let before = world.domain.counters();
    for grant in grants {
        world.domain.release_flushed(grant).unwrap();
    }
    let after = world.domain.counters();
    let more = |event| after.count_of(event) - before.count_of(event);
    assert_eq!((more(Event::TreeVisit), more(Event::Drained)), (1, 2));
    assert_eq!(
        (world.domain.cached(), world.domain.depot_len()),
        (7, (2, 0))
    );
}

#[test]
fn a_limited_request_takes_only_what_lies_in_its_window() {
    let world = World::new();
    let page = Request::new(PAGE);
    let grants = [0, 40].map(|page| {
        let extent = Extent::from_len(Iova::new(page * PAGE), PAGE).unwrap();
        let low = Request::new(PAGE).window(extent.start(), extent.last());
        world.domain.reserve(&low, Lowest).unwrap()
    });
    for grant in grants {
        world.domain.release_flushed(grant).unwrap();
    }
    let hits = world.domain.counters().count_of(Event::Hit);
    let low = page.window(Iova::new(0), Iova::new(8 * PAGE));
    let first = world.domain.reserve(&low, Highest).unwrap();
    assert_eq!(first.iova(), Iova::new(0));
    let second = world.domain.reserve(&low, Highest).unwrap();
    assert_eq!(second.iova(), Iova::new(7 * PAGE));
    assert_eq!(world.domain.counters().count_of(Event::Hit), hits + 1);
    assert_eq!(world.domain.cached(), 1);
}

#[test]
fn an_extent_is_given_back_as_it_was_rounded_up() {
    let world = World::new();
    let grant = world
        .domain
        .reserve(&Request::new(3 * PAGE), Highest)
        .unwrap();
    assert_eq!(pages(grant.extent()), 60..64);
    assert_eq!(grant.data().len(), Some(3 * PAGE));
    world.domain.release_flushed(grant).unwrap();
    let grant = world
        .domain
        .reserve(&Request::new(4 * PAGE), Lowest)
        .unwrap();
    assert_eq!(pages(grant.extent()), 60..64);
}

#[test]
fn a_request_that_its_class_has_no_room_for_is_tried_as_it_is() {
    let world = World::new();
    // Page 2 of every four is taken, so that no four pages are free together. Three are free,
    // across a multiple of four.
    for first in (0..PAGES as u64).step_by(4) {
        let extent = Extent::from_len(Iova::new((first + 2) * PAGE), PAGE).unwrap();
        let _ = world.domain.reserve_at(extent).unwrap();
    }
    let grant = world
        .domain
        .reserve(&Request::new(3 * PAGE), Lowest)
        .unwrap();
    assert_eq!(pages(grant.extent()), 3..6);
    world.domain.release_flushed(grant).unwrap();
    assert_eq!(world.domain.cached(), 0);
}

#[test]
fn a_cpu_that_is_taken_away_leaves_nothing_behind() {
    let world = World::new();
    world.seat.0.set(1);
    let page = Request::new(PAGE);
    let grants = [(); 4].map(|()| world.domain.reserve(&page, Lowest).unwrap());
    for (index, grant) in grants.into_iter().enumerate() {
        if index % 2 == 0 {
            world.domain.release_flushed(grant).unwrap();
        } else {
            let _ = world.domain.release_later(grant).unwrap();
        }
    }
    world.seat.0.set(0);
    assert_eq!(world.domain.drain_cpu(0), 0);
    assert_eq!(world.device.flushes.get(), 0);
    assert_eq!(world.domain.drain_cpu(1), 4);
    assert_eq!(world.device.flushes.get(), 1);
    assert!(world.domain.with_space(ChunkSpace::is_empty));
    assert_eq!(world.domain.drain_cpu(CPUS), 0);
}

#[test]
fn grants_tokens_and_seals_of_another_domain_are_refused() {
    let (ours, other) = (World::new(), World::new());
    let page = Request::new(PAGE);
    // The same page and the same node in both, so that only the domain differs.
    let grants = [&ours, &other].map(|world| world.domain.reserve(&page, Lowest).unwrap());
    let [mine, strange] = grants;
    let strange = ours.domain.release(strange).unwrap_err().0;
    let strange = ours.domain.release_flushed(strange).unwrap_err().0;
    let strange = ours.domain.release_later(strange).unwrap_err().0;
    let token = other.domain.release(strange).unwrap();
    let token = ours.domain.redeem(token).unwrap_err().0;
    let token = ours.domain.quarantine(token).unwrap_err().0;
    let _ = other.domain.quarantine(token).unwrap();
    let sealed = other.domain.seal();
    let sealed = ours.domain.redeem_sealed(sealed).unwrap_err().0;
    assert_eq!(other.domain.redeem_sealed(sealed), Ok(1));
    assert_eq!((ours.domain.outstanding(), ours.domain.cached()), (0, 0));
    ours.domain.release_flushed(mine).unwrap();
    let mut space = other.domain.into_space();
    let plain = space.reserve(&page, Lowest).unwrap();
    let plain = ours.domain.release(plain).unwrap_err().0;
    space.release(plain).unwrap();
}

#[test]
fn a_flush_reaches_every_cpu_of_a_large_machine() {
    let world = World::with_cpus(130);
    let page = Request::new(PAGE);
    for cpu in [0, 63, 64, 129] {
        world.seat.0.set(cpu);
        let grant = world.domain.reserve(&page, Lowest).unwrap();
        assert_eq!(world.domain.release_later(grant), Ok(Level::Low));
    }
    assert_eq!((world.domain.flush(), world.domain.quarantined()), (4, 0));
    assert_eq!(world.device.flushes.get(), 3);
    assert_eq!((world.domain.flush(), world.device.flushes.get()), (0, 3));
}

/// A quarantine of at most one token.
struct Narrow;

impl DomainConfig for Narrow {
    type Space = Standard;
    type Lock = SpinLock;
    type Cpu = OneCpu;
    type Counters = Off;
    const QUARANTINE: usize = 1;
    const HIGH_WATER: usize = 1;
}

/// A device during whose flush another caller flushes and then releases a grant.
struct Meddler {
    domain: OnceCell<Weak<Domain<Self, Narrow>>>,
    grant: RefCell<Option<Grant>>,
}

impl Flush for Meddler {
    fn flush(&self) {
        let domain = self.domain.get().and_then(Weak::upgrade).unwrap();
        if let Some(grant) = self.grant.take() {
            domain.flush();
            assert_eq!(domain.release_later(grant), Ok(Level::High));
        }
    }
}

fn with_a_meddler() -> Rc<Domain<Meddler, Narrow>> {
    let extent = Extent::from_len(Iova::new(0), 3 * PAGE).unwrap();
    let space = VecSpace::new(extent, PAGE, Vec::new()).unwrap();
    let meddler = Meddler {
        domain: OnceCell::new(),
        grant: RefCell::default(),
    };
    let domain = Rc::new(Domain::with_config(space, meddler, OneCpu, 1).unwrap());
    let itself = domain.flusher().domain.set(Rc::downgrade(&domain));
    itself.unwrap();
    domain
}

#[test]
fn what_is_released_during_a_flush_waits_for_the_next_one() {
    let on_request = |domain: &Domain<Meddler, Narrow>| {
        assert_eq!(domain.flush(), 0);
    };
    let under_pressure = |domain: &Domain<Meddler, Narrow>| {
        let larger = domain.reserve(&Request::new(2 * PAGE), Lowest);
        assert!(matches!(larger, Err(ReserveError::NoSpace { .. })));
    };
    let when_full = |domain: &Domain<Meddler, Narrow>| {
        let grant = domain.reserve(&Request::new(PAGE), Lowest).unwrap();
        assert_eq!(domain.release_later(grant), Ok(Level::Low));
    };
    for flush in [on_request, under_pressure, when_full] {
        let domain = with_a_meddler();
        let page = Request::new(PAGE);
        let [early, late] = [(); 2].map(|()| domain.reserve(&page, Lowest).unwrap());
        let busy = late.extent();
        assert_eq!(domain.release_later(early), Ok(Level::High));
        domain.flusher().grant.replace(Some(late));
        flush(&domain);
        assert_eq!(domain.quarantined(), 1);
        while let Ok(grant) = domain.try_reserve(&page, Lowest) {
            assert_ne!(grant.extent(), busy);
        }
        assert_eq!(domain.flush(), 1);
        assert_eq!(domain.try_reserve(&page, Lowest).unwrap().extent(), busy);
    }
}
