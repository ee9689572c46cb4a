//! Lookups concurrent with a writer that never pauses. Every result was true at some time during
//! its lookup.
//!
//! Runs some two million lookups; `examples/phys_race.rs` runs more.

use furlong_spec::phys::race::{Found, Meddling, Race, Tally};

fn race(readers: u64, lookups: u64, seed: u64) -> Race {
    Race {
        lookups,
        lookups_per_table: 200_000,
        readers,
        seed,
    }
}

/// Runs a race, which must have no error. Returns true if enough happened to detect errors.
fn is_a_race(race: &Race) -> bool {
    let tally: Tally = race.run().unwrap_or_else(|wrong| panic!("{wrong}"));
    let (lookups, changes) = (tally.lookups, tally.changes);
    assert!(lookups.right >= race.lookups, "{tally}");
    let has_changed = changes.plugged > 1000 && changes.unplugged > 1000 && changes.aborted > 100;
    let has_found = lookups.found > lookups.right / 8 && lookups.unjudged < lookups.right / 100;
    has_changed && has_found && lookups.raced > 0
}

/// Races until lookups have overlapped changes. On a busy machine, where one side may hardly run,
/// that can take several races.
fn races(readers: u64, lookups: u64) {
    let mut seeds = (readers..).step_by(8).take(50);
    let met = seeds.any(|seed| is_a_race(&race(readers, lookups, seed)));
    assert!(met, "too little happened in each of 50 races");
}

#[test]
fn a_reader_beside_a_writer_finds_only_what_is_true() {
    races(1, 800_000);
}

#[test]
fn readers_beside_a_writer_find_only_what_is_true() {
    races(2, 1_200_000);
}

#[test]
fn a_wrong_answer_is_told_from_right_ones() {
    let tampers: [fn(Found) -> Found; 4] = [
        |found| match found {
            Found::Segment(Some((id, offset))) => Found::Segment(Some((id, offset + 1))),
            other => other,
        },
        |found| match found {
            Found::Segment(Some((id, offset))) => Found::Segment(Some((id ^ 2, offset))),
            other => other,
        },
        |found| match found {
            Found::Page(Some((frame, plug))) => Found::Page(Some((frame, plug + 1))),
            other => other,
        },
        |found| match found {
            Found::Page(Some(_)) => Found::Page(None),
            other => other,
        },
    ];
    for tamper in tampers {
        let meddling = Meddling {
            tamper,
            ..Meddling::NONE
        };
        let wrong = race(1, 100_000, 1).run_with(meddling).unwrap_err();
        assert!(wrong.starts_with("seed "), "{wrong}");
    }
}
