//! Pools that are saved, corrupted and restored. Memory that devices may use is never freed.
#![expect(unsafe_code, reason = "mappings are claimed and ended by address")]

use std::sync::Arc;

use furlong::bounce::{
    Area, AreaFirst, Back, Growth, LockFree, Locked, Order, Pool, PoolFirst, State,
};
use furlong::check::Check;
use furlong_spec::Random;
use furlong_spec::hostile::{Ledger, Outcome, panic_at, thinned};

use super::memory::{Hostile, Lie};
use super::raw::{Held, Kind, give, take};
use super::{Lying, Tested, device, is_whole, plan};

/// The memory, the state and the remaining mappings of a saved pool.
fn saved<O: Order, A: Area>(seed: u64) -> (Arc<Hostile>, State, Vec<Held>) {
    let memory = Arc::new(Hostile::new(Lie::None, 0));
    let made = Pool::with_config(Arc::clone(&memory), Lying, &plan(Growth::Inline));
    let pool: Tested<O, A> = made.unwrap_or_else(|none| panic!("{none}"));
    let (device, mut random) = (device(), Random::new(seed));
    let mut held = Vec::new();
    for _ in 0..2 + random.below(9) {
        // A mapping by pointer cannot be claimed, because its original dies with the process.
        let new = take(&pool, &device, &mut random);
        let is_pointed = |one: &Held| one.kind == Kind::Pointer;
        if let Some(one) = new.filter(is_pointed) {
            assert_eq!(give(&pool, &device, one, Back::All), Ok(()));
        } else {
            held.extend(new);
        }
        if random.below(4) == 0 && !held.is_empty() {
            let one = held.swap_remove(random.index(held.len()));
            assert_eq!(give(&pool, &device, one, Back::All), Ok(()));
        }
    }
    let state = pool.into_state().unwrap_or_else(|_| panic!("no memory"));
    (memory, state, held)
}

/// Restores a pool with each call of user code panicking, and claims its mappings.
fn restore<O: Order, A: Area>(seed: u64, ledger: &mut Ledger) {
    for k in 1.. {
        let (memory, state, held) = saved::<O, A>(seed);
        let out = memory.out();
        let outcome = panic_at(k, || {
            let plan = plan(Growth::Inline);
            Pool::restore_with_config(&state, Arc::clone(&memory), Lying, &plan)
        });
        ledger.note("bounce::State", k, (seed, state.mappings.len()));
        let what = format!("seed {seed}, {k}");
        match outcome {
            // Devices may use all of the memory.
            Outcome::Panicked(_) => assert_eq!(memory.out(), out, "{what}: memory was freed"),
            Outcome::Done(restored) => {
                let pool: Tested<O, A> = restored.unwrap_or_else(|error| panic!("{error}"));
                claim(pool, &held, &memory, ledger, seed);
                return;
            }
        }
    }
}

/// Claims and ends all mappings, with a panic at one call in each claim.
fn claim<O: Order, A: Area>(
    pool: Tested<O, A>,
    held: &[Held],
    memory: &Hostile,
    ledger: &mut Ledger,
    seed: u64,
) {
    let device = device();
    assert_eq!(pool.unclaimed(|_| ()), held.len());
    for (at, &one) in held.iter().enumerate() {
        let call = seed % 7 + 1;
        let what = format!("seed {seed}, call {call} of {one:?}");
        // SAFETY: the originals have not moved.
        let claimed = panic_at(call, || unsafe { pool.claim(&device, one.at) });
        if let Outcome::Panicked(_) = claimed {
            // SAFETY: as above.
            unsafe { pool.claim(&device, one.at) }.expect("nothing has changed");
        }
        // SAFETY: as above.
        let again = unsafe { pool.claim(&device, one.at) };
        assert!(again.is_err(), "{what}: claimed twice");
        if at % 2 == 0 {
            let ended = panic_at(call, || give(&pool, &device, one, Back::All));
            if let Outcome::Panicked(_) = ended {
                let _ = give(&pool, &device, one, Back::All);
            }
            pool.check()
                .unwrap_or_else(|error| panic!("{what}: {error}"));
        }
        ledger.note("bounce::Claimed", (at, call), seed);
    }
    for &one in held.iter().skip(1).step_by(2) {
        assert_eq!(give(&pool, &device, one, Back::All), Ok(()));
    }
    is_whole(&pool, &device, 0, "all were claimed and ended");
    drop(pool);
    assert_eq!(memory.out(), memory.lost());
}

