//! Pools whose tables and memory the caller supplies. They never call the heap, and have the
//! promised room.
#![forbid(unsafe_code)]

use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex};

use furlong::addr::Iova;
use furlong::bounce::{
    Area, AreaFirst, Both, Device, GrowError, Growth, HeapMemory, Limits, LockFree, Locked,
    MapError, OneCpu, Plan, Pool, PoolError, RegionMemory, SLOT, ToDevice,
};
use furlong::check::Check;
use furlong_spec::bounce::{Addresses, Machine, TestCpu, Tried};
use furlong_spec::heap;

type Bytes = &'static mut [MaybeUninit<u8>];

/// Leaks memory, and records it so that leak detection ignores it.
fn set_aside(len: usize) -> Bytes {
    static KEPT: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let bytes: Bytes = Box::leak(vec![MaybeUninit::uninit(); len].into());
    let mut kept = KEPT.lock().expect("nobody panics here");
    kept.push(bytes.as_ptr().addr());
    bytes
}

fn any() -> Device {
    Device::new(1, Limits::new()).expect("good limits")
}

#[test]
fn a_pool_in_memory_that_was_handed_in_never_asks_the_heap() {
    let base = Iova::new(1 << 24);
    let memory = set_aside(513 * SLOT as usize - 1);
    let plan = Plan::new(512, 4);
    let tables = set_aside(Pool::<RegionMemory>::table_bytes(&plan).unwrap());
    let mut bytes = [7; 5000];
    let ((), calls) = heap::failing_at(0, || {
        let region = RegionMemory::new(memory, base);
        assert_eq!(region.slots(), 512);
        let pool = Pool::new_in(tables, region, OneCpu, &plan).expect("there is room");
        let device = any();
        let mut mapped = pool.map(&device, Both(&mut bytes)).expect("there is room");
        assert_eq!(mapped.address(), base);
        mapped.original_mut().fill(8);
        mapped.sync_for_cpu(0..2500).expect("all of it is mapped");
        drop(mapped);
        let waited = pool
            .wait(&device, ToDevice(&[1; 100]))
            .block(|| panic!("there is room"));
        drop(waited.expect("there is room"));
        assert_eq!((pool.free_slots(), pool.waiters()), (512, 0));
        pool.check().expect("no invariant is broken");
    });
    assert_eq!((calls, bytes), (0, [7; 5000]));
}

#[test]
fn a_region_is_lent_once_and_comes_back_with_its_pool() {
    let memory = set_aside(512 * SLOT as usize);
    let region = RegionMemory::new(memory, Iova::new(1 << 24));
    let plan = Plan::new(512, 1).growth(Growth::Inline).blocks(2);
    let pool = Pool::new(&region, OneCpu, &plan).expect("there is room");
    assert_eq!(pool.grow(), Err(GrowError::NoMemory));
    let second = Pool::new(&region, OneCpu, &plan);
    let none = PoolError::Block(GrowError::NoMemory);
    assert_eq!(second.map(|_| ()).map_err(|none| none.cause), Err(none));
    drop(pool);
    let large = Plan::new(1024, 1);
    let pool = Pool::new(&region, OneCpu, &large).expect("it is halved");
    assert_eq!(pool.slots(), 512);
    drop(pool);
    let last = (1 << 24) + 512 * SLOT - 1;
    let reaching = |reach| {
        let plan = Plan::new(512, 1).block_slots(512, 512).reach(reach);
        Pool::new(&region, OneCpu, &plan).map_err(|none| none.cause)
    };
    assert!(reaching(Iova::new(last)).is_ok());
    assert_eq!(reaching(Iova::new(last - 1)).map(|_| ()), Err(none));
}

#[test]
fn a_pool_over_a_region_is_restored_there() {
    // The second region stands for the first one after a restart.
    let region = || RegionMemory::new(set_aside(512 * SLOT as usize), Iova::new(1 << 24));
    let plan = Plan::new(512, 1);
    let pool = Pool::new(region(), OneCpu, &plan).expect("there is room");
    let state = pool.into_state().expect("nothing is mapped");
    let pool = Pool::restore(&state, region(), OneCpu, &plan).expect("it is at the same address");
    let at = pool
        .map(&any(), ToDevice(&[1]))
        .map(|mapped| mapped.address());
    assert_eq!(at, Ok(Iova::new(1 << 24)));
}

