//! Lock-free looks concurrent with a writer that never pauses. Every result was true at some time
//! during its look. `examples/vmspace_race.rs` runs more.

use furlong::addr::VirtAddr;
use furlong::rcu::Domain;
use furlong::sync::SpinLock;
use furlong::vmspace::{At, Layout, Prot, Request, Shared};
use furlong_spec::vmspace::race::{Nodes, Race, Tally};

const FIRST: u64 = 0x10_0000;
const PAGE: u64 = 4096;

/// Runs a race, which must have no error. Returns true if enough happened to detect errors.
fn is_a_race(race: &Race) -> bool {
    let tally: Tally = race.run().unwrap_or_else(|wrong| panic!("{wrong}"));
    let (looks, changes) = (tally.looks, tally.changes);
    assert!(looks.right >= race.looks, "{tally}");
    let fewest = [
        changes.mapped,
        changes.unmapped,
        changes.protected,
        changes.moved,
    ];
    let has_changed = fewest.into_iter().all(|count| count > 100) && changes.grown > 0;
    let has_found = looks.found > looks.right / 8 && looks.unjudged < looks.right / 100;
    has_changed && has_found && looks.raced > 0 && looks.locked > 0
}

/// Races until looks have overlapped changes. On a busy machine, where one side may hardly run,
/// that can take several races.
fn race(nodes: Nodes, looks: u64, readers: u64, seed: u64) {
    let mut seeds = (seed..).step_by(8).take(50);
    let met = seeds.any(|seed| is_a_race(&Race::new(nodes, looks, readers, seed)));
    assert!(met, "too little happened in each of 50 races");
}

#[test]
fn a_reader_beside_a_writer_sees_only_what_is_true() {
    race(Nodes::Usual, 400_000, 1, 1);
    race(Nodes::Tiny, 400_000, 1, 2);
}

#[test]
fn readers_beside_a_writer_see_only_what_is_true() {
    race(Nodes::Usual, 600_000, 2, 3);
    race(Nodes::Tiny, 600_000, 2, 4);
}

#[test]
fn a_look_that_is_wrong_is_told_from_right_ones() {
    // Another object; another protection; an area that is a page too long; one with another start.
    let tampers: [fn(u64) -> u64; 4] = [
        |word| word ^ 4 << 48,
        |word| word ^ 1 << 24,
        |word| word ^ 1,
        |word| word ^ 1 << 8,
    ];
    for tamper in tampers {
        let race = Race {
            tamper,
            ..Race::new(Nodes::Usual, 100_000, 1, 5)
        };
        let wrong = race.run().unwrap_err();
        assert!(wrong.starts_with("seed 5: "), "{wrong}");
    }
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
    // What was unmapped and mapped again is the same to the last page, and was gone meanwhile.
    let again = |page: u64| {
        unmap(page);
        map(page, 1, 2);
    };
    touch(&|| map(9, 1, 2), true);
    touch(&|| map(8, 1, 2), true);
    touch(&|| again(8), true);
    touch(&|| again(9), true);
    touch(&|| again(11), true);
    touch(&|| map(8, 4, 2), true);
    touch(&|| space.lock().clear(drop), true);
    let protects = || {
        let done = space.lock().protect(at(8), 4 * PAGE, Prot::ALL, drop);
        done.expect("it is mapped");
    };
    touch(&protects, true);
    assert!(space.look(&reader.enter(), at(30)).is_none());
}
