//! A pool that grows and shrinks: allocations and conversions that fail at each call, loads that
//! come and go, and CPUs that change during a map.
#![forbid(unsafe_code)]

use std::future::Future as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};

use furlong::addr::Iova;
use furlong::bounce::{
    AreaFirst, Cpu, Custom, Device, Event, GrowError, Growth, Limits, LockFree, MapError, Order,
    Plan, Pool, PoolError, PoolFirst, Tally, ToDevice, ZeroPads,
};
use furlong::check::Check;
use furlong::sync::SpinLock;
use furlong_spec::bounce::{Addresses, Machine, Refusal, TestCpu, Tried};
use furlong_spec::heap;

type Tested = Pool<Arc<Machine>, Tried<AreaFirst, LockFree>>;

fn machine() -> Arc<Machine> {
    Arc::new(Machine::new(0, Addresses::new(1 << 20, 0)))
}

fn any() -> Device {
    Device::new(1, Limits::new()).expect("good limits")
}

fn growing() -> Plan {
    let plan = Plan::new(128, 1).growth(Growth::Inline).blocks(3);
    plan.block_slots(512, 128).transients(2)
}

/// Maps up to ten whole segments at a time and unmaps them. Returns the number of successful maps.
fn fill(pool: &Tested, device: &Device) -> usize {
    let segment = vec![1; 128 * 2048];
    let mapped: Vec<_> = (0..10)
        .map(|_| pool.map(device, ToDevice(&segment)))
        .collect();
    mapped.iter().flatten().count()
}

#[test]
fn whatever_is_refused_at_any_call_nothing_is_lost() {
    for refusal in [
        Refusal::Obtain,
        Refusal::Share,
        Refusal::Align,
        Refusal::Length,
    ] {
        for after in 0..8 {
            let machine = machine();
            machine.refuse(refusal, after);
            let pool = Tested::with_config(Arc::clone(&machine), TestCpu::default(), &growing());
            let Ok(pool) = pool else {
                assert_eq!((after, machine.owned()), (0, 0));
                continue;
            };
            let device = any();
            let many = fill(&pool, &device);
            assert!((6..=10).contains(&many), "{refusal:?} {after}: {many}");
            pool.check().expect("no invariant is broken");
            assert_eq!((pool.free_slots(), pool.used_slots()), (pool.slots(), 0));
            assert_eq!(pool.transient_blocks(), 0);
            machine.refuse_nothing();
            // A block that was halved stays so, but as much room is left as before.
            assert!(fill(&pool, &device) >= many, "{refusal:?} {after}");
            drop(pool);
            assert_eq!((machine.owned(), machine.shared()), (0, 0));
        }
    }
}

#[test]
fn memory_that_stays_shared_is_leaked_on_purpose_and_counted() {
    for after in 0..4 {
        let machine = machine();
        let pool = Tested::with_config(Arc::clone(&machine), TestCpu::default(), &growing());
        let pool = pool.expect("there is memory");
        machine.refuse(Refusal::Unshare, after);
        let device = any();
        fill(&pool, &device);
        while pool.tend().given_back > 0 || pool.blocks() > 1 {}
        let leaked = pool.leaked();
        drop(pool);
        // The block that was not converted was not freed either.
        assert_eq!((machine.owned(), machine.shared()), (1, 1), "{after}");
        assert!(after > 2 || leaked > 0, "{after}");
    }
}

#[test]
fn a_map_that_no_further_block_could_serve_does_not_grow_the_pool() {
    // Areas of one slot, and of two in further blocks.
    let plan = Plan::new(4, 4).block_slots(8, 8).blocks(2);
    let plan = plan.growth(Growth::Inline);
    let pool = Tested::with_config(machine(), TestCpu::default(), &plan).expect("memory");
    let device = any();
    let refused = pool.map(&device, ToDevice(&[0; 3 * 2048])).map(drop);
    assert_eq!(refused, Err(MapError::Full { wanted: 3, free: 4 }));
    assert_eq!(pool.blocks(), 1);
    drop(pool.map(&device, ToDevice(&[0; 2 * 2048])).unwrap());
    assert_eq!(pool.blocks(), 2);
}

#[test]
fn a_plan_whose_further_blocks_have_no_shape_makes_no_pool() {
    for (slots, least) in [(512, 0), (0, 512), (130, 130)] {
        let plan = growing().block_slots(slots, least);
        let pool = Tested::with_config(machine(), TestCpu::default(), &plan);
        let refused = pool.map(|_| ()).map_err(|none| none.cause);
        assert!(
            matches!(refused, Err(PoolError::Plan(_))),
            "{slots}, {least}"
        );
    }
}

