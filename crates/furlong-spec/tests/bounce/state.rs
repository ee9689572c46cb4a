//! A pool that is saved and restored over its memory. Mappings stay, leaks are found, and no
//! corrupted state makes a pool.
#![expect(
    unsafe_code,
    reason = "mappings are made, claimed and ended by address"
)]

use std::sync::Arc;

use furlong::addr::{Address, Iova, PhysAddr};
use furlong::bounce::{
    Area, AreaFirst, Back, Device, Direction, Event, Growth, Kind, Limits, LockFree, Locked,
    MapError, Misuse, Plan, Pool, RestoreError, SEGMENT, SLOT, State, ToDevice,
};
use furlong::check::Check;
use furlong_spec::Random;
use furlong_spec::bounce::{Addresses, Machine, RAM, Refusal, TestCpu, Tried};

type Of<A> = Pool<Arc<Machine>, Tried<AreaFirst, A>>;
type Tested = Of<LockFree>;

fn plan() -> Plan {
    let plan = Plan::new(512, 4).growth(Growth::Inline).blocks(2);
    plan.block_slots(512, 128).transients(2)
}

fn device(id: u32) -> Device {
    Device::new(id, Limits::new()).expect("good limits")
}

fn machine() -> Arc<Machine> {
    Arc::new(Machine::new(1 << 20, Addresses::new(1 << 30, 0)))
}

fn pool<A: Area>(machine: &Arc<Machine>) -> Of<A> {
    let pool = Pool::with_config(Arc::clone(machine), TestCpu::default(), &plan());
    pool.unwrap_or_else(|none| panic!("{none}"))
}

fn restore(machine: &Arc<Machine>, state: &State) -> Result<Tested, RestoreError> {
    Pool::restore_with_config(state, Arc::clone(machine), TestCpu::default(), &plan())
}

fn map<A: Area>(pool: &Of<A>, device: &Device, at: u64, len: usize) -> Result<Iova, MapError> {
    let original = PhysAddr::new(RAM + at);
    // SAFETY: the original is the machine's memory, and there is only this thread.
    unsafe { pool.map_raw(device, original, len, Direction::FromDevice) }
}

fn unmap<A: Area>(pool: &Of<A>, device: &Device, at: Iova) -> Result<(), Misuse> {
    // SAFETY: as above.
    unsafe { pool.unmap_raw(device, at, Direction::FromDevice, Back::All) }
}

/// A pool with two blocks, a transient block, and a mapping whose owner is gone.
fn busy(machine: &Arc<Machine>) -> (State, Iova, Iova) {
    let pool: Tested = pool(machine);
    let (disk, nic) = (device(1), device(2));
    let kept = map(&pool, &disk, 5000, 9000).unwrap();
    let lost = map(&pool, &nic, 0, 1).unwrap();
    while pool.transient_blocks() == 0 {
        map(&pool, &nic, 0, 128 * SLOT as usize).unwrap();
    }
    let text = serde_json::to_string(&pool.into_state().unwrap()).unwrap();
    let state: State = serde_json::from_str(&text).unwrap();
    (state, kept, lost)
}

#[test]
fn a_mapping_keeps_address_bits_above_those_of_its_area() {
    let machine = machine();
    let pool: Tested = pool(&machine);
    let kept = (1 << 20) - 1;
    let disk = Device::new(1, Limits::new().min_align_mask(kept)).expect("good limits");
    // Each place is in another area of the pool, which has four of 256 KiB.
    for at in [0, 1 << 18, 2 << 18, 3 << 18] {
        let mapped = map(&pool, &disk, at, 100).unwrap();
        assert_eq!(mapped.raw() & kept, (RAM + at) & kept);
    }
}

#[test]
fn slots_that_were_looked_at_and_transient_blocks_are_counted() {
    let machine = machine();
    let pool: Tested = pool(&machine);
    let nic = device(2);
    let counted = |event| pool.counters().count_of(event);
    map(&pool, &nic, 0, 1).unwrap();
    assert_eq!(counted(Event::SlotProbed), SEGMENT as u64);
    while pool.transient_blocks() == 0 {
        map(&pool, &nic, 0, SEGMENT * SLOT as usize).unwrap();
    }
    assert_eq!(counted(Event::Transient), 1);
}

