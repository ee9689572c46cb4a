//! Lines of Go's benchmarks: keys with values, then benchmarks with pairs of a value and a unit.

use std::collections::{BTreeMap, BTreeSet};

use super::{Foreign, Tool};
use crate::model::result::Better;

/// True if a text has a benchmark's line, or a key as at the start of such files.
pub(super) fn is_go(text: &str) -> bool {
    text.lines().any(|line| benchmark(line).is_some())
        || text
            .lines()
            .next()
            .is_some_and(|line| line.starts_with("goos: "))
}

/// A benchmark's line.
struct Line<'a> {
    name: &'a str,
    /// Values with their units.
    figures: Vec<(f64, &'a str)>,
}

fn benchmark(line: &str) -> Option<Line<'_>> {
    let mut words = line.split_whitespace();
    let name = words.next()?.strip_prefix("Benchmark")?;
    let _iterations: u64 = words.next()?.parse().ok()?;
    let rest: Vec<&str> = words.collect();
    let pairs = rest.chunks_exact(2);
    let figures = pairs.map(|pair| Some((pair[0].parse().ok()?, pair[1])));
    let figures: Vec<(f64, &str)> = figures.collect::<Option<_>>()?;
    (!figures.is_empty()).then_some(Line { name, figures })
}

/// `key: value`; the key is in lower case.
fn key(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let small = |letter: char| !letter.is_whitespace() && !letter.is_uppercase();
    let is_key = key.starts_with(|letter: char| letter.is_lowercase()) && key.chars().all(small);
    is_key.then(|| (key, value.trim()))
}

/// The direction of a unit: `Unit ns/key better=lower`.
fn direction(line: &str) -> Option<(&str, Better)> {
    let mut words = line.strip_prefix("Unit ")?.split_whitespace();
    let unit = words.next()?;
    let better = words.find_map(|word| word.strip_prefix("better="))?;
    match better {
        "lower" => Some((unit, Better::Lower)),
        "higher" => Some((unit, Better::Higher)),
        _ => None,
    }
}

/// The most keys that are kept, far more than benchmarks write.
const KEYS_MAX: usize = 64;

/// A series for each benchmark and unit.
pub(super) fn read(text: &str) -> Foreign {
    let mut foreign = Foreign::new(Tool::Go);
    let mut keys: BTreeMap<&str, &str> = BTreeMap::new();
    let mut seen: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut lines = vec![];
    for line in text.lines() {
        if let Some(line) = benchmark(line) {
            for (key, value) in &keys {
                seen.entry(key).or_default().insert(value);
            }
            lines.push((line, keys.clone()));
        } else if let Some((unit, better)) = direction(line) {
            foreign.better.insert(unit.to_owned(), better);
        } else if let Some((key, value)) = key(line)
            && (keys.len() < KEYS_MAX || keys.contains_key(key))
        {
            keys.insert(key, value);
        }
    }
    foreign.origin.cpu = keys.get("cpu").map(|&cpu| cpu.to_owned());
    for (line, keys) in &lines {
        let changing = keys.iter().filter(|(key, _)| seen[*key].len() > 1);
        let told: String = changing
            .map(|(key, value)| format!(" {key}:{value}"))
            .collect();
        for (value, unit) in &line.figures {
            foreign.add(&format!("{}{told}", line.name), unit, *value);
        }
    }
    foreign
}
