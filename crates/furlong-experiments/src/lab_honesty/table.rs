//! The results of each tool in a record, as Markdown tables: counts with their intervals, times
//! spent, and the promises that furlong keeps or breaks.

use std::fmt::Write as _;

use super::{CALLED_DIFFERENT, COMPARISON, FOUND_SLOWER, LIMIT_MS, SPAWN_TO_EXIT};
use furlong_lab::model::result::{ArmResult, ResultFile, WorkloadResult};
use furlong_lab::record::ledger::OPERATIONS;
use furlong_stats::share;

/// The tool with promises.
const OURS: &str = "furlong";

/// The same with both commands at once; the second promise holds for it, too.
const DUET: &str = "furlong-duet";

/// Minimum comparisons for a share.
const COMPARISONS_MIN: u64 = 400;

/// Minimum comparisons that end at a verdict, with each of the programs.
const VERDICTS_MIN: u64 = 200;

/// Promised maximum share of furlong's false alarms on a program and itself; the nominal share is 5
/// %.
const DIFFERENT_MAX: f64 = 0.06;

/// Promised maximum share of wrong verdicts on a program and itself.
const WRONG_MAX: f64 = 0.01;

/// Minimum comparisons with the slower program.
const SLOWER_COMPARISONS_MIN: u64 = 50;

/// Promised minimum share of them in which the slower program is found.
const FOUND_MIN: f64 = 0.90;

/// Promised maximum difference of a start under furlong and under hyperfine, per cent.
const START_PCT: f64 = 15.0;

/// Confidence level of every interval.
const LEVEL: f64 = 0.95;

/// Result of a tool on a workload.
#[derive(Clone, Debug, PartialEq)]
struct Count {
    tool: String,
    told: u64,
    comparisons: u64,
    seconds: f64,
}

impl Count {
    /// Counts the results of an arm; the baseline's control samples count too.
    fn of(workload: &WorkloadResult, arm: &ArmResult, metric: &str) -> Option<Count> {
        let operations = workload.params.get(OPERATIONS)?.as_u64()?;
        let values = |metric: &str| -> Option<Vec<f64>> {
            let mut values: Vec<f64> = arm.samples.get(metric)?.iter().flatten().copied().collect();
            if workload.arms.first().map(|first| &first.name) == Some(&arm.name) {
                let control = workload.control.get(metric);
                let again = control.iter().flat_map(|control| &control.samples);
                values.extend(again.flatten());
            }
            Some(values)
        };
        let shares = values(metric)?;
        // A share of that many comparisons is a whole number of them.
        let told = |pct: &f64| (pct / 100.0 * operations as f64).round() as u64;
        Some(Count {
            tool: arm.name.clone(),
            told: shares.iter().map(told).sum(),
            comparisons: operations * shares.len() as u64,
            seconds: values(COMPARISON)?.iter().sum::<f64>() * operations as f64,
        })
    }

    fn share(&self) -> f64 {
        self.told as f64 / self.comparisons as f64
    }

    fn interval(&self) -> [f64; 2] {
        share::interval(self.told, self.comparisons, LEVEL)
    }
}

/// Counts of the tools that ran a workload, in the order of the plan.
fn counts(workload: &WorkloadResult, metric: &str) -> Vec<Count> {
    let arms = workload.arms.iter().filter(|arm| arm.na.is_none());
    let counts = arms.filter_map(|arm| Count::of(workload, arm, metric));
    counts.filter(|count| count.comparisons > 0).collect()
}

/// A promise and its outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Promise {
    /// A sentence with the figures.
    pub text: String,
    /// True if the promise holds.
    pub holds: bool,
}

/// Results of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The tables, as Markdown.
    pub markdown: String,
    /// The promises.
    pub promises: Vec<Promise>,
}

impl Table {
    /// Makes the table from a record of this experiment.
    ///
    /// # Errors
    ///
    /// The record has no run of this experiment, or no finished block.
    pub fn of(result: &ResultFile) -> Result<Table, String> {
        let mut experiments = result.experiments.iter();
        let found = experiments.find(|one| one.name == "lab-honesty");
        let found = found.ok_or("it has no run of lab-honesty")?;
        let table = Table::of_workloads(&found.workloads);
        match table.markdown.is_empty() {
            true => Err("it has no finished block of lab-honesty".to_owned()),
            false => Ok(table),
        }
    }

    fn of_workloads(workloads: &[WorkloadResult]) -> Table {
        let mut table = Table {
            markdown: String::new(),
            promises: vec![],
        };
        table.shares(workloads);
        for workload in workloads {
            table.start(workload);
        }
        table
    }