#[test]
fn a_transient_block_that_stays_shared_is_leaked_by_its_slots() {
    let machine = machine();
    let pool: Tested = pool(&machine);
    let nic = device(2);
    let all = || map(&pool, &nic, 0, SEGMENT * SLOT as usize).unwrap();
    let mut last = all();
    while pool.transient_blocks() == 0 {
        last = all();
    }
    machine.refuse(Refusal::Unshare, 0);
    unmap(&pool, &nic, last).unwrap();
    assert_eq!((pool.transient_blocks(), pool.leaked()), (0, SEGMENT));
}

#[test]
fn a_device_goes_on_while_its_pool_is_replaced() {
    let machine = machine();
    let (state, kept, lost) = busy(&machine);
    machine.write_bus(kept.raw(), &[8; 9000]);
    let pool = restore(&machine, &state).unwrap();
    pool.check().expect("no invariant is broken");
    let (disk, nic) = (device(1), device(2));
    assert_eq!(unmap(&pool, &disk, kept), Err(Misuse::Unclaimed));
    // SAFETY: the original has not moved.
    let foreign = unsafe { pool.claim(&nic, kept) };
    assert_eq!(foreign, Err(Misuse::Foreign(1)));
    // SAFETY: as above.
    let claimed = unsafe { pool.claim(&disk, kept) }.unwrap();
    assert_eq!((claimed.len, claimed.has_original), (9000, true));
    // SAFETY: as above.
    assert_eq!(unsafe { pool.claim(&disk, kept) }, Err(Misuse::Kind));
    unmap(&pool, &disk, kept).unwrap();
    assert_eq!(machine.read_ram(RAM + 5000, 9000), [8; 9000]);

    let mut leaks = Vec::new();
    let count = pool.unclaimed(|leak| leaks.push(leak));
    assert_eq!((count, leaks.len()), (state.mappings.len() - 1, count));
    assert!(
        leaks
            .iter()
            .any(|leak| leak.at == lost && leak.device == 2 && leak.len == 1)
    );
    // SAFETY: no device is active.
    assert_eq!(unsafe { pool.release_unclaimed(|_| {}) }, count);
    assert_eq!((pool.used_slots(), pool.transient_blocks()), (0, 0));
    pool.check().expect("no invariant is broken");
    drop(pool);
    assert_eq!((machine.owned(), machine.shared()), (0, 0));
}

fn is_like_a_new_one<A: Area>() {
    let (used, new) = (machine(), machine());
    let (used, new) = (pool::<A>(&used), pool::<A>(&new));
    let any = device(1);
    let mut random = Random::new(5);
    let mut held = Vec::new();
    for _ in 0..3000 {
        let len = 1 + random.index(30_000);
        held.extend(map(&used, &any, 0, len).ok());
        if random.below(2) == 0 && !held.is_empty() {
            let at = held.swap_remove(random.index(held.len()));
            unmap(&used, &any, at).unwrap();
        }
    }
    held.into_iter()
        .for_each(|at| unmap(&used, &any, at).unwrap());
    while used.blocks() > 1 {
        let _ = used.tend();
    }
    assert_eq!(used.save().unwrap(), new.save().unwrap());
    assert_eq!((used.free_slots(), used.transient_blocks()), (512, 0));
    assert_eq!((used.used_slots(), used.waiters()), (0, 0));
    assert_eq!(used.unclaimed(|leak| panic!("{leak:?}")), 0);
    used.check().expect("no invariant is broken");
    assert!((1..=512).contains(&used.high_water()));
    used.reset_high_water();
    assert_eq!((used.high_water(), new.high_water()), (0, 0));
    let slots = [5, 3].map(|slots| map(&used, &any, 0, slots * SLOT as usize).unwrap());
    for at in slots {
        unmap(&used, &any, at).unwrap();
    }
    assert_eq!(used.high_water(), 8);
    used.reset_high_water();
    // It behaves as a new pool does.
    for _ in 0..60 {
        let len = 1 + random.index(9000);
        assert_eq!(map(&used, &any, 0, len), map(&new, &any, 0, len));
    }
}

#[test]
fn a_drained_pool_is_like_a_new_one_under_locks() {
    is_like_a_new_one::<Locked>();
}

#[test]
fn a_drained_pool_is_like_a_new_one_without_locks() {
    is_like_a_new_one::<LockFree>();
}

