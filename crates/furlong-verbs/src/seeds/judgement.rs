//! Correct tests of the documents' figures.

use serde::Serialize;

use super::document::{Claim, Document, Evidence};
use furlong_lab::model::result::{Better, Verdict};
use furlong_stats::describe::{Moments, mean};
use furlong_stats::distribution::f_sf;
use furlong_stats::holm::adjust;
use furlong_stats::rank::{least_p, mann_whitney};
use furlong_stats::student::Pooled;
use furlong_stats::verdict::{BLOCKS_MIN, Check, Rule, Scale};
use furlong_stats::welch::Unpooled;

/// Margin in per cent: a smaller difference does not matter. The documents declare no other.
pub const MARGIN_PCT: f64 = 1.0;

/// Result of a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// Two samples, compared.
    Tested(Tested),
    /// A ratio of exact counts, in per cent.
    Exact(f64),
    /// A difference in per cent, without a measure of its variance.
    Untestable(f64),
    /// Nanoseconds per operation, from a single run.
    Once(f64),
}

/// Two samples, compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tested {
    /// Runs of each.
    pub n: usize,
    /// Difference of the means, in per cent of the base's.
    pub effect_pct: f64,
    /// Its 95 % interval by Welch's method.
    pub ci95_pct: [f64; 2],
    /// Welch's p.
    pub welch_p: f64,
    /// Student's p.
    pub student_p: f64,
    /// Mann-Whitney's p if every run is known, and the minimum p that so few runs can give.
    pub rank_p: Option<(f64, f64)>,
    /// Verdict against a margin of [`MARGIN_PCT`]; `None` if there are too few runs.
    pub verdict: Option<Verdict>,
}

/// Judges a figure by its document's evidence.
#[must_use]
pub fn judge(claim: &Claim) -> Judgement {
    let ratio = |base: f64, arm: f64| 100.0 * (arm / base - 1.0);
    match &claim.evidence {
        Evidence::Moments { n, base, arm } => {
            let base = Moments::published(*n, base.mean, base.stddev);
            let arm = Moments::published(*n, arm.mean, arm.stddev);
            Judgement::Tested(tested(claim.better, base, arm))
        }
        Evidence::Values { base, arm } => match (Moments::of(base), Moments::of(arm)) {
            (Some(a), Some(b)) => Judgement::Tested(Tested {
                rank_p: Some((mann_whitney(base, arm).p, least_p(base.len(), arm.len()))),
                ..tested(claim.better, a, b)
            }),
            _ => Judgement::Untestable(ratio(mean(base), mean(arm))),
        },
        Evidence::Spreads {
            n,
            base_cv_pct,
            arm_cv_pct,
            base,
            arm,
            diff_pct,
        } => {
            // Without the means, percentages of the base are enough.
            let before = base.unwrap_or(100.0);
            let with = diff_pct.map(|pct| before * (1.0 + pct / 100.0));
            let with = arm.or(with).unwrap_or(before);
            let base = Moments::published(*n, before, before * base_cv_pct / 100.0);
            let arm = Moments::published(*n, with, with * arm_cv_pct / 100.0);
            Judgement::Tested(tested(claim.better, base, arm))
        }
        Evidence::Means { base, arm } => Judgement::Untestable(ratio(*base, *arm)),
        Evidence::Counts { base, arm } => Judgement::Exact(ratio(*base, *arm)),
        Evidence::Once {
            seconds,
            operations,
        } => Judgement::Once(1e9 * seconds / operations),
    }
}

fn tested(better: Better, base: Moments, arm: Moments) -> Tested {
    let pct = |difference: f64| 100.0 * difference / base.mean;
    let unpooled = Unpooled::from_moments(base, arm);
    let p = |test: Option<furlong_lab::model::result::TTest>| test.map_or(f64::NAN, |test| test.p);
    let ci95_pct = unpooled.interval(0.95).map(pct);
    let rule = Rule {
        better,
        margin: Scale::Difference.distance(MARGIN_PCT),
        // A document has no control: its intervals are taken as they are.
        control: Check::Passed,
    };
    let n = base.n.min(arm.n);
    let decided = rule.decide(ci95_pct.map(|end| end / 100.0), n);
    Tested {
        n,
        effect_pct: pct(unpooled.difference),
        ci95_pct,
        welch_p: p(unpooled.test()),
        student_p: p(Pooled::from_moments(base, arm).test()),
        rank_p: None,
        verdict: (n >= BLOCKS_MIN).then_some(decided),
    }
}

/// Conclusions from all of a document's figures together, a sentence each.
#[must_use]
pub fn together(document: &Document) -> Vec<String> {
    let mut said = vec![];
    said.extend(several_tests(document));
    said.extend(contradiction(document));
    said.extend(variances(document));
    said
}

/// F tests of a claim of less variance.
fn variances(document: &Document) -> Option<String> {
    let ratio = |claim: &Claim| match claim.evidence {
        Evidence::Spreads {
            n,
            base_cv_pct,
            arm_cv_pct,
            base: Some(base),
            arm: Some(arm),
            ..
        } => Some((n, (base * base_cv_pct / (arm * arm_cv_pct)).powi(2))),
        _ => None,
    };
    let told = document.claims.iter().filter_map(|claim| {
        let (n, ratio) = ratio(claim)?;
        let df = n as f64 - 1.0;
        let beyond = f_sf(ratio, df, df);
        let p = 2.0 * beyond.min(1.0 - beyond);
        Some(format!("{}, p = {p:.2} (F = {ratio:.2})", claim.name))
    });
    let told: Vec<String> = told.collect();
    (document.claims_less_variance && !told.is_empty()).then(|| {
        format!(
            "Its claim that runs vary less with the change, by an F test: {}.",
            told.join("; ")
        )
    })
}

