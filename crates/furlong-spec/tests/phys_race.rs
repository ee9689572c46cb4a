//! Lookups beside a writer that never pauses: no answer that was not true at a moment of the call.
//!
//! Some two million lookups; `examples/phys_race.rs` makes as many as one likes.
#![forbid(unsafe_code)]

use furlong_spec::phys::race::{Found, Meddling, Race, Tally};

fn race(readers: u64, lookups: u64) -> Race {
    Race {
        lookups,
        lookups_per_table: 200_000,
        readers,
        seed: readers,
    }
}

/// Nothing was wrong, and enough happened for something to be wrong.
fn is_a_race(tally: &Tally) {
    let lookups = tally.lookups;
    assert!(lookups.found > lookups.right / 8, "{tally}");
    assert!(lookups.raced > 0, "{tally}");
    assert!(lookups.unjudged < lookups.right / 100, "{tally}");
    let changes = tally.changes;
    assert!(
        changes.plugged > 1000 && changes.unplugged > 1000,
        "{tally}"
    );
    assert!(changes.aborted > 100, "{tally}");
}

#[test]
fn a_reader_beside_a_writer_finds_only_what_is_true() {
    let tally = race(1, 800_000)
        .run()
        .unwrap_or_else(|wrong| panic!("{wrong}"));
    is_a_race(&tally);
}

#[test]
fn readers_beside_a_writer_find_only_what_is_true() {
    let tally = race(2, 1_200_000)
        .run()
        .unwrap_or_else(|wrong| panic!("{wrong}"));
    is_a_race(&tally);
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
        let wrong = race(1, 100_000).run_with(meddling).unwrap_err();
        assert!(wrong.starts_with("seed "), "{wrong}");
    }
}
