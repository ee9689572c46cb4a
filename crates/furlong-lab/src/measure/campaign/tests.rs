//! The schedule with a simulated sampler.

mod baseline;
mod own_metrics;
mod uncounted;

use super::{Campaign, End};
use crate::measure::block_order::BlockOrder;
use crate::measure::progress::Progress;
use crate::measure::sampler::{Job, Pass, SampleError, Sampler, When};
use crate::model::Counters;
use crate::model::result::{CONTROL, Kind, Run};
use crate::model::schedule::{Batch, Schedule, ScheduledExperiment, ScheduledWorkload};
use crate::model::{MetricPlan, Outcome, Profile, Workload};
use crate::record::ledger::{Ledger, Place};
use crate::talk::Voice;

/// A job without its borrows.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    workload: String,
    arm: String,
    seed: u64,
    operations: u64,
    exact: bool,
    padding: usize,
}

/// Answers by a function of the job and of the number of jobs before it.
struct Pretend<F> {
    answer: F,
    seen: Vec<Seen>,
}

impl<F: FnMut(&Seen, usize) -> Result<Outcome, SampleError>> Sampler for Pretend<F> {
    fn sample(&mut self, job: &Job<'_>) -> Result<Outcome, SampleError> {
        let seen = Seen {
            workload: job.workload.name.clone(),
            arm: job.arm.to_owned(),
            seed: job.seed,
            operations: job.operations,
            exact: job.exact,
            padding: job.padding,
        };
        self.seen.push(seen.clone());
        (self.answer)(&seen, self.seen.len() - 1)
    }
}

/// 100 ns per operation; a count that follows from the input; the answer is the input's seed.
fn good(seen: &Seen) -> Result<Outcome, SampleError> {
    let count = (seen.seed % 97) as f64;
    let metrics = [("time".to_owned(), 100.0), ("calls".to_owned(), count)];
    Ok(Outcome {
        metrics: metrics.into(),
        operations: seen.operations,
        elapsed_s: seen.operations as f64 * 1e-7,
        digest: seen.seed,
    })
}

fn failed() -> Result<Outcome, SampleError> {
    Err(SampleError::Failed("it broke".to_owned()))
}

fn metric(name: &str, kind: Kind) -> MetricPlan {
    MetricPlan::new(name, "1", kind, 1.0, "")
}

fn schedule(metrics: Vec<MetricPlan>, blocks: u32) -> Schedule {
    let scheduled = |name: &str| ScheduledWorkload {
        workload: Workload {
            name: name.to_owned(),
            quick: true,
            params: [("nodes".to_owned(), 64)].into(),
            ..Workload::default()
        },
        blocks,
        batch: Batch::Seconds(0.01),
        na: [].into(),
        facts: [].into(),
    };
    let entry = ScheduledExperiment {
        name: "race".to_owned(),
        question: "Which?".to_owned(),
        metrics,
        arms: vec!["a".to_owned(), "longer".to_owned(), "other".to_owned()],
        exact_operations: 4096,
        workloads: vec![scheduled("plain"), scheduled("ins")],
        ..ScheduledExperiment::default()
    };
    Schedule {
        profile: Profile::Quick,
        seed: 11,
        counters: Counters::Auto,
        experiments: vec![entry],
        subject: serde_json::Value::Null,
        margin_pct: None,
        timeout_s: None,
        budget_s: None,
    }
}

fn timed() -> Vec<MetricPlan> {
    vec![metric("time", Kind::Sampled)]
}

fn timed_and_counted() -> Vec<MetricPlan> {
    vec![metric("time", Kind::Sampled), metric("calls", Kind::Exact)]
}

fn blank(schedule: &Schedule) -> Ledger {
    let run = Run {
        id: "abcdefgh".to_owned(),
        started: "2026-01-01T00:00:00+00:00".to_owned(),
        profile: schedule.profile.name().to_owned(),
        seed: schedule.seed,
        ..Run::default()
    };
    Ledger::new(schedule.blank(run), None, Voice::Quiet)
}