#[test]
fn a_panic_in_a_restore_frees_no_memory_that_a_device_may_use() {
    let mut ledger = Ledger::new();
    for seed in 0..150 {
        restore::<AreaFirst, LockFree>(seed, &mut ledger);
        restore::<PoolFirst, Locked>(seed, &mut ledger);
    }
    ledger.report(900);
}

/// A corrupted number, often an extreme one.
fn spoilt(random: &mut Random, number: u64, bits: u32) -> u64 {
    let most = u64::MAX >> (64 - bits);
    match random.below(6) {
        0 => 0,
        1 => most,
        2 => number.wrapping_add(1) & most,
        3 => number.wrapping_sub(1) & most,
        4 => 1 << random.below(u64::from(bits)),
        _ => random.below(40),
    }
}

/// Changes a number in a state, or repeats, swaps or removes an entry.
fn spoil(state: &mut State, random: &mut Random) {
    let narrow = |random: &mut Random, number: &mut u32| {
        *number = spoilt(random, u64::from(*number), 32) as u32;
    };
    if random.below(3) == 0 && !state.blocks.is_empty() {
        let at = random.index(state.blocks.len());
        let block = &mut state.blocks[at];
        match random.below(5) {
            0 => block.device = spoilt(random, block.device, 64),
            1 => narrow(random, &mut block.slots),
            2 => narrow(random, &mut block.areas),
            3 => drop(state.blocks.remove(at)),
            _ => state.blocks.push(state.blocks[at]),
        }
        return;
    }
    if state.mappings.is_empty() {
        state.version = spoilt(random, 1, 32) as u32;
        return;
    }
    let at = random.index(state.mappings.len());
    let mapping = &mut state.mappings[at];
    match random.below(12) {
        0 => narrow(random, &mut mapping.block),
        1 => narrow(random, &mut mapping.slot),
        2 => narrow(random, &mut mapping.slots),
        3 => narrow(random, &mut mapping.offset),
        4 => narrow(random, &mut mapping.len),
        5 => narrow(random, &mut mapping.device),
        6 => mapping.original = spoilt(random, mapping.original, 64),
        7 => mapping.direction = spoilt(random, u64::from(mapping.direction), 8) as u8,
        8 => mapping.kind = spoilt(random, u64::from(mapping.kind), 8) as u8,
        9 => drop(state.mappings.remove(at)),
        10 => state.mappings.push(state.mappings[at]),
        _ => state.mappings.swap(at, 0),
    }
}

fn restore_spoilt<O: Order, A: Area>(seed: u64, ledger: &mut Ledger) -> bool {
    let (memory, mut state, _) = saved::<O, A>(seed / 20);
    let mut random = Random::new(seed);
    let out = memory.out();
    for _ in 0..1 + seed % 3 {
        spoil(&mut state, &mut random);
    }
    let plan = plan(Growth::Inline);
    let restored = Pool::restore_with_config(&state, Arc::clone(&memory), Lying, &plan);
    ledger.note("bounce::State", "spoilt", &state);
    let pool: Tested<O, A> = match restored {
        Ok(pool) => pool,
        Err(_) => {
            assert_eq!(memory.out(), out, "seed {seed}: memory was freed");
            return false;
        }
    };
    pool.check()
        .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let mut leaks = Vec::new();
    let count = pool.unclaimed(|leak| leaks.push(leak));
    // SAFETY: there are no devices.
    let released = unsafe { pool.release_unclaimed(|leak| assert!(leaks.contains(&leak))) };
    assert_eq!((released, leaks.len()), (count, count), "seed {seed}");
    pool.check()
        .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    assert_eq!(pool.used_slots(), 0, "seed {seed}: {state:?}");
    true
}

#[test]
fn a_state_that_was_spoilt_is_refused_or_is_one_of_a_whole_pool() {
    let mut ledger = Ledger::new();
    let mut restored = 0;
    for seed in thinned(0..4000) {
        restored += u32::from(restore_spoilt::<AreaFirst, LockFree>(seed, &mut ledger));
        restored += u32::from(restore_spoilt::<PoolFirst, Locked>(seed, &mut ledger));
    }
    assert!(restored > 350, "{restored} states are those of a pool");
    ledger.report(4000);
}