    fn shares(&mut self, workloads: &[WorkloadResult]) {
        let heading = "| workload | tool | comparisons | called different, or slower \
                       | 95 % interval | s each | minutes |\n|---|---|--:|--:|---|--:|--:|\n";
        for workload in workloads {
            let same = counts(workload, CALLED_DIFFERENT);
            let slower = counts(workload, FOUND_SLOWER);
            if self.markdown.is_empty() && !(same.is_empty() && slower.is_empty()) {
                self.markdown.push_str(heading);
            }
            for count in same.iter().chain(&slower) {
                let [low, high] = count.interval().map(|end| 100.0 * end);
                let _ = writeln!(
                    self.markdown,
                    "| {} | {} | {} | {:.1} % | [{low:.1}, {high:.1}] | {:.2} | {:.1} |",
                    workload.name,
                    count.tool,
                    count.comparisons,
                    100.0 * count.share(),
                    count.seconds / count.comparisons as f64,
                    count.seconds / 60.0,
                );
            }
            self.promises.extend(promises(workload, &same, &slower));
        }
    }

    fn start(&mut self, workload: &WorkloadResult) {
        let summary = |arm: &ArmResult| arm.summary.get(SPAWN_TO_EXIT).map(|found| found.median);
        let rows: Vec<(&ArmResult, f64)> = workload
            .arms
            .iter()
            .filter_map(|arm| Some((arm, summary(arm)?)))
            .collect();
        if rows.is_empty() {
            return;
        }
        let heading =
            "\n| tool | spawn to exit, median | change | 95 % interval |\n|---|--:|--:|---|\n";
        self.markdown.push_str(heading);
        for (arm, median) in rows {
            let mut all = workload.comparisons.iter();
            let compared = all.find(|one| one.arm == arm.name && one.metric == SPAWN_TO_EXIT);
            let change = compared.map(|one| (one.effect_pct, one.ci95_pct));
            let (effect, interval) = match change {
                Some((effect, Some([low, high]))) => (
                    format!("{effect:+.1} %"),
                    format!("[{low:+.1}, {high:+.1}]"),
                ),
                Some((effect, None)) => (format!("{effect:+.1} %"), String::new()),
                None => (String::new(), String::new()),
            };
            let _ = writeln!(
                self.markdown,
                "| {} | {median:.0} µs | {effect} | {interval} |",
                arm.name
            );
            if let Some((effect, Some([low, high]))) = change.filter(|_| arm.name == OURS) {
                self.promises.push(Promise {
                    text: format!(
                        "a start under {OURS} is within {START_PCT} % of one under {}: \
                         {effect:+.1} % [{low:+.1}, {high:+.1}]",
                        workload.arms[0].name
                    ),
                    holds: low >= -START_PCT && high <= START_PCT,
                });
            }
        }
    }
}

fn promises(workload: &WorkloadResult, same: &[Count], slower: &[Count]) -> Vec<Promise> {
    let name = &workload.name;
    let mut all = vec![];
    let ours = |counts: &[Count]| counts.iter().find(|one| one.tool == OURS).cloned();
    let (least, most) = match workload.params.contains_key(LIMIT_MS) {
        true => (VERDICTS_MIN, WRONG_MAX),
        false => (COMPARISONS_MIN, DIFFERENT_MAX),
    };
    if let Some(ours) = ours(same) {
        let fewest = same.iter().map(|one| one.comparisons).min().unwrap_or(0);
        all.push(Promise {
            text: format!("{name}: at least {least} comparisons with each tool: {fewest} and more"),
            holds: fewest >= least,
        });
        let is_ours = |one: &&Count| [OURS, DUET].contains(&one.tool.as_str());
        all.extend(same.iter().filter(is_ours).map(|one| Promise {
            text: format!(
                "{name}: {} calls a program different from itself in at most {} %: {:.1} %",
                one.tool,
                100.0 * most,
                100.0 * one.share()
            ),
            holds: one.share() <= most,
        }));
        let others = same.iter().filter(|one| !is_ours(one));
        all.extend(others.filter(|_| has_drift(workload)).map(|other| Promise {
            text: format!(
                "{name}: {} does in many times as many: {:.1} %, {:.1} times",
                other.tool,
                100.0 * other.share(),
                other.share() / ours.share()
            ),
            holds: other.interval()[0] > 2.0 * ours.interval()[1],
        }));
    }
    if let Some(ours) = ours(slower) {
        all.push(Promise {
            text: format!(
                "{name}: {OURS} finds the slower program in at least {:.0} % of at least \
                 {SLOWER_COMPARISONS_MIN} comparisons: in {} of {}",
                100.0 * FOUND_MIN,
                ours.told,
                ours.comparisons
            ),
            holds: ours.comparisons >= SLOWER_COMPARISONS_MIN && ours.share() >= FOUND_MIN,
        });
    }
    all
}