/// Runs a schedule to its end.
fn run(
    schedule: &Schedule,
    ledger: &mut Ledger,
    answer: impl FnMut(&Seen, usize) -> Result<Outcome, SampleError>,
) -> (End, Vec<Seen>) {
    let seen = vec![];
    let mut sampler = Pretend { answer, seen };
    let progress = Progress::hidden();
    let end = Campaign {
        schedule,
        ledger,
        sampler: &mut sampler,
        passes: vec![],
        progress: &progress,
    }
    .run();
    (end, sampler.seen)
}

/// Runs a schedule from its beginning to its end.
fn ran(
    schedule: &Schedule,
    answer: impl FnMut(&Seen, usize) -> Result<Outcome, SampleError>,
) -> (End, Vec<Seen>, Ledger) {
    let mut ledger = blank(schedule);
    let (end, seen) = run(schedule, &mut ledger, answer);
    (end, seen, ledger)
}

const PLAIN: Place = Place {
    experiment: 0,
    workload: 0,
};

/// Returns the processes of blocks: those with a block's seed instead of the run's.
fn of_blocks(seen: &[Seen]) -> Vec<&Seen> {
    seen.iter().filter(|seen| seen.seed != 11).collect()
}

#[test]
fn a_block_has_every_arm_and_the_control_once_in_the_drawn_order() {
    let (end, seen, ledger) = ran(&schedule(timed(), 8), |seen, _| good(seen));
    assert_eq!(end, End::Finished);
    let runners = ["a", "longer", "other", CONTROL];
    let plain = &ledger.result().experiments[0].workloads[0];
    assert_eq!(plain.blocks, (1..=8).collect::<Vec<_>>());
    let processes = of_blocks(&seen);
    assert_eq!(processes.len(), 2 * 8 * 4);
    for (place, number) in (1..=8).enumerate() {
        let drawn = BlockOrder::new(11, "race", "plain", number, 4);
        let order: Vec<&str> = drawn.order.iter().map(|runner| runners[*runner]).collect();
        assert_eq!(plain.order[place], order);
        let block = &processes[4 * place..4 * place + 4];
        for (seen, runner) in block.iter().zip(order) {
            assert_eq!(seen.arm, if runner == CONTROL { "a" } else { runner });
            assert_eq!(seen.seed, drawn.seed);
            let bytes = seen.arm.len() + seen.padding;
            assert_eq!(bytes, "longer".len() + drawn.padding);
        }
    }
    assert!(
        plain.order.iter().any(|order| *order != plain.order[0]),
        "{:?}",
        plain.order
    );
}

#[test]
fn the_batch_is_found_on_the_baseline_and_frozen_for_all() {
    // The other arms are three times as slow. This must not change their batch.
    let (_, seen, ledger) = ran(&schedule(timed(), 3), |seen, _| {
        let mut outcome = good(seen)?;
        outcome.elapsed_s *= if seen.arm == "a" { 1.0 } else { 3.0 };
        Ok(outcome)
    });
    assert_eq!(ledger.operations(PLAIN), Some(100_000));
    assert!(
        of_blocks(&seen)
            .iter()
            .all(|seen| seen.operations == 100_000)
    );
    assert!(
        seen.iter()
            .filter(|seen| seen.seed == 11)
            .all(|seen| seen.arm == "a")
    );
}

#[test]
fn exact_metrics_are_counted_twice_before_the_first_block() {
    let (_, seen, ledger) = ran(&schedule(timed_and_counted(), 3), |seen, _| good(seen));
    let exact: Vec<&Seen> = seen.iter().take_while(|seen| seen.exact).collect();
    assert_eq!(exact.len(), 2 * 3 * 2);
    assert!(
        exact
            .iter()
            .all(|seen| seen.operations == 4096 && seen.seed == 11)
    );
    assert!(!seen[exact.len()..].iter().any(|seen| seen.exact));
    assert_ne!(exact[0].padding, exact[1].padding);
    for workload in &ledger.result().experiments[0].workloads {
        assert!(
            workload
                .arms
                .iter()
                .all(|arm| arm.samples["calls"] == [Some(11.0)])
        );
        assert!(!workload.control.contains_key("calls"));
    }
}

