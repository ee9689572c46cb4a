//! Judges the change points by the Turing Change Point Dataset, which people have annotated, and by
//! noise without changes. The metrics are those of van den Burg and Williams (2020).
//!
//! `git clone https://github.com/alan-turing-institute/TCPD`, then
//! `cargo run --release -p furlong-stats --example change_points -- TCPD`
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "its answer")]

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::ops::Range;
use std::path::Path;
use std::time::Instant;
use std::{env, fs};

use furlong_stats::change::changes;
use furlong_stats::random::Random;
use furlong_stats::simulation::correlated;
use serde_json::Value;

/// Greatest distance of a change that is found from the annotated one.
const MARGIN: usize = 5;

/// Series of noise of each kind.
const SERIES: u64 = 2000;

/// Series whose time is measured.
const SLOW: u64 = 50;

/// The changes that each annotator sees.
type Annotations = Vec<BTreeSet<usize>>;

/// Adds the start of the series, which counts as a change in F1.
fn with_start(changes: &BTreeSet<usize>) -> BTreeSet<usize> {
    changes.iter().copied().chain([0]).collect()
}

/// The number of `wanted` that are near one of `found`, each of which counts once.
fn hits(wanted: &BTreeSet<usize>, found: &BTreeSet<usize>) -> f64 {
    let mut found = found.clone();
    let mut hits = 0.0;
    for at in wanted {
        let near = found.range(at.saturating_sub(MARGIN)..=at + MARGIN);
        if let Some(near) = near.min_by_key(|near| near.abs_diff(*at)).copied() {
            found.remove(&near);
            hits += 1.0;
        }
    }
    hits
}

/// Precision on the changes that anyone sees, and mean recall of those that each one sees.
fn f1(annotations: &Annotations, found: &BTreeSet<usize>) -> f64 {
    let found = with_start(found);
    let all = annotations.iter().map(with_start);
    let recall = |own: BTreeSet<usize>| hits(&own, &found) / own.len() as f64;
    let recall = all.clone().map(recall).sum::<f64>() / annotations.len() as f64;
    let precision = hits(&all.flatten().collect(), &found) / found.len() as f64;
    2.0 * precision * recall / (precision + recall)
}

fn segments(changes: &BTreeSet<usize>, n: usize) -> Vec<Range<usize>> {
    let starts: Vec<usize> = with_start(changes).into_iter().collect();
    let ends = starts.iter().skip(1).copied().chain([n]);
    starts
        .iter()
        .zip(ends)
        .map(|(from, to)| *from..to)
        .collect()
}

/// The mean over annotators and values of the best Jaccard index of the value's segment.
fn cover(annotations: &Annotations, found: &BTreeSet<usize>, n: usize) -> f64 {
    let found = segments(found, n);
    let index = |a: &Range<usize>, b: &Range<usize>| {
        let common = a.end.min(b.end).saturating_sub(a.start.max(b.start));
        common as f64 / (a.len() + b.len() - common) as f64
    };
    let of = |own: &BTreeSet<usize>| -> f64 {
        let best = |one: &Range<usize>| found.iter().map(|b| index(one, b)).fold(0.0, f64::max);
        let own = segments(own, n);
        own.iter().map(|one| one.len() as f64 * best(one)).sum()
    };
    annotations.iter().map(of).sum::<f64>() / (annotations.len() * n) as f64
}

/// F1 and cover.
type Scores = [f64; 2];

/// A judged series.
struct Judged {
    has_all_values: bool,
    found: Scores,
    /// Those of no change anywhere.
    none: Scores,
}

fn mean(of: &str, scores: impl Iterator<Item = Scores>) {
    let scores: Vec<Scores> = scores.collect();
    let sum = |metric: usize| -> f64 { scores.iter().map(|score| score[metric]).sum() };
    let [f1, cover] = [0, 1].map(|metric| sum(metric) / scores.len() as f64);
    println!("{of:20} {:6}  {f1:.3}  {cover:.3}", scores.len());
}