#[test]
fn what_a_guard_left_behind_is_memory_without_an_original() {
    let machine = machine();
    let old: Tested = pool(&machine);
    let any = device(1);
    let guard = old.map(&any, ToDevice(&[1; 100])).unwrap();
    let at = guard.address();
    core::mem::forget(guard);
    assert_eq!(unmap(&old, &any, at), Err(Misuse::Guarded));
    // SAFETY: it has no original.
    let claimed = unsafe { old.claim(&any, at) };
    assert_eq!(claimed.map(|_| ()), Err(Misuse::Guarded));
    let state = old.into_state().unwrap();
    assert_eq!(
        Kind::from_number(state.mappings[0].kind),
        Some(Kind::Guarded)
    );
    let pool = restore(&machine, &state).unwrap();
    // SAFETY: it has no original.
    let claimed = unsafe { pool.claim(&any, at) }.unwrap();
    assert!(!claimed.has_original);
    // SAFETY: no other code uses the memory.
    assert_eq!(unsafe { pool.deallocate_raw(&any, at) }, Ok(()));
    assert_eq!(pool.used_slots(), 0);
}

/// Restores a state after `spoil` has changed it. Returns the error.
fn refused(spoil: &dyn Fn(&mut State)) -> RestoreError {
    let machine = machine();
    let (state, ..) = busy(&machine);
    let mut spoiled = state.clone();
    spoil(&mut spoiled);
    assert_ne!(spoiled, state);
    restore(&machine, &spoiled).map(|_| ()).unwrap_err()
}

#[test]
fn a_state_with_a_spoiled_block_makes_no_pool() {
    assert_eq!(
        refused(&|state| state.version = 2),
        RestoreError::Version(2)
    );
    assert_eq!(
        refused(&|state| state.blocks[0].device += 1),
        RestoreError::Block(0)
    );
    assert_eq!(
        refused(&|state| state.blocks[1].slots = 100),
        RestoreError::Block(1)
    );
    assert_eq!(
        refused(&|state| state.blocks[0].areas = 3),
        RestoreError::Block(0)
    );
    assert_eq!(
        refused(&|state| state.blocks[0].areas = 8),
        RestoreError::Block(0)
    );
    let onto = |state: &mut State| state.blocks[1].device = state.blocks[0].device + SLOT;
    assert_eq!(refused(&onto), RestoreError::Block(1));
    let behind = |state: &mut State| {
        let last = state.blocks.len() - 1;
        assert_eq!(
            (state.blocks[0].areas > 0, state.blocks[last].areas),
            (true, 0)
        );
        state.blocks.swap(0, last);
        for mapping in &mut state.mappings {
            mapping.block = match mapping.block as usize {
                0 => last as u32,
                block if block == last => 0,
                _ => mapping.block,
            };
        }
    };
    assert_eq!(refused(&behind), RestoreError::Block(0));
    let elsewhere = |state: &mut State| state.blocks[0].device = 1 << 50;
    assert_eq!(refused(&elsewhere), RestoreError::Gone(0));
    let more = |state: &mut State| state.blocks.extend([state.blocks[0]; 3]);
    assert!(matches!(refused(&more), RestoreError::TooManyBlocks(_)));
}

#[test]
fn a_state_with_a_spoiled_mapping_makes_no_pool() {
    assert_eq!(
        refused(&|state| state.mappings[0].kind = 9),
        RestoreError::Mapping(0)
    );
    assert_eq!(
        refused(&|state| state.mappings[0].direction = 3),
        RestoreError::Mapping(0)
    );
    assert_eq!(
        refused(&|state| state.mappings[0].len = 0),
        RestoreError::Mapping(0)
    );
    assert_eq!(
        refused(&|state| state.mappings[0].len = 1 << 30),
        RestoreError::Mapping(0)
    );
    assert_eq!(
        refused(&|state| state.mappings[0].slots = 129),
        RestoreError::Mapping(0)
    );
    assert_eq!(
        refused(&|state| state.mappings[0].slot = u32::MAX),
        RestoreError::Mapping(0)
    );
    assert_eq!(
        refused(&|state| state.mappings[0].block = 77),
        RestoreError::Mapping(0)
    );
    let twice = |state: &mut State| state.mappings[1] = state.mappings[0];
    assert_eq!(refused(&twice), RestoreError::Mapping(1));
    let across = |state: &mut State| state.mappings[0].slot = 126;
    assert_eq!(refused(&across), RestoreError::Mapping(0));
    let nobodys = |state: &mut State| state.mappings.truncate(state.mappings.len() - 1);
    assert_eq!(refused(&nobodys), RestoreError::Block(2));
}