#[test]
fn a_count_that_differs_is_sampled_in_every_block_by_processes_of_its_own() {
    let (end, seen, ledger) = ran(&schedule(timed_and_counted(), 3), |seen, place| {
        let mut outcome = good(seen)?;
        // Only the second workload shows it: the count of the first one is revoked.
        if seen.exact && seen.workload == "ins" {
            outcome.metrics.insert("calls".to_owned(), place as f64);
        }
        if !seen.exact {
            outcome.metrics.remove("calls");
        }
        Ok(outcome)
    });
    assert_eq!(end, End::Finished);
    let experiment = &ledger.result().experiments[0];
    assert_eq!(experiment.metrics["calls"].kind, Kind::Sampled);
    assert!(ledger.result().run.warnings[0].contains("calls is not exact here"));
    for workload in &experiment.workloads {
        for arm in &workload.arms {
            assert_eq!(
                (arm.samples["time"].len(), arm.samples["calls"].len()),
                (3, 3)
            );
            assert!(arm.samples["calls"].iter().all(Option::is_some));
        }
        assert_eq!(workload.control["calls"].samples.len(), 3);
        assert_eq!(workload.order[0].len(), 4);
    }
    assert_eq!(
        of_blocks(&seen).iter().filter(|seen| seen.exact).count(),
        2 * 3 * 4
    );
}

#[test]
fn a_wrong_answer_ends_the_run_and_keeps_the_blocks_before() {
    let third = BlockOrder::new(11, "race", "plain", 3, 4).seed;
    let (end, _, ledger) = ran(&schedule(timed(), 5), |seen, _| {
        let mut outcome = good(seen)?;
        outcome.digest ^= u64::from(seen.seed == third && seen.arm == "other");
        Ok(outcome)
    });
    let End::WrongAnswer(what) = end else {
        panic!("{end:?}")
    };
    assert!(what.contains("race plain") && what.contains(&format!("other {:#018x}", third ^ 1)));
    assert_eq!(ledger.result().experiments[0].workloads[0].blocks, [1, 2]);
}

#[test]
fn a_wrong_answer_is_seen_while_counting_too() {
    let schedule = schedule(timed_and_counted(), 5);
    let differ = |culprit: &'static str, whenever: usize| {
        let answer = |seen: &Seen, place| {
            let mut outcome = good(seen)?;
            outcome.digest ^= u64::from(seen.arm == culprit && place >= whenever);
            Ok(outcome)
        };
        ran(&schedule, answer).0
    };
    assert!(matches!(differ("other", 0), End::WrongAnswer(_)));
    // The second process of the first arm disagrees with the first.
    let End::WrongAnswer(what) = differ("a", 1) else {
        panic!("not seen")
    };
    assert!(what.contains("a (second process)"), "{what}");
}

#[test]
fn a_failed_sample_is_null_and_the_run_goes_on() {
    let second = BlockOrder::new(11, "race", "plain", 2, 4).seed;
    let (end, _, ledger) = ran(&schedule(timed(), 4), |seen, _| {
        if seen.seed == second && seen.arm == "longer" {
            failed()
        } else {
            good(seen)
        }
    });
    assert_eq!(end, End::Finished);
    let plain = &ledger.result().experiments[0].workloads[0];
    let time = Some(100.0);
    assert_eq!(plain.arms[1].samples["time"], [time, None, time, time]);
    assert_eq!(plain.arms[2].samples["time"], [time; 4]);
}

#[test]
fn a_sample_without_its_metric_has_failed() {
    let (_, _, ledger) = ran(&schedule(timed(), 1), |seen, _| {
        let mut outcome = good(seen)?;
        let broken = if seen.arm == "other" {
            None
        } else {
            Some(f64::INFINITY)
        };
        match (seen.arm.as_str(), broken) {
            ("a", _) => {}
            (_, None) => drop(outcome.metrics.remove("time")),
            (_, Some(value)) => drop(outcome.metrics.insert("time".to_owned(), value)),
        }
        Ok(outcome)
    });
    let plain = &ledger.result().experiments[0].workloads[0];
    let first: Vec<_> = plain
        .arms
        .iter()
        .map(|arm| arm.samples["time"][0])
        .collect();
    assert_eq!(first, [Some(100.0), None, None]);
}