#[test]
fn blocks_of_the_heap_go_back_with_their_pool() {
    let ((), held) = heap::held_by(|| {
        let plan = Plan::new(512, 1).growth(Growth::Inline).blocks(3);
        let pool = Pool::new(HeapMemory::new(), OneCpu, &plan).expect("there is memory");
        pool.grow().expect("there is memory");
    });
    assert_eq!(held, 0);
}

#[test]
fn tables_of_a_pool_that_cannot_grow_are_for_one_block() {
    let bytes = |growth, blocks| {
        let plan = Plan::new(512, 1).block_slots(512, 512);
        let plan = plan.growth(growth).blocks(blocks);
        Pool::<RegionMemory>::table_bytes(&plan).expect("a good plan")
    };
    let [fixed, grown] = [Growth::Never, Growth::Inline].map(|growth| bytes(growth, 2));
    assert!(fixed < grown && grown < 2 * fixed, "{fixed} and {grown}");
    let [one, alone] = [Growth::Never, Growth::Inline].map(|growth| bytes(growth, 1));
    assert_eq!(one, alone);
}

/// Checks that pools of every plan have full room with the promised number of table bytes. With a
/// few bytes less they are refused or grow less.
fn table_bytes_are_enough<A: Area>(segment: usize) {
    type Tested<A> = Pool<Arc<Machine>, Tried<AreaFirst, A>>;
    for (areas, blocks) in [(1, 1), (2, 3), (4, 2), (8, 4)] {
        let slots = 2 * segment * areas;
        let plan = Plan::new(slots, areas)
            .growth(Growth::Inline)
            .blocks(blocks);
        let plan = plan
            .block_slots(slots / 2, slots / 2)
            .transients(3)
            .waiters(5);
        let bytes = Tested::<A>::table_bytes(&plan).expect("a good plan");
        let make = |bytes: usize| {
            let machine = Arc::new(Machine::new(0, Addresses::new(1 << 30, 0)));
            let pool =
                Tested::<A>::with_config_in(set_aside(bytes), machine, TestCpu::default(), &plan);
            let pool = pool.map_err(|none| none.cause)?;
            while pool.grow().is_ok() {}
            Ok::<_, PoolError>(pool)
        };
        let pool = make(bytes).expect("as many bytes as were promised");
        assert_eq!(pool.blocks(), blocks);
        let device = any();
        let whole = vec![1; segment * SLOT as usize];
        let held: Vec<_> = (0..1000)
            .map_while(|_| pool.map(&device, ToDevice(&whole)).ok())
            .collect();
        assert_eq!(held.len(), 2 * areas + (blocks - 1) * areas + 3);
        drop(held);
        assert_eq!(
            (pool.free_slots(), pool.transient_blocks()),
            (pool.slots(), 0)
        );
        for less in [bytes / 2, bytes / 3, 100, 0] {
            match make(less) {
                Ok(pool) => {
                    assert!(pool.blocks() < blocks, "{less} of {bytes} bytes");
                    pool.check().expect("no invariant is broken");
                }
                Err(error) => {
                    let known = [PoolError::NoMemory, PoolError::Block(GrowError::NoMemory)];
                    assert!(known.contains(&error), "{error}");
                }
            }
        }
    }
}

#[test]
fn tables_take_no_more_bytes_than_promised() {
    table_bytes_are_enough::<LockFree>(128);
    table_bytes_are_enough::<Locked>(128);
    table_bytes_are_enough::<LockFree<2>>(4);
    let uneven = Pool::<RegionMemory>::table_bytes(&Plan::new(100, 3));
    assert!(uneven.is_err());
}

#[test]
fn a_line_without_places_refuses_whoever_would_wait() {
    let region = RegionMemory::new(set_aside(SLOT as usize), Iova::new(1 << 24));
    let plan = Plan::new(1, 1).waiters(0);
    let tables = set_aside(Pool::<RegionMemory>::table_bytes(&plan).unwrap());
    let pool = Pool::new_in(tables, region, OneCpu, &plan).expect("there is room");
    let device = any();
    let held = pool.map(&device, ToDevice(&[1])).unwrap();
    let waiting = pool
        .wait(&device, ToDevice(&[2]))
        .block(|| panic!("it is refused"));
    assert_eq!(waiting.map(|_| ()), Err(MapError::TooManyWaiters(0)));
    drop(held);
    assert_eq!(pool.waiters(), 0);
}
