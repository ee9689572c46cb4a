//! `tree-order`: ordered maps at one key in, one key out.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;
use std::time::{Duration, Instant};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::{Arm, Experiment, Failure, Outcome, Plan, Request};

const PLAN: &str = include_str!("../../../../experiments/tree-order/plan.toml");

/// Distance of two neighbouring keys: one page and a gap of one page.
const STRIDE: u64 = 2 * 4096;

/// The experiment.
///
/// # Panics
///
/// The plan that is compiled in contradicts itself.
#[must_use]
pub fn experiment() -> Experiment {
    let plan = Plan::parse(PLAN).unwrap_or_else(|wrong| panic!("{wrong}"));
    let arm = |name| Arm {
        name,
        run,
        na: |_| None,
    };
    Experiment {
        plan,
        arms: vec![arm("btreemap"), arm("btreemap-again")],
    }
}

/// Everything that is known before the clock starts.
struct Input {
    /// In the order in which they are taken.
    keys: Vec<u64>,
    /// Indexes into `keys` for toggling.
    picks: Vec<u32>,
}

fn input(request: &Request) -> Result<Input, Failure> {
    let nodes = *request.workload.params.get("nodes").unwrap_or(&65_536);
    let nodes = u32::try_from(nodes).ok().filter(|nodes| *nodes > 1);
    let nodes = nodes.ok_or_else(|| Failure("nodes must be from 2 to 2^32 - 1".to_owned()))?;
    let mut random = ChaCha8Rng::seed_from_u64(request.seed);
    let mut keys: Vec<u64> = (0..u64::from(nodes)).map(|place| place * STRIDE).collect();
    for end in (1..keys.len()).rev() {
        keys.swap(end, (random.next_u64() % (end as u64 + 1)) as usize);
    }
    let picks = (0..nodes).map(|_| random.next_u32() % nodes).collect();
    Ok(Input { keys, picks })
}

fn run(request: &Request) -> Result<Outcome, Failure> {
    let input = input(request)?;
    let round: fn(&mut BTreeMap<u64, u64>, &Input, &BTreeMap<u64, u64>) -> u64 =
        match request.workload.name.as_str() {
            "plain" => toggle,
            "ins" => insert,
            "rem" => remove,
            other => return Err(Failure(format!("no such workload: {other}"))),
        };
    let full: BTreeMap<u64, u64> = input.keys.iter().map(|key| (*key, key ^ 1)).collect();
    let mut map = BTreeMap::new();
    if request.workload.name == "plain" {
        map = input
            .keys
            .iter()
            .step_by(2)
            .map(|key| (*key, key ^ 1))
            .collect();
    }
    let (mut operations, mut elapsed, mut digest) = (0, Duration::ZERO, 0_u64);
    while operations < request.operations.max(1) {
        match request.workload.name.as_str() {
            "ins" => map.clear(),
            "rem" => map.clone_from(&full),
            _ => {}
        }
        let start = Instant::now();
        let answer = round(black_box(&mut map), &input, &full);
        elapsed += start.elapsed();
        operations += input.keys.len() as u64;
        digest = digest.rotate_left(5) ^ answer;
    }
    let left: BTreeSet<u64> = map.keys().copied().collect();
    digest ^= left
        .iter()
        .fold(0, |sum: u64, key| sum.rotate_left(1) ^ key);
    let ns = elapsed.as_secs_f64() * 1e9 / operations as f64;
    let metrics = [("time_ns_per_op".to_owned(), ns)].into();
    Ok(Outcome {
        metrics,
        operations,
        elapsed_s: elapsed.as_secs_f64(),
        digest,
    })
}

fn toggle(map: &mut BTreeMap<u64, u64>, input: &Input, _full: &BTreeMap<u64, u64>) -> u64 {
    let mut removed = 0;
    for pick in &input.picks {
        let key = input.keys[*pick as usize];
        match map.remove(&key) {
            Some(value) => removed += value,
            None => drop(map.insert(key, key ^ 1)),
        }
    }
    removed
}

fn insert(map: &mut BTreeMap<u64, u64>, input: &Input, _full: &BTreeMap<u64, u64>) -> u64 {
    for key in &input.keys {
        map.insert(*key, key ^ 1);
    }
    map.len() as u64
}

fn remove(map: &mut BTreeMap<u64, u64>, input: &Input, _full: &BTreeMap<u64, u64>) -> u64 {
    input
        .keys
        .iter()
        .filter_map(|key| map.remove(key))
        .fold(0, u64::wrapping_add)
}
