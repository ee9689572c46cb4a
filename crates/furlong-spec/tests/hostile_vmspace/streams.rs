//! Every operation on spaces of 0 to 64 areas, over each index. Every call of user code panics, and
//! the caller forgets what it receives.

use std::any::type_name;
use std::convert::Infallible;
use std::mem::forget;

use furlong::check::Check;
use furlong::maple;
use furlong::rcu::Rcu;
use furlong::vmspace::{Config, Custom, Index, Maple, Rbtree, Shared, Space, Standard};
use furlong_spec::Random;
use furlong_spec::hostile::{Grace, Latch, Ledger, Memory, Outcome, Watch, panic_at, thinned};

use super::stream::{Caller, LAYOUT, Operation, apply, begin, contents, operation};
use super::world::Object;

/// A B-tree with tiny nodes.
type Tiny = Custom<Maple<maple::Custom<maple::Fan<3, 3, 48>, Memory>>>;
type Beside<'d> = Shared<Object, &'d Grace, Latch, Tiny>;

/// Changes that show whether a space is still usable.
const USES: [Operation; 3] = [
    Operation::Map(3, 40, true),
    Operation::Unmap(10, 5),
    Operation::Protect(0, 30, false),
];

/// The maximum number of values that a panic at `place` may leave outside of areas. In `allocate`
/// these are new values, dropped with the space or leaked; in `retire` the values that the domain
/// was to receive.
fn may_leak(place: &str) -> u64 {
    match place {
        "Source::allocate" => 2,
        "Rcu::retire" => 200,
        _ => 0,
    }
}

/// Attacks one space. Returns true if a call of user code panicked.
fn attack<C>(seed: (u64, u64), operation: Operation, caller: Caller, k: u64) -> bool
where
    C: Config<Index<Object>: Default>,
{
    let watch = Watch::new();
    let mut space: Space<Object, C> = Space::with_config(LAYOUT).expect("it is Linux's own");
    begin(&mut space, seed.1, &mut Random::new(seed.0), &watch);
    assert_eq!(watch.alive(), space.len() as u64);
    let outcome = panic_at(k, || apply(&mut space, operation, caller, &watch));
    let told = (seed, operation, k, outcome);
    space
        .check()
        .unwrap_or_else(|broken| panic!("{broken}: {told:?}"));
    let leaked = watch.alive() - space.len() as u64;
    let most = match (caller, outcome) {
        (Caller::Forgets, _) => 200,
        (_, Outcome::Panicked(place)) => may_leak(place),
        (_, Outcome::Done(())) => 0,
    };
    assert!(leaked <= most, "{leaked} values are in no area: {told:?}");
    for operation in USES {
        apply(&mut space, operation, Caller::Drops, &watch);
        space
            .check()
            .unwrap_or_else(|broken| panic!("{broken}: {told:?}"));
    }
    drop(space);
    assert!(watch.alive() <= leaked, "the rest is dropped: {told:?}");
    matches!(outcome, Outcome::Panicked(_))
}

/// The same with a reader that holds an area all the time.
fn attack_beside(seed: (u64, u64), operation: Operation, caller: Caller, k: u64) -> bool {
    let (watch, rcu) = (Watch::new(), Grace::new());
    let space = Beside::new(LAYOUT, &rcu, Latch::default()).expect("it is Linux's own");
    begin(&mut space.lock(), seed.1, &mut Random::new(seed.0), &watch);
    let reader = rcu.0.register().expect("there are slots");
    let guard = reader.enter();
    let there = contents(&space.lock());
    let seen: Vec<_> = there
        .iter()
        .filter_map(|area| space.look(&guard, furlong::addr::VirtAddr::new(area.0)))
        .collect();
    let outcome = panic_at(k, || apply(&mut space.lock(), operation, caller, &watch));
    rcu.poll(usize::MAX);
    let told = (seed, operation, k, outcome);
    for (seen, (_, _, _, number)) in seen.iter().zip(&there) {
        assert_eq!(seen.area().value.0.number(), *number, "the guard is held");
    }
    drop(seen);
    drop(guard);
    space
        .check()
        .unwrap_or_else(|broken| panic!("{broken}: {told:?}"));
    for operation in USES {
        apply(&mut space.lock(), operation, Caller::Drops, &watch);
        space
            .check()
            .unwrap_or_else(|broken| panic!("{broken}: {told:?}"));
    }
    if caller == Caller::Forgets {
        forget(space.lock());
        forget(reader.enter());
    }
    drop(space);
    drop(reader);
    rcu.poll(usize::MAX);
    rcu.poll(usize::MAX);
    let most = match (caller, outcome) {
        (Caller::Forgets, _) => 200,
        (_, Outcome::Panicked(place)) => may_leak(place),
        (_, Outcome::Done(())) => 0,
    };
    assert!(
        watch.alive() <= most,
        "{} values are left: {told:?}",
        watch.alive()
    );
    matches!(outcome, Outcome::Panicked(_))
}