#[test]
fn a_pool_without_heap_at_any_call_refuses_and_leaks_nothing() {
    let machine = machine();
    for failing in 0.. {
        let cpu = TestCpu::default();
        let (pool, calls) = heap::failing_at(failing, || {
            Tested::with_config(Arc::clone(&machine), cpu, &growing())
        });
        match pool {
            Ok(pool) => {
                drop(pool);
                assert!(calls <= failing && failing > 8, "{failing}");
                break;
            }
            Err(none) => {
                let memory = [PoolError::NoMemory, PoolError::Block(GrowError::NoMemory)];
                assert!(memory.contains(&none.cause), "{none}");
            }
        }
        assert_eq!((machine.owned(), machine.shared()), (0, 0));
    }
    assert_eq!(machine.owned(), 0);
}

#[test]
fn a_block_that_gets_no_records_does_not_grow_the_pool() {
    for failing in 0.. {
        let pool = Tested::with_config(machine(), TestCpu::default(), &growing()).expect("memory");
        let (grown, calls) = heap::failing_at(failing, || pool.grow());
        pool.check().expect("no invariant is broken");
        match grown {
            Ok(slots) => {
                assert_eq!((pool.blocks(), pool.free_slots()), (2, 128 + slots));
                if calls <= failing {
                    break;
                }
            }
            Err(error) => {
                assert_eq!(error, GrowError::NoMemory);
                assert_eq!((pool.blocks(), pool.free_slots()), (1, 128));
            }
        }
    }
}

#[test]
fn a_map_on_the_path_needs_no_heap() {
    let pool = Tested::with_config(machine(), TestCpu::default(), &growing()).expect("memory");
    let device = any();
    let ((), calls) = heap::failing_at(0, || {
        for len in [1, 2048, 4096, 65_536] {
            drop(pool.map(&device, ToDevice(&[1; 65_536][..len])).unwrap());
        }
    });
    assert_eq!(calls, 0);
}

#[test]
fn a_load_that_comes_and_goes_does_not_make_the_pool_breathe() {
    let machine = machine();
    let plan = growing().patience(3);
    let pool =
        Tested::with_config(Arc::clone(&machine), TestCpu::default(), &plan).expect("memory");
    let device = any();
    fill(&pool, &device);
    assert_eq!(pool.blocks(), 3);
    for _ in 0..20 {
        // Empty twice, then busy again: the patience of three is never exhausted.
        for _ in 0..2 {
            assert_eq!(pool.tend().given_back, 0);
        }
        let segment = vec![1; 128 * 2048];
        let all: Vec<_> = (0..9)
            .map(|_| pool.map(&device, ToDevice(&segment)).unwrap())
            .collect();
        assert_eq!(pool.tend().given_back, 0);
        drop(all);
    }
    let given: Vec<_> = (0..6).map(|_| pool.tend().given_back).collect();
    assert_eq!(given, [0, 0, 512, 512, 0, 0]);
    assert_eq!((pool.blocks(), machine.owned()), (1, 1));
    // A block that slept is woken, in the same record.
    assert_eq!(fill(&pool, &device), 10);
    pool.check().expect("no invariant is broken");
}

#[test]
fn a_deferred_pool_says_so_and_grows_when_it_is_tended() {
    let plan = Plan::new(128, 1).growth(Growth::Deferred).blocks(2);
    let machine = machine();
    let pool =
        Tested::with_config(Arc::clone(&machine), TestCpu::default(), &plan).expect("memory");
    let device = any();
    let segment = vec![1; 128 * 2048];
    let first = pool.map(&device, ToDevice(&segment)).unwrap();
    let full = MapError::Full { wanted: 1, free: 0 };
    assert_eq!(pool.map(&device, ToDevice(&[1])).unwrap_err(), full);
    assert_eq!(machine.tendings(), 1);
    assert_eq!(pool.tend().grown, 128);
    let second = pool.map(&device, ToDevice(&[1])).unwrap();
    assert_eq!(pool.grow(), Err(GrowError::Limit(2)));
    drop((first, second));
}

#[test]
fn memory_may_wait_for_whoever_grows_the_pool_and_not_for_a_map() {
    let machine = machine();
    let pool =
        Tested::with_config(Arc::clone(&machine), TestCpu::default(), &growing()).expect("memory");
    assert_eq!((pool.blocks(), machine.patient()), (1, 1));
    let device = any();
    let segment = vec![1; 128 * 2048];
    let mapped: Vec<_> = (0..2)
        .map(|_| pool.map(&device, ToDevice(&segment)).expect("it grows"))
        .collect();
    assert_eq!((pool.blocks(), machine.patient()), (2, 1));
    assert!(pool.grow().is_ok());
    assert_eq!((pool.blocks(), machine.patient()), (3, 2));
    drop(mapped);
}

#[test]
fn a_pool_that_may_not_grow_says_so_whatever_it_has() {
    let plan = Plan::new(128, 1).growth(Growth::Never).blocks(3);
    let pool = Tested::with_config(machine(), TestCpu::default(), &plan).expect("memory");
    assert_eq!((pool.grow(), pool.blocks()), (Err(GrowError::Never), 1));
}