/// Judges each series that is there.
fn dataset(folder: &Path) -> Result<(), Box<dyn Error>> {
    let text = fs::read_to_string(folder.join("annotations.json"))?;
    let annotations: BTreeMap<String, BTreeMap<String, BTreeSet<usize>>> =
        serde_json::from_str(&text)?;
    let mut judged = vec![];
    let mut absent = vec![];
    println!(
        "{:20} {:>6}  {:>5}  {:>5}  changes",
        "series", "values", "F1", "cover"
    );
    for (name, annotations) in annotations {
        let path = folder
            .join("datasets")
            .join(&name)
            .join(format!("{name}.json"));
        let Ok(text) = fs::read_to_string(path) else {
            absent.push(name);
            continue;
        };
        let series: Value = serde_json::from_str(&text)?;
        let [only] = series["series"].as_array().map_or(&[][..], Vec::as_slice) else {
            absent.push(format!("{name} (several variables)"));
            continue;
        };
        let values = only["raw"].as_array().ok_or("a series has no values")?;
        // A missing value is left out.
        let present = values.iter().enumerate();
        let present = present.filter_map(|(place, value)| Some((place, value.as_f64()?)));
        let (places, present): (Vec<usize>, Vec<f64>) = present.unzip();
        let found = changes(&present);
        let found: BTreeSet<usize> = found.iter().map(|change| places[change.at]).collect();
        let annotations: Annotations = annotations.into_values().collect();
        let n = values.len();
        let score = |found| [f1(&annotations, found), cover(&annotations, found, n)];
        let [f1, cover] = score(&found);
        println!("{name:20} {n:6}  {f1:.3}  {cover:.3}  {found:?}");
        judged.push(Judged {
            has_all_values: present.len() == n,
            found: [f1, cover],
            none: score(&BTreeSet::new()),
        });
    }
    let complete = judged.iter().filter(|one| one.has_all_values);
    mean("mean", judged.iter().map(|one| one.found));
    mean("no value missing", complete.clone().map(|one| one.found));
    mean("if none were found", complete.map(|one| one.none));
    println!("not there: {}", absent.join(", "));
    Ok(())
}

/// Noise whose neighbours have the correlation `lag1`.
fn noise(seed: u64, n: usize, lag1: f64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let mut next = correlated(lag1, &mut random);
    (0..n).map(|_| next(&mut random)).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args().nth(1).ok_or("give the folder of the dataset")?;
    dataset(Path::new(&folder))?;
    println!("\nseries of noise with a change, of {SERIES}");
    println!("{:>6}  white  {:>5}  {:>5}  {:>5}", "values", 0.3, 0.6, 0.9);
    for n in [10, 20, 50, 100, 500] {
        let alarms = [0.0, 0.3, 0.6, 0.9].map(|lag1| {
            let alarms = (0..SERIES).filter(|seed| !changes(&noise(*seed, n, lag1)).is_empty());
            100.0 * alarms.count() as f64 / SERIES as f64
        });
        println!(
            "{n:6}{}",
            alarms.map(|share| format!("  {share:4.1}%")).concat()
        );
    }
    let seen = (0..SERIES).filter(|seed| {
        let mut values = noise(*seed, 60, 0.0);
        values[30..].iter_mut().for_each(|value| *value += 2.0);
        !changes(&values).is_empty()
    });
    let seen = 100.0 * seen.count() as f64 / SERIES as f64;
    println!("\na step of two deviations after 30 of 60 values is found in {seen:.1}%");
    // The more splits, the longer: a random walk has the most.
    let walks: Vec<Vec<f64>> = (0..SLOW).map(|seed| noise(seed, 1000, 0.999)).collect();
    let begun = Instant::now();
    let found: usize = walks.iter().map(|walk| changes(walk).len()).sum();
    let [each_ms, found] =
        [begun.elapsed().as_secs_f64() * 1e3, found as f64].map(|all| all / SLOW as f64);
    println!("a random walk of 1,000 values: {found:.1} changes, {each_ms:.1} ms");
    Ok(())
}
