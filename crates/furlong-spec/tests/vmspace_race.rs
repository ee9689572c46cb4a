//! Lock-free looks concurrent with a writer that never pauses. Every result was true at some time
//! during its look. `examples/vmspace_race.rs` runs more.
#![forbid(unsafe_code)]

use furlong_spec::vmspace::race::{Nodes, Race, Tally};

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
