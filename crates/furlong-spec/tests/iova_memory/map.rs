//! The same tests for the map.
#![forbid(unsafe_code)]

use furlong::addr::{Extent, Iova};
use furlong::check::Check;
use furlong::iova::{CUT_RANGE_NODES, Entries, InsertError, Map};
use furlong_spec::Random;

use super::tight::Tight;
use furlong_spec::heap::failing_at;

const ADDRESSES: u64 = 40;

type TightMap = Map<u64, Tight<Entries<u64>>>;
type Listed = Vec<(Extent<Iova>, u64)>;

fn list(map: &TightMap) -> Listed {
    map.check().expect("no invariant is broken");
    map.iter().map(|(at, value)| (at, *value)).collect()
}

/// A map with exactly as many nodes as entries.
fn tight(entries: &Listed) -> TightMap {
    let mut map = Map::new(Tight(Vec::new()));
    for (at, value) in entries {
        map.insert(*at, *value)
            .expect("it is free, and there is memory");
    }
    map
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    Insert(Extent<Iova>),
    CutRange(Extent<Iova>),
    UnmapRange(Extent<Iova>),
    Prepare(usize),
}

impl Operation {
    fn random(random: &mut Random) -> Self {
        let first = random.below(ADDRESSES);
        let len = 1 + random.below(9).min(ADDRESSES - 1 - first);
        let range = Extent::from_len(Iova::new(first), len).expect("a run");
        match random.below(10) {
            0..5 => Self::Insert(range),
            5..8 => Self::CutRange(range),
            8 => Self::UnmapRange(range),
            _ => Self::Prepare(random.index(9)),
        }
    }

    /// Runs the operation. Returns false if memory was short.
    fn apply(self, map: &mut TightMap) -> bool {
        let mut calls = 0;
        let had_memory = match self {
            Self::Insert(range) => match map.insert(range, 7) {
                Err(InsertError::NoMemory { value }) => value != 7,
                _ => true,
            },
            Self::CutRange(range) => {
                let split = |value, bytes| (value, value + bytes);
                map.cut_range(range, split, |_, _| calls += 1).is_ok()
            }
            Self::UnmapRange(range) => {
                let _ = map.unmap_range(range, |_, _| calls += 1);
                true
            }
            Self::Prepare(nodes) => map.prepare(nodes).is_ok(),
        };
        assert!(had_memory || calls == 0);
        had_memory
    }
}

#[test]
fn a_call_for_memory_that_fails_changes_no_map() {
    let mut random = Random::new(20);
    let mut failures = [0; 4];
    let mut entries = Listed::new();
    for step in 0..6000 {
        let operation = Operation::random(&mut random);
        for failing in 0.. {
            let mut map = tight(&entries);
            let (had_memory, calls) = failing_at(failing, || operation.apply(&mut map));
            let has_failed = failing < calls;
            assert_eq!(
                had_memory, !has_failed,
                "step {step}, call {failing}: {operation:?}"
            );
            let found = list(&map);
            if !has_failed {
                entries = found;
                break;
            }
            assert_eq!(found, entries, "step {step}, call {failing}: {operation:?}");
            failures[match operation {
                Operation::Insert(_) => 0,
                Operation::CutRange(_) => 1,
                Operation::Prepare(_) => 2,
                Operation::UnmapRange(_) => 3,
            }] += 1;
        }
    }
    assert!(
        failures[..3].iter().all(|count| *count > 20),
        "{failures:?} of each sort"
    );
    assert_eq!(failures[3], 0, "whole entries are removed without memory");
}

#[test]
fn what_was_prepared_is_enough_for_a_map() {
    let mut random = Random::new(21);
    let mut map = tight(&Listed::new());
    for step in 0..20_000 {
        let operation = Operation::random(&mut random);
        map.prepare(CUT_RANGE_NODES).expect("there is memory");
        if matches!(operation, Operation::Prepare(_)) {
            continue;
        }
        let (had_memory, calls) = failing_at(0, || operation.apply(&mut map));
        assert!(had_memory && calls == 0, "step {step}: {operation:?}");
        list(&map);
    }
}