type Attack = fn((u64, u64), Operation, Caller, u64) -> bool;

fn attack_all(seed: u64, of: [&'static str; 2], attack: Attack, at_least: usize) {
    let mut ledger = Ledger::new();
    for len in thinned(0..=64) {
        let mut random = Random::new(seed + len);
        let state = (random.next(), len);
        for _ in 0..6 {
            let operation = operation(&mut random);
            for k in 1.. {
                let panics = attack(state, operation, Caller::Drops, k);
                ledger.note(of[0], (operation, k), state);
                if !panics {
                    break;
                }
            }
            attack(state, operation, Caller::Forgets, 0);
            ledger.note(of[1], operation, state);
        }
    }
    ledger.report(at_least);
}

#[test]
fn a_space_over_the_red_black_tree_stays_whole_whatever_its_caller_does() {
    let of = ["vmspace::Space<Rbtree>", "vmspace::Freed"];
    attack_all(1000, of, attack::<Custom<Rbtree>>, 1500);
}

#[test]
fn a_space_over_the_b_tree_stays_whole_whatever_its_caller_does() {
    let of = ["vmspace::Space<Maple>", "vmspace::Freed"];
    attack_all(2000, of, attack::<Tiny>, 4000);
}

#[test]
fn a_space_beside_readers_stays_whole_whatever_its_caller_does() {
    let of = ["vmspace::Shared", "vmspace::Locked"];
    attack_all(3000, of, attack_beside, 4000);
}

/// Forks a space, with a panic at every call of user code in turn.
fn fork<C>(len: u64, ledger: &mut Ledger)
where
    C: Config<Index<Object>: Default>,
{
    let watch = Watch::new();
    let mut space: Space<Object, C> = Space::with_config(LAYOUT).expect("it is Linux's own");
    begin(&mut space, len, &mut Random::new(len), &watch);
    let there = contents(&space);
    for k in 1.. {
        let outcome = panic_at(k, || {
            let child = space.fork(|area| Ok::<_, Infallible>(area.value.clone()));
            let child = child.expect("there is memory");
            child.check().expect("the child is whole");
            assert_eq!(contents(&child), there);
        });
        ledger.note("vmspace::Space::fork", k, (len, type_name::<C>()));
        space.check().expect("the parent is whole");
        assert_eq!(contents(&space), there);
        match outcome {
            Outcome::Panicked(place) if may_leak(place) > 0 => return_to(&watch, &space),
            _ => assert_eq!(watch.alive(), space.len() as u64, "{outcome:?}"),
        }
        if outcome == Outcome::Done(()) {
            break;
        }
    }
}

/// Checks that at most two live values are outside of the space's areas.
fn return_to<C: Config>(watch: &Watch, space: &Space<Object, C>) {
    let more = watch.alive() - space.index().len() as u64;
    assert!(more <= 2, "{more} values are in no area");
}

#[test]
fn a_fork_that_panics_leaves_the_parent_and_drops_the_child() {
    let mut ledger = Ledger::new();
    for len in (0..=64).step_by(4) {
        fork::<Standard>(len, &mut ledger);
        fork::<Custom<Rbtree>>(len, &mut ledger);
        fork::<Tiny>(len, &mut ledger);
    }
    ledger.report(1000);
}