/// A CPU number that changes at every query.
#[derive(Default)]
struct Moving(AtomicUsize);

impl Cpu for Moving {
    fn number(&self) -> usize {
        self.0.fetch_add(3, Ordering::SeqCst)
    }
}

/// Checks that each map finds the one free slot, and probes no area twice in a pass.
fn migrates<O: Order>() {
    type Counted<O> = Custom<O, LockFree<2>, ZeroPads, Moving, SpinLock, Tally>;
    let plan = Plan::new(16, 4).growth(Growth::Inline).blocks(2);
    let pool: Pool<_, Counted<O>> =
        Pool::with_config(machine(), Moving::default(), &plan).expect("memory");
    let device = any();
    let mut held: Vec<_> = (0..32)
        .map(|_| pool.map(&device, ToDevice(&[1])).unwrap())
        .collect();
    for _ in 0..64 {
        let free = held.remove(0).address();
        let before = pool.counters().count_of(Event::AreaProbed);
        let again = pool.map(&device, ToDevice(&[1])).unwrap();
        let probed = pool.counters().count_of(Event::AreaProbed) - before;
        assert_eq!(again.address(), free);
        assert!(probed <= 8, "{probed} areas asked of 8");
        held.push(again);
    }
    let full = pool.map(&device, ToDevice(&[1])).unwrap_err();
    let (wanted, free) = (1, 0);
    assert_eq!(full, MapError::Full { wanted, free });
}

#[test]
fn a_thread_that_migrates_in_the_middle_finds_every_area() {
    migrates::<PoolFirst>();
    migrates::<AreaFirst>();
}

#[test]
fn the_orders_ask_as_many_areas_as_they_promise() {
    fn asked<O: Order>() -> u64 {
        type Counted<O> = Custom<O, LockFree<2>, ZeroPads, TestCpu, SpinLock, Tally>;
        let plan = Plan::new(16, 4).growth(Growth::Deferred).blocks(4);
        let cpu = TestCpu::default();
        let pool: Pool<_, Counted<O>> = Pool::with_config(machine(), cpu, &plan).expect("memory");
        (0..3).for_each(|_| assert_eq!(pool.grow(), Ok(16)));
        let device = any();
        // The CPU's own area has 4 slots in each block.
        let held: Vec<_> = (0..12)
            .map(|_| pool.map(&device, ToDevice(&[1])).unwrap())
            .collect();
        let before = pool.counters().count_of(Event::AreaProbed);
        drop(pool.map(&device, ToDevice(&[1])).unwrap());
        drop(held);
        pool.counters().count_of(Event::AreaProbed) - before
    }
    // Area first: the CPU's own area, full in three blocks and free in the fourth. Pool first:
    // three full areas in the first block, then one with room.
    assert_eq!(asked::<AreaFirst>(), 4);
    assert_eq!(asked::<PoolFirst>(), 4);
}

#[test]
fn a_pool_does_not_grow_for_a_device_that_would_not_reach_it() {
    let plan = Plan::new(128, 1).growth(Growth::Inline).blocks(2);
    let pool = Tested::with_config(machine(), TestCpu::default(), &plan).expect("memory");
    let device = any();
    let held = pool.map(&device, ToDevice(&[1; 128 * 2048])).unwrap();
    let reach = Iova::new((1 << 20) + 128 * 2048 - 1);
    let near = Device::new(2, Limits::new().reach(reach)).expect("good limits");
    let (wanted, free) = (1, 0);
    let full = MapError::Full { wanted, free };
    assert_eq!(pool.map(&near, ToDevice(&[1])).unwrap_err(), full);
    assert_eq!(pool.blocks(), 1);
    let further = pool.map(&device, ToDevice(&[1])).unwrap();
    assert_eq!(pool.blocks(), 2);
    assert!(further.address() > reach);
    drop((held, further));
    let own = pool.map(&near, ToDevice(&[1])).unwrap();
    assert!(own.address() <= reach);
}

#[test]
fn a_pool_does_not_grow_for_a_waiter_that_would_not_reach_it() {
    let plan = Plan::new(128, 1).growth(Growth::Deferred).blocks(4);
    let pool = Tested::with_config(machine(), TestCpu::default(), &plan).expect("memory");
    let device = any();
    let held = pool.map(&device, ToDevice(&[1; 128 * 2048])).unwrap();
    let reach = Iova::new((1 << 20) + 128 * 2048 - 1);
    let near = Device::new(2, Limits::new().reach(reach)).expect("good limits");
    let mut waits = Box::pin(pool.wait(&near, ToDevice(&[1])));
    let mut context = Context::from_waker(Waker::noop());
    assert!(waits.as_mut().poll(&mut context).is_pending());
    for _ in 0..3 {
        assert_eq!((pool.tend().grown, pool.blocks()), (0, 1));
    }
    drop(held);
    assert!(waits.as_mut().poll(&mut context).is_ready());
}
