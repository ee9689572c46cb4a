//! A shared domain compared with a list of the owner of each page: which grants it makes, and when
//! it may refuse.

use super::addresses::by_address;
use super::world::{CPUS, PAGE, PAGES, State, World};
use furlong::addr::{Extent, Iova};
use furlong::check::Check;
use furlong::iova::{Guard, Highest, Lowest, Request, ReserveError, Sealed};
use furlong_spec::Random;

fn any_request(random: &mut Random) -> Request {
    let mut request = Request::new(1 + random.below(5 * PAGE)).offset(random.below(2) * 77);
    match random.below(10) {
        0 => request.align = PAGE << random.below(4),
        1 => request.boundary = Some(PAGE << random.below(4)),
        2 => request.guard = Guard::ONE,
        3 => request = request.window(Iova::new(0), Iova::new(16 * PAGE - 1)),
        4 => request = request.window(Iova::new(40 * PAGE + 1), Iova::new(50 * PAGE)),
        5 => request = request.exclude(Iova::new(9 * PAGE), Iova::new(30 * PAGE)),
        _ => {}
    }
    request
}

fn reserve(world: &mut World, random: &mut Random) {
    let request = any_request(random);
    let from_tree = random.below(4) == 0;
    let outcome = if from_tree {
        world.domain.place(&request, Lowest)
    } else {
        world.domain.reserve(&request, Highest)
    };
    match outcome {
        Ok(grant) => world.granted(&request, grant),
        Err(ReserveError::NoSpace { .. } | ReserveError::CrossesBoundary { .. }) => {
            assert!(!world.fits(&request), "{request:?}");
        }
        Err(error) => panic!("{error} for {request:?}"),
    }
}

fn reserve_one_way_or_another(world: &mut World, random: &mut Random) {
    let request = any_request(random);
    if random.below(2) == 0 {
        let before = world.device.flushes.get();
        if let Ok(grant) = world.domain.try_reserve(&request, Lowest) {
            world.granted(&request, grant);
        }
        assert_eq!(world.device.flushes.get(), before);
        return;
    }
    let page = random.below(PAGES as u64);
    let extent = Extent::from_len(Iova::new(page * PAGE), PAGE).unwrap();
    match world.domain.reserve_at(extent) {
        Ok(grant) => world.granted(&Request::new(PAGE), grant),
        Err(_) => {
            let state = world.device.states.borrow()[page as usize];
            assert!(matches!(state, State::Held | State::Fixed), "{extent:?}");
        }
    }
}

fn release(world: &mut World, random: &mut Random) {
    if world.grants.is_empty() {
        return;
    }
    let grant = world.grants.swap_remove(random.index(world.grants.len()));
    let extent = grant.extent();
    let cpu = world.seat.0.get();
    match random.below(4) {
        0 => {
            world.set(extent, |_| true, State::Free);
            world.domain.release_flushed(grant).unwrap();
        }
        1 => world.tokens.push(world.domain.release(grant).unwrap()),
        _ => {
            world.set(extent, |_| true, State::Waiting(cpu));
            let _ = world.domain.release_later(grant).unwrap();
        }
    }
}

fn redeem(world: &mut World, random: &mut Random) {
    if world.tokens.is_empty() {
        return;
    }
    let token = world.tokens.swap_remove(random.index(world.tokens.len()));
    let extent = token.extent();
    match random.below(8) {
        0 if world.leaked < 3 => {
            world.leaked += 1;
            drop(token);
        }
        1..4 => {
            world.set(extent, |_| true, State::Waiting(world.seat.0.get()));
            let _ = world.domain.quarantine(token).unwrap();
        }
        _ => {
            world.set(extent, |_| true, State::Free);
            world.domain.redeem(token).unwrap();
        }
    }
}

/// Seals the quarantine of a CPU, runs another operation, and redeems the sealed pages.
fn flush_by_hand(world: &mut World, random: &mut Random) {
    let cpu = world.seat.0.get();
    let sealed: Sealed = world.domain.seal();
    let waiting: Vec<usize> = {
        let states = world.device.states.borrow();
        let waits = |page: &usize| states[*page] == State::Waiting(cpu);
        (0..PAGES).filter(waits).collect()
    };
    release(world, random);
    // A flush by the domain may have freed these pages, and others may have reserved them.
    for page in waiting {
        let state = &mut world.device.states.borrow_mut()[page];
        if *state == State::Waiting(cpu) {
            *state = State::Free;
        }
    }
    world.domain.redeem_sealed(sealed).unwrap();
}

fn step(world: &mut World, random: &mut Random) {
    match random.below(72) {
        0..24 => reserve(world, random),
        24..28 => reserve_one_way_or_another(world, random),
        28..48 => release(world, random),
        48..54 => redeem(world, random),
        54..57 => flush_by_hand(world, random),
        57 => {
            world.domain.flush();
            assert_eq!(world.domain.quarantined(), 0);
        }
        58 => {
            world.domain.drain_cpu(random.index(CPUS + 1));
        }
        59 => world.drain(),
        60..68 => by_address(world, random),
        // A CPU number out of range is taken modulo the number of CPUs.
        _ => world.seat.0.set(random.index(CPUS + 2) % CPUS),
    }
}

#[test]
fn streams_of_operations_agree_with_a_list_of_who_has_what() {
    for seed in 0..40 {
        let (mut world, mut random) = (World::new(), Random::new(seed));
        for count in 0..3000 {
            step(&mut world, &mut random);
            assert_eq!(
                world.domain.outstanding(),
                world.expected_outstanding(),
                "seed {seed}, step {count}"
            );
            if let Err(broken) = world.domain.check() {
                panic!("seed {seed}, step {count}: {broken}");
            }
        }
        world.drain();
        let space = world.domain.into_space();
        let left = world.grants.len() + world.tokens.len() + world.leaked as usize;
        let left = left + world.loose.len() + world.fixed.len();
        assert_eq!(space.len(), left, "seed {seed}");
    }
}
