use super::forecast::sizes_at;
use super::{Forecast, Outcome, Recording};
use crate::replay::parse;
use furlong_experiments::malloc_suite::{Candidate, Pace};

fn forecast(name: &str, peak_kib: u64, calls_ms: f64) -> Forecast {
    Forecast {
        name: name.to_owned(),
        peak_kib,
        calls_ms,
        ..Forecast::default()
    }
}

fn outcome(forecasts: &[(&str, u64, f64)], busy_ms: f64) -> Outcome {
    let forecasts = forecasts.iter();
    let forecasts = forecasts.map(|(name, peak, calls)| forecast(name, *peak, *calls));
    Outcome::new(
        "ls".to_owned(),
        String::new(),
        busy_ms,
        forecasts.collect(),
        0,
    )
}

#[test]
fn the_smallest_peak_is_chosen_unless_its_calls_are_dear() {
    let all = [
        ("own", 100_000, 10.0),
        ("slow", 50_000, 33.0),
        ("good", 70_000, 20.0),
        ("fast", 90_000, 1.0),
    ];
    let outcome = outcome(&all, 1000.0);
    assert_eq!(outcome.choice.name, "good");
    assert_eq!(outcome.candidates[0].name, "slow", "sorted by peak");
    let expected = "Use good: it saves 30 % of the peak of own, which is 29.3 MiB, and its calls \
                    take 10.0 ms more (1.0 % of the processor time).";
    assert_eq!(outcome.choice.sentence, expected);
}

#[test]
fn little_memory_is_not_worth_a_change() {
    for (peak, calls) in [(95_100, 1.0), (100_000, 0.1), (94_000, 40.0)] {
        let outcome = outcome(&[("own", 100_000, 10.0), ("other", peak, calls)], 1000.0);
        assert_eq!(outcome.choice.name, "own");
        assert!(outcome.choice.sentence.starts_with("Stay with own: "));
    }
    let small = outcome(&[("own", 3000, 10.0), ("other", 2000, 1.0)], 1000.0);
    assert_eq!(small.choice.name, "own", "less than 1 MiB");
}

#[test]
fn an_allocator_that_cannot_run_the_recording_is_not_chosen() {
    let mut broken = forecast("broken", 0, 0.0);
    broken.na = Some("exit code 1".to_owned());
    let all = vec![forecast("own", 100_000, 10.0), broken];
    let outcome = Outcome::new("ls".to_owned(), String::new(), 1000.0, all, 0);
    assert_eq!(outcome.choice.name, "own");
    assert_eq!(outcome.candidates[1].name, "broken", "the last one");
}

#[test]
fn without_a_replay_of_the_present_allocator_there_is_no_advice() {
    let mut broken = forecast("broken", 100_000, 0.0);
    broken.na = Some("exit code 1".to_owned());
    let all = vec![broken, forecast("other", 5000, 0.0)];
    let outcome = Outcome::new("ls".to_owned(), String::new(), 1000.0, all, 0);
    let choice = outcome.choice;
    assert!(
        choice
            .sentence
            .starts_with("No advice: the replay with broken"),
        "{choice:?}"
    );
}

#[test]
fn the_present_allocator_is_the_first_preloaded_one_with_its_setting() {
    let home = tempfile::tempdir().unwrap();
    let candidate = |allocator: &'static str, setting| {
        let file = home.path().join(format!("lib{allocator}.so.2"));
        std::fs::write(&file, allocator).unwrap();
        Candidate {
            allocator,
            setting,
            file,
        }
    };
    let once = ("MALLOC_ARENA_MAX", "1");
    let all = [
        candidate("glibc", None),
        candidate("glibc", Some(once)),
        candidate("jemalloc", None),
    ];
    let (script, _) = parse(b"p\nm 40\no 1 0 5\n");
    let linked = super::file(&all[0].file);
    let recording = Recording::of(script, &[linked], vec![]).unwrap();
    let present = |preload: &str, arenas: &str| {
        let value = |name: &str| match name {
            "LD_PRELOAD" => Some(preload.to_owned()),
            "MALLOC_ARENA_MAX" => Some(arenas.to_owned()),
            _ => None,
        };
        recording.present_with(&all, value)
    };
    let jemalloc = all[2].file.display();
    for preload in [
        "libjemalloc.so.2".to_owned(),
        format!("/lib/other.so:{jemalloc}"),
        format!("/lib/other.so {jemalloc}"),
    ] {
        assert_eq!(present(&preload, "1"), Some(2), "{preload}");
    }
    for (arenas, place) in [("", 0), ("2", 0), ("1", 1)] {
        assert_eq!(present("/lib/other.so", arenas), Some(place), "{arenas}");
    }
}

/// A step of a kind on a slot.
fn step(kind: u8, slot: u32, size: u64) -> [u8; 24] {
    let mut step = [0; 24];
    step[4..8].copy_from_slice(&slot.to_le_bytes());
    step[12] = kind;
    step[16..].copy_from_slice(&size.to_le_bytes());
    step
}

#[test]
fn blocks_at_the_peak_are_those_that_are_live_there() {
    let steps = [
        step(0, 0, 24),
        step(1, 1, 24),
        step(0, 2, 100),
        step(5, 2, 7),
        step(2, 0, 0),
        step(3, 2, 50),
        step(6, 0, 0),
    ];
    assert_eq!(sizes_at(steps.as_flattened()), [[24, 1], [50, 1]]);
}

#[test]
fn the_process_with_the_most_memory_is_replayed_at_its_own_pace_unless_that_is_long() {
    let text = "p\nm 900\no 1 0 5\np\nt 1\nm 40\nm 40\nm 700\no 9000 0 5\no 500 20000000000 6\n\
                p\nm 100000\n";
    let (script, fault) = parse(text.as_bytes());
    assert_eq!(fault, None);
    let allocators = [None, Some([1, 2]), None];
    let recording = Recording::of(script, &allocators, vec![]).unwrap();
    assert_eq!(
        recording.sizes,
        [[40, 2], [700, 1]],
        "the last one has no sample"
    );
    assert_eq!(recording.allocator, Some([1, 2]));
    assert_eq!(
        recording.steps.len(),
        (3 + 2 + 1 + 2) * 24,
        "calls, samples, end, sizes"
    );
    assert_eq!(recording.pace(), Pace::Recorded);
    let (script, _) = parse(b"p\nm 900\no 1 0 5\no 1 20000000001 5\n");
    assert_eq!(
        Recording::of(script, &[None], vec![]).unwrap().pace(),
        Pace::Full
    );
    let (script, _) = parse(b"p\nm 900\n");
    assert!(Recording::of(script, &[None], vec![]).is_none());
}
