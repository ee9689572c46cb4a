//! Agreement of the statistics with published figures and with an independent implementation.
//!
//! `vectors/seed-vectors.json` has eighteen published comparisons, recomputed.
//! `vectors/expected-stats.json` has scipy's results for the files in `vectors/ministat`. Figures
//! agree to a relative 1e-9, p values to 1e-6.
#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};

use furlong_stats::describe::{Moments, describe};
use furlong_stats::distribution::t_upper;
use furlong_stats::rank::{mann_whitney, mann_whitney_asymptotic};
use furlong_stats::shift::hodges_lehmann;
use furlong_stats::student::Pooled;
use furlong_stats::value::{Better, TTest, Verdict};
use furlong_stats::verdict::{self, BLOCKS_MIN, Rule, Scale};
use furlong_stats::welch::Unpooled;
use serde_json::Value;

const FIGURE: f64 = 1e-9;
const P_VALUE: f64 = 1e-6;

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

fn load(name: &str) -> Vec<Value> {
    let text = fs::read_to_string(vectors().join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Collects the disagreements of one vector.
struct Check<'a> {
    name: String,
    wanted: &'a Value,
    wrong: Vec<String>,
    compared: usize,
}

impl<'a> Check<'a> {
    fn new(name: impl Into<String>, wanted: &'a Value) -> Self {
        Self {
            name: name.into(),
            wanted,
            wrong: vec![],
            compared: 0,
        }
    }

    /// Compares a figure with the value at a JSON pointer, if there is one.
    fn figure(&mut self, pointer: &str, found: f64) {
        self.within(pointer, found, FIGURE);
    }

    fn p_value(&mut self, pointer: &str, found: f64) {
        self.within(pointer, found, P_VALUE);
    }

    fn within(&mut self, pointer: &str, found: f64, relative: f64) {
        let Some(wanted) = self.wanted.pointer(pointer).and_then(Value::as_f64) else {
            return;
        };
        self.compared += 1;
        let agrees = (found - wanted).abs() <= relative * wanted.abs();
        if !agrees {
            self.wrong.push(format!(
                "{}{pointer}: {found:e} is not {wanted:e}",
                self.name
            ));
        }
    }

    fn t_test(&mut self, pointer: &str, found: Option<TTest>) {
        let found = found.unwrap();
        self.figure(&format!("{pointer}/t"), found.t);
        self.figure(&format!("{pointer}/df"), found.df);
        self.p_value(&format!("{pointer}/p"), found.p);
    }

    fn done(self, compared_min: usize) {
        assert!(self.wrong.is_empty(), "{:#?}", self.wrong);
        assert!(
            self.compared >= compared_min,
            "{}: only {} figures",
            self.name,
            self.compared
        );
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_f64().unwrap())
        .collect()
}

fn number(vector: &Value, field: &str) -> f64 {
    vector[field].as_f64().unwrap()
}

/// Baseline and candidate of a vector, in any of its forms.
fn moments(vector: &Value) -> [Moments; 2] {
    if vector["base"].is_array() {
        return ["base", "cand"].map(|side| Moments::of(&numbers(&vector[side])).unwrap());
    }
    if vector["name"].as_str().unwrap().starts_with("seed000") {
        return augmentation(vector["name"].as_str().unwrap());
    }
    let n = vector["n"].as_u64().unwrap() as usize;
    let of = |mean: f64, cv_pct: f64| Moments::published(n, mean, mean * cv_pct / 100.0);
    if vector["base_mean"].is_number() {
        let (base, cv_pct) = (number(vector, "base_mean"), numbers(&vector["cv_pct"]));
        let candidate = base * (1.0 + number(vector, "diff_pct") / 100.0);
        return [of(base, cv_pct[0]), of(candidate, cv_pct[1])];
    }
    ["without", "with"].map(|side| {
        let mean = number(vector, &format!("mean_{side}"));
        of(mean, number(vector, &format!("cv_pct_{side}")))
    })
}

/// Means and deviations of 64 values each, as in the first publication.
fn augmentation(name: &str) -> [Moments; 2] {
    let (old, new) = match name {
        "seed000 plain" => ((75.588_976, 0.496_969_97), (62.116_771, 0.444_063_53)),
        "seed000 ins" => ((46.293_999, 0.267_690_06), (42.098_5, 0.356_050_9)),
        "seed000 rem" => ((51.457_622, 0.410_260_87), (36.847_862, 0.195_451_71)),
        other => panic!("{other} has no published moments"),
    };
    [old, new].map(|(mean, sd)| Moments::published(64, mean, sd))
}

#[test]
fn published_comparisons_are_recomputed() {
    let vectors = load("seed-vectors.json");
    assert_eq!(vectors.len(), 18);
    for vector in &vectors {
        let mut check = Check::new(vector["name"].as_str().unwrap(), vector);
        let [a, b] = moments(vector);
        let (pooled, unpooled) = (Pooled::from_moments(a, b), Unpooled::from_moments(a, b));
        let pct = |value: f64| 100.0 * value / a.mean;
        check.figure("/diff", pooled.difference);
        check.figure("/diff_pct", pct(pooled.difference));
        check.t_test("/student", pooled.test());
        check.figure("/student/pooled_s", pooled.pooled_s);
        check.figure("/student/half95", pooled.half_width(0.95));
        check.figure("/student/half95_pct", pct(pooled.half_width(0.95)));
        check.t_test("/welch", unpooled.test());
        check.figure("/welch/half95", unpooled.half_width(0.95));
        check.figure("/welch/half95_pct", pct(unpooled.half_width(0.95)));
        let [low, high] = unpooled.interval(0.95);
        check.figure("/welch/ci95_pct/0", pct(low));
        check.figure("/welch/ci95_pct/1", pct(high));
        check.figure("/cv_pct/0", 100.0 * a.stddev() / a.mean);
        check.figure("/cv_pct/1", 100.0 * b.stddev() / b.mean);
        if vector["base"].is_array() {
            let found = mann_whitney(&numbers(&vector["base"]), &numbers(&vector["cand"]));
            check.p_value("/mwu_p_exact", found.p);
        }
        check.done(14);
    }
}

#[test]
fn published_comparisons_come_to_their_verdict_and_to_none_with_their_few_runs() {
    for vector in load("seed-vectors.json") {
        let name = vector["name"].as_str().unwrap();
        let better = if vector["higher_is_better"] == true || name.contains("throughput") {
            Better::Higher
        } else {
            Better::Lower
        };
        let margin = Scale::Log.distance(1.0);
        let rule = Rule {
            better,
            margin,
            control: verdict::Check::Passed,
        };
        let [a, b] = moments(&vector);
        let interval = Unpooled::from_moments(a, b)
            .interval(0.95)
            .map(|v| (v / a.mean).ln_1p());
        let wanted = match vector["verdict_delta1pct"].as_str().unwrap() {
            "KEEP" => Verdict::Keep,
            "NO-CHANGE(equivalent)" => Verdict::Equivalent,
            _ => Verdict::Inconclusive,
        };
        assert_eq!(rule.decide(interval, BLOCKS_MIN), wanted, "{name}");
        if a.n < BLOCKS_MIN {
            assert_eq!(rule.decide(interval, a.n), Verdict::Inconclusive, "{name}");
        }
    }
}

/// Half a unit in the last place of a printed number.
fn prints_as(found: f64, printed: &str) -> bool {
    let decimals = printed
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    let wanted: f64 = printed.parse().unwrap();
    (found - wanted).abs() <= 0.5 * 10.0_f64.powi(-(decimals as i32)) * (1.0 + 1e-9)
}

#[test]
fn lines_of_the_older_ministat_follow_from_its_table_and_its_formula() {
    let mut lines = 0;
    for vector in load("seed-vectors.json")
        .iter()
        .filter(|v| v["ministat"].is_array())
    {
        let [a, b] = moments(vector);
        let pooled = Pooled::from_moments(a, b);
        // Its table ends at 100 degrees of freedom; beyond that it uses the normal quantile.
        let half = number(vector, "ministat_table_t") * pooled.standard_error;
        let pct = |value: f64| 100.0 * value / a.mean;
        let found = [
            pooled.difference,
            half,
            pct(pooled.difference),
            pct(half),
            pooled.pooled_s,
        ];
        for field in ["ministat", "published"] {
            let printed: Vec<&str> = vector[field]
                .as_array()
                .unwrap()
                .iter()
                .flat_map(|line| line.as_str().unwrap().split(" +/- "))
                .map(|text| text.trim_end_matches('%'))
                .collect();
            assert_eq!(printed.len(), found.len());
            for (found, printed) in found.iter().zip(printed) {
                assert!(prints_as(*found, printed), "{found} is not {printed}");
                lines += 1;
            }
        }
        assert!(half < pooled.half_width(0.95), "the table is too narrow");
    }
    assert_eq!(lines, 3 * 2 * 5);
}

#[test]
fn published_statistics_of_the_batched_tier_are_right_to_rounding() {
    for vector in load("seed-vectors.json")
        .iter()
        .filter(|v| v["published"]["t"].is_number())
    {
        let [a, b] = moments(vector);
        let found = Unpooled::from_moments(a, b).test().unwrap();
        let published = &vector["published"];
        assert!(
            (found.t.abs() - number(published, "t")).abs() < 0.011,
            "{vector}"
        );
        assert!(
            (found.df - number(published, "df")).abs() < 0.041,
            "{vector}"
        );
        assert!(
            (number(published, "pct") - number(vector, "diff_pct")).abs() < 0.005,
            "{vector}"
        );
        assert!(t_upper(0.025, found.df) < found.t.abs(), "{vector}");
    }
}

/// A file of the vector, if the vector has files.
fn sample(vector: &Value, side: &str) -> Option<Vec<f64>> {
    let folder = vectors()
        .join("ministat")
        .join(vector["vector"].as_str().unwrap());
    let text = fs::read_to_string(folder.join(vector[side].as_str().unwrap())).ok()?;
    Some(
        text.split_whitespace()
            .map(|word| word.parse().unwrap())
            .collect(),
    )
}

#[test]
fn files_of_numbers_agree_with_an_independent_implementation() {
    let mut with_files = 0;
    for vector in &load("expected-stats.json") {
        let mut check = Check::new(format!("{} {}", vector["vector"], vector["cand"]), vector);
        let samples = sample(vector, "base").zip(sample(vector, "cand"));
        let of = |i: usize| {
            let part = |field: &str| vector[field][i].as_f64().unwrap();
            Moments::published(
                vector["n"][i].as_u64().unwrap() as usize,
                part("mean"),
                part("sd"),
            )
        };
        let (a, b) = match &samples {
            Some((a, b)) => (Moments::of(a).unwrap(), Moments::of(b).unwrap()),
            // The files of one vector are lost, but not its moments.
            None => (of(0), of(1)),
        };
        means(&mut check, a, b);
        if let Some((a, b)) = &samples {
            with_files += 1;
            ranks(&mut check, a, b);
        }
        check.done(if samples.is_some() { 27 } else { 13 });
    }
    assert_eq!(with_files, 9);
}

fn means(check: &mut Check<'_>, a: Moments, b: Moments) {
    let (pooled, unpooled) = (Pooled::from_moments(a, b), Unpooled::from_moments(a, b));
    for (i, side) in [a, b].iter().enumerate() {
        check.figure(&format!("/n/{i}"), side.n as f64);
        check.figure(&format!("/mean/{i}"), side.mean);
        check.figure(&format!("/sd/{i}"), side.stddev());
        check.figure(&format!("/cv_pct/{i}"), 100.0 * side.stddev() / side.mean);
    }
    check.figure("/diff", pooled.difference);
    check.figure("/diff_pct", 100.0 * pooled.difference / a.mean);
    check.t_test("/student", pooled.test());
    check.figure("/student/pooled_s", pooled.pooled_s);
    check.figure("/student/half95", pooled.half_width(0.95));
    check.t_test("/welch", unpooled.test());
    let [low, high] = unpooled.interval(0.95);
    check.figure("/welch/ci95/0", low);
    check.figure("/welch/ci95/1", high);
}

fn ranks(check: &mut Check<'_>, a: &[f64], b: &[f64]) {
    for (i, side) in [a, b].iter().enumerate() {
        check.figure(&format!("/median/{i}"), describe(side).unwrap().median);
        check.figure(&format!("/mean/{i}"), describe(side).unwrap().mean);
    }
    let (found, asymptotic) = (mann_whitney(a, b), mann_whitney_asymptotic(a, b));
    check.figure("/mwu/U_cand", found.u);
    check.p_value("/mwu/p_asymptotic_cc", asymptotic.p);
    check.p_value("/mwu/p_exact_no_ties", found.p);
    check.p_value("/mwu/p_exact_permutation_midranks", found.p);
    check.figure(
        "/prob_superiority_cand_gt_base",
        found.u / (a.len() * b.len()) as f64,
    );
    check.figure("/hodges_lehmann_shift", hodges_lehmann(a, b).unwrap());
    let large = check.wanted["mwu"]["p_exact_permutation_midranks"].is_null();
    assert_eq!(found.p == asymptotic.p, large, "{}", check.name);
}
