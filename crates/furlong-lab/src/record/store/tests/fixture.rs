//! A run that was never measured, with its blocks.

use furlong_lab::model::Counters;
use furlong_lab::model::result::{CONTROL, Kind, Machine, ResultFile, Run};
use furlong_lab::model::schedule::{Batch, Schedule, ScheduledExperiment, ScheduledWorkload};
use furlong_lab::model::{MetricPlan, Profile, Workload};
use furlong_lab::record::ledger::{Ledger, Place};
use furlong_lab::record::measured::{Block, Sample};
use furlong_lab::record::store::{Location, Store};
use furlong_lab::talk::Voice;

/// The only workload of its only experiment.
pub(crate) const PLACE: Place = Place {
    experiment: 0,
    workload: 0,
};

/// Returns a ledger on a database with a run that has just begun.
pub(crate) fn begun(location: &Location, id: &str) -> Ledger {
    let result = blank(id, "2026-01-01T00:00:00+00:00");
    let mut store = Store::open(location).unwrap();
    store.begin(&result, &schedule(), "binary").unwrap();
    Ledger::new(result, Some(store), Voice::Quiet)
}

pub(crate) fn schedule() -> Schedule {
    let metric = |name, kind| MetricPlan::new(name, "ns", kind, 1.0, "");
    let workload = Workload {
        name: "plain".to_owned(),
        quick: true,
        params: [("nodes".to_owned(), 64)].into(),
        ..Workload::default()
    };
    let na = [("c".to_owned(), "at most 32".to_owned())].into();
    let scheduled = ScheduledWorkload {
        workload,
        blocks: 9,
        batch: Batch::Seconds(0.1),
        na,
        facts: [].into(),
    };
    let entry = ScheduledExperiment {
        name: "race".to_owned(),
        comparison: None,
        question: "Which?".to_owned(),
        metrics: vec![metric("time", Kind::Sampled), metric("calls", Kind::Exact)],
        arms: ["a", "b", "c"].map(str::to_owned).to_vec(),
        uncounted: vec![],
        exact_operations: 1,
        workloads: vec![scheduled],
        left_out: vec!["rem: not now".to_owned()],
    };
    Schedule {
        profile: Profile::Quick,
        seed: u64::MAX - 1,
        margin_pct: Some(0.5),
        timeout_s: None,
        budget_s: None,
        counters: Counters::Auto,
        experiments: vec![entry],
        subject: serde_json::Value::Null,
    }
}

pub(crate) fn blank(id: &str, started: &str) -> ResultFile {
    schedule().blank(Run {
        id: id.to_owned(),
        started: started.to_owned(),
        command: vec!["run".to_owned()],
        profile: "quick".to_owned(),
        seed: u64::MAX - 1,
        version: "1".to_owned(),
        tag: Some("tag".to_owned()),
        note: None,
        revision: None,
        machine: Machine {
            id: "m".to_owned(),
            load_1m: Some(0.25),
            ..Machine::default()
        },
        warnings: vec!["careful".to_owned()],
    })
}

pub(crate) fn block(number: u32) -> Block {
    let sample = |runner: &str, value: f64| Sample {
        runner: runner.to_owned(),
        values: [("time".to_owned(), value)].into(),
        elapsed_s: 0.5,
        operations: u64::MAX,
        digest: Some(u64::MAX),
        failure: None,
    };
    let first = f64::from(number) / 3.0;
    let samples = vec![
        sample(CONTROL, first),
        Sample::missed("b", "it broke".to_owned()),
        sample("a", 0.1),
    ];
    Block {
        number,
        seed: u64::MAX - u64::from(number),
        samples,
    }
}