/// True if the workload has varying background load.
fn has_drift(workload: &WorkloadResult) -> bool {
    let drift = workload.params.get("drift");
    drift.and_then(serde_json::Value::as_u64) == Some(1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::super::{CALLED_DIFFERENT, COMPARISON, FOUND_SLOWER, LIMIT_MS};
    use super::Table;
    use furlong_lab::model::result::{ArmResult, Control, WorkloadResult};

    /// Two blocks of 300 comparisons: arms, each with its share called different in per cent.
    fn workload(metric: &str, arms: &[(&str, f64)], control: f64) -> WorkloadResult {
        let samples = |share| {
            let of = |value: f64| vec![Some(value); 2];
            BTreeMap::from([
                (metric.to_owned(), of(share)),
                (COMPARISON.to_owned(), of(0.5)),
            ])
        };
        let arm = |(name, share): &(&str, f64)| ArmResult {
            name: (*name).to_owned(),
            na: None,
            samples: samples(*share),
            summary: BTreeMap::new(),
        };
        let again = samples(control).into_iter().map(|(name, samples)| {
            let control = Control {
                samples,
                floor_pct: None,
                failed: false,
            };
            (name, control)
        });
        WorkloadResult {
            name: "same".to_owned(),
            params: [("operations", 300), ("drift", 1)]
                .map(|(name, value)| (name.to_owned(), json!(value)))
                .into(),
            blocks: vec![1, 2],
            order: vec![],
            arms: arms.iter().map(arm).collect(),
            control: again.collect(),
            comparisons: vec![],
            warnings: vec![],
        }
    }

    #[test]
    fn what_the_baseline_did_as_the_control_counts_too() {
        let same = workload(
            CALLED_DIFFERENT,
            &[("block-order", 30.0), ("furlong", 5.0)],
            40.0,
        );
        let table = Table::of_workloads(&[same]);
        let lines: Vec<&str> = table.markdown.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| same | block-order | 1200 | 35.0 % | [32.4, 37.7] | 0.50 | 10.0 |",
                "| same | furlong | 600 | 5.0 % | [3.5, 7.0] | 0.50 | 5.0 |",
            ]
        );
        assert!(table.promises.iter().all(|one| one.holds), "{table:?}");
        assert_eq!(table.promises.len(), 3);
    }

    #[test]
    fn a_duet_has_the_promise_of_its_level_too() {
        let arms = [("furlong", 5.0), ("furlong-duet", 7.0)];
        let table = Table::of_workloads(&[workload(CALLED_DIFFERENT, &arms, 5.0)]);
        let held: Vec<bool> = table.promises.iter().map(|one| one.holds).collect();
        assert_eq!(held, [true, true, false], "{table:?}");
        let duet = &table.promises[2].text;
        assert!(duet.contains("furlong-duet calls a program"), "{duet}");
    }

    #[test]
    fn a_promise_that_is_broken_is_named() {
        let same = workload(
            CALLED_DIFFERENT,
            &[("block-order", 9.0), ("furlong", 8.0)],
            9.0,
        );
        let slower = workload(
            FOUND_SLOWER,
            &[("block-order", 90.0), ("furlong", 79.0)],
            90.0,
        );
        let table = Table::of_workloads(&[same, slower]);
        let broken: Vec<&str> = table
            .promises
            .iter()
            .filter(|one| !one.holds)
            .map(|one| one.text.as_str())
            .collect();
        assert_eq!(broken.len(), 3, "{broken:?}");
        assert!(broken[0].contains("at most 6 %: 8.0 %"), "{broken:?}");
        assert!(broken[1].contains("many times as many"), "{broken:?}");
        assert!(broken[2].contains("in 474 of 600"), "{broken:?}");
    }

    #[test]
    fn a_wrong_verdict_is_rarer_than_a_difference() {
        let mut until = workload(CALLED_DIFFERENT, &[("furlong", 1.0)], 1.0);
        until.params.insert(LIMIT_MS.to_owned(), json!(4000));
        let holds = |until| {
            let table = Table::of_workloads(&[until]);
            table
                .promises
                .iter()
                .map(|one| one.holds)
                .collect::<Vec<_>>()
        };
        assert_eq!(holds(until.clone()), [true, true]);
        until.params.remove(LIMIT_MS);
        assert_eq!(holds(until), [true, true]);
        let mut until = workload(CALLED_DIFFERENT, &[("furlong", 2.0)], 1.0);
        until.params.insert(LIMIT_MS.to_owned(), json!(4000));
        assert_eq!(holds(until), [true, false]);
    }
}