/// Holm's correction over all tests of a document; claims without a test count too.
fn several_tests(document: &Document) -> Option<String> {
    let mut names = vec![];
    let mut p = vec![];
    for claim in &document.claims {
        match judge(claim) {
            Judgement::Tested(tested) => {
                names.push(claim.name.as_str());
                p.push(tested.welch_p);
            }
            // An untestable claim counts with p = 1.
            Judgement::Untestable(_) => {
                names.push(claim.name.as_str());
                p.push(1.0);
            }
            Judgement::Exact(_) | Judgement::Once(_) => {}
        }
    }
    let adjusted = adjust(&p);
    let alone = p.iter().filter(|p| **p < 0.05).count();
    let left: Vec<&str> = names
        .iter()
        .zip(&adjusted)
        .filter(|(_, p)| **p < 0.05)
        .map(|(name, _)| *name)
        .collect();
    if p.len() < 2 || left.len() == alone {
        return None;
    }
    let kept = match left.is_empty() {
        true => "none remains".to_owned(),
        false => format!("the remaining ones are: {}", left.join("; ")),
    };
    Some(format!(
        "{alone} of its {} figures have p < 0.05 on their own; after Holm's correction {kept}.",
        p.len()
    ))
}

/// Cycles and throughput that cannot come from the same interval.
fn contradiction(document: &Document) -> Option<String> {
    let (cycles, operations) = (document.cycles?, document.operations?);
    let rate = document.rate_per_s?;
    let each = cycles.count / operations.count;
    let clock_mhz = each * rate.count / 1e6;
    Some(format!(
        "It contradicts itself: {:.0} cycles (line {}) for {:.0} operations (line {}) are \
         {each:.1} each; at {:.0} operations a second (line {}) the processor would run at \
         {clock_mhz:.0} MHz. Cycles and throughput are not of the same interval, so the one cannot \
         explain the other.",
        cycles.count, cycles.line, operations.count, operations.line, rate.count, rate.line
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{Judgement, Tested, judge, together};
    use crate::seeds::document::{Claim, documents};
    use furlong_lab::model::result::Verdict;

    /// The same figures, computed by another program.
    const VECTORS: &str = include_str!("../../../furlong-stats/tests/vectors/seed-vectors.json");

    fn claim(system: &str, name: &str) -> Claim {
        let all = documents().unwrap();
        let document = all.iter().find(|one| one.system == system).unwrap();
        let found = document.claims.iter().find(|one| one.name == name);
        found.unwrap().clone()
    }

    fn tested(system: &str, name: &str) -> Tested {
        match judge(&claim(system, name)) {
            Judgement::Tested(tested) => tested,
            other => panic!("{name}: {other:?}"),
        }
    }

    #[test]
    fn what_the_tests_say_is_what_another_program_says() {
        let vectors: Vec<Value> = serde_json::from_str(VECTORS).unwrap();
        for (system, name, vector) in [
            ("iova", "plain, time", "seed000 plain"),
            ("iova", "ins, time", "seed000 ins"),
            ("iova", "rem, time", "seed000 rem"),
            ("vmspace", "user time", "seed002 user"),
            ("vmspace", "system time", "seed002 sys"),
            ("vmspace", "elapsed", "seed002 elapsed"),
            ("vmspace", "major faults", "seed002 majflt"),
            ("vmspace", "minor faults", "seed002 minflt"),
            ("vmspace", "maxresident", "seed002 maxrss"),
            ("bounce", "small, RAM", "seed003 x86 small"),
            ("bounce", "big, RAM", "seed003 x86 big"),
            ("bounce", "4way, RAM", "seed003 x86 4way"),
            ("bounce", "small, SD card", "seed003 rpi small"),
            ("bounce", "big, SD card", "seed003 rpi big"),
            ("bounce", "4way, SD card", "seed003 rpi 4way"),
            ("malloc", "cycles", "seed004 cycles"),
            ("malloc", "cache misses", "seed004 cache-misses"),
            ("malloc", "throughput, test 2", "seed004 throughput2"),
        ] {
            let wanted = vectors.iter().find(|one| one["name"] == vector).unwrap();
            let found = tested(system, name);
            let close = |found: f64, wanted: &Value| {
                let wanted = wanted.as_f64().unwrap();
                let off = (found - wanted).abs() / wanted.abs();
                assert!(off < 1e-6, "{name}: {found} is not {wanted}");
            };
            close(found.effect_pct, &wanted["diff_pct"]);
            close(found.welch_p, &wanted["welch"]["p"]);
            close(found.student_p, &wanted["student"]["p"]);
            close(found.ci95_pct[0], &wanted["welch"]["ci95_pct"][0]);
            close(found.ci95_pct[1], &wanted["welch"]["ci95_pct"][1]);
        }
    }

    #[test]
    fn five_runs_have_no_verdict_and_sixty_four_have() {
        assert_eq!(tested("iova", "ins, time").verdict, Some(Verdict::Keep));
        assert_eq!(tested("malloc", "cache misses").verdict, None);
    }

    #[test]
    fn the_allocators_document_is_left_with_nothing_and_contradicts_itself() {
        let all = documents().unwrap();
        let said = together(all.last().unwrap());
        assert!(said[0].starts_with("2 of its 4 figures"), "{said:?}");
        assert!(said[0].ends_with("none remains."), "{said:?}");
        assert!(said[1].contains("71.5 each"), "{said:?}");
        assert!(said[1].contains("at 75 MHz"), "{said:?}");
        for wanted in ["0.18 (F = 4.40)", "0.19 (F = 4.29)", "0.36 (F = 2.69)"] {
            assert!(said[2].contains(wanted), "{wanted}: {said:?}");
        }
    }
}