#[test]
fn a_workload_whose_arm_always_fails_is_given_up_and_the_next_is_run() {
    for (arm, blocks, why) in [
        ("other", 3, "given up: `other` failed 3 blocks in a row"),
        ("a", 0, "the baseline `a` failed: it broke"),
    ] {
        let (end, _, ledger) = ran(&schedule(timed(), 10), |seen, _| {
            let breaks = seen.workload == "plain" && seen.arm == arm;
            if breaks { failed() } else { good(seen) }
        });
        assert_eq!(end, End::Finished);
        let [plain, next] = &ledger.result().experiments[0].workloads[..] else {
            panic!("two workloads");
        };
        assert_eq!((plain.blocks.len(), next.blocks.len()), (blocks, 10));
        assert_eq!(plain.warnings.len(), 1);
        assert!(plain.warnings[0].contains(why), "{:?}", plain.warnings);
    }
}

#[test]
fn an_interruption_drops_the_block_and_a_resumed_run_ends_like_any_other() {
    let schedule = schedule(timed_and_counted(), 6);
    let mut whole = blank(&schedule);
    let (_, all) = run(&schedule, &mut whole, |seen, _| good(seen));
    for stop in 0..all.len() {
        let mut ledger = blank(&schedule);
        let (end, first) = run(&schedule, &mut ledger, |seen, place| {
            if place == stop {
                Err(SampleError::Interrupted)
            } else {
                good(seen)
            }
        });
        assert_eq!((end, first.len()), (End::Interrupted, stop + 1));
        let kept: usize = ledger.result().experiments[0]
            .workloads
            .iter()
            .map(|w| w.blocks.len())
            .sum();
        let (end, rest) = run(&schedule, &mut ledger, |seen, _| good(seen));
        assert_eq!(end, End::Finished);
        assert_eq!(ledger.result(), whole.result(), "stopped at {stop}");
        assert_eq!(of_blocks(&rest).len(), (12 - kept) * 4, "stopped at {stop}");
    }
}

#[test]
fn an_arm_that_cannot_run_a_workload_is_not_run() {
    let mut schedule = schedule(timed(), 2);
    let na = [("other".to_owned(), "at most 32".to_owned())];
    schedule.experiments[0].workloads[0].na = na.into();
    let (_, seen, ledger) = ran(&schedule, |seen, _| good(seen));
    assert!(
        !seen
            .iter()
            .any(|seen| seen.workload == "plain" && seen.arm == "other")
    );
    let plain = &ledger.result().experiments[0].workloads[0];
    assert_eq!(plain.arms[2].na.as_deref(), Some("at most 32"));
    assert!(plain.arms[2].samples.is_empty());
    assert_eq!(plain.order[0].len(), 3);
}

#[test]
fn a_further_pass_adds_its_metric_and_leaves_out_what_is_not_exact() {
    let schedule = schedule(timed(), 1);
    let mut ledger = blank(&schedule);
    let counting = |seen: &Seen, place: usize| {
        // The third process counts one more than all others.
        let odd = if seen.arm == "other" {
            place
        } else {
            usize::from(place == 2)
        };
        let metrics = [("instructions".to_owned(), 500.0 + odd as f64)].into();
        Ok(Outcome {
            metrics,
            ..Outcome::default()
        })
    };
    let pass = Pass {
        metrics: vec![metric("instructions", Kind::Exact)],
        when: When::Before,
        sampler: Box::new(Pretend {
            answer: counting,
            seen: vec![],
        }),
    };
    let mut sampler = Pretend {
        answer: |seen: &Seen, _| good(seen),
        seen: vec![],
    };
    let progress = Progress::hidden();
    let end = Campaign {
        schedule: &schedule,
        ledger: &mut ledger,
        sampler: &mut sampler,
        passes: vec![pass],
        progress: &progress,
    }
    .run();
    assert_eq!(end, End::Finished);
    let experiment = &ledger.result().experiments[0];
    assert_eq!(experiment.metric_order, ["time", "instructions"]);
    let plain = &experiment.workloads[0];
    let counts: Vec<_> = plain
        .arms
        .iter()
        .map(|arm| arm.samples["instructions"][0])
        .collect();
    assert_eq!(counts, [Some(500.0), Some(500.0), None]);
    assert!(
        plain.warnings[0].contains("left out as not exact"),
        "{:?}",
        plain.warnings
    );
}
