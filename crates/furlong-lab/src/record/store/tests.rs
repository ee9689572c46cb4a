//! The store by itself: what the suite of both engines cannot try from outside.
#![forbid(unsafe_code)]

use std::path::Path;

use rusqlite::Connection;

use super::{Location, Status, Store};
use crate::experiments::{MetricPlan, Profile, Workload};
use crate::measure::agenda::{Agenda, Batch, Entry, Load};
use crate::measure::counters::Counters;
use crate::record::ledger::{Ledger, Place};
use crate::record::measured::{Block, Sample};
use crate::record::result::{Better, CONTROL, Kind, Machine, ResultFile, Run};
use crate::talk::Voice;

const PLACE: Place = Place {
    experiment: 0,
    workload: 0,
};

fn file(path: &Path) -> Location {
    Location::File(path.to_owned())
}

fn agenda() -> Agenda {
    let metric = |name: &str, kind| MetricPlan {
        name: name.to_owned(),
        unit: "ns".to_owned(),
        better: Better::Lower,
        kind,
        margin_pct: 1.0,
        about: String::new(),
    };
    let workload = Workload {
        name: "plain".to_owned(),
        about: String::new(),
        quick: true,
        metrics: vec![],
        params: [("nodes".to_owned(), 64)].into(),
        smoke: [].into(),
    };
    let na = [("c".to_owned(), "at most 32".to_owned())].into();
    let load = Load {
        workload,
        blocks: 9,
        batch: Batch::Seconds(0.1),
        na,
        facts: [].into(),
    };
    let entry = Entry {
        name: "race".to_owned(),
        question: "Which?".to_owned(),
        metrics: vec![metric("time", Kind::Sampled), metric("calls", Kind::Exact)],
        arms: ["a", "b", "c"].map(str::to_owned).to_vec(),
        uncounted: vec![],
        exact_operations: 1,
        loads: vec![load],
        left_out: vec!["rem: not now".to_owned()],
    };
    Agenda {
        profile: Profile::Quick,
        seed: u64::MAX - 1,
        margin_pct: Some(0.5),
        timeout_s: None,
        counters: Counters::Auto,
        experiments: vec![entry],
        subject: serde_json::Value::Null,
    }
}

fn blank(id: &str, started: &str) -> ResultFile {
    agenda().blank(Run {
        id: id.to_owned(),
        started: started.to_owned(),
        command: vec!["run".to_owned()],
        profile: "quick".to_owned(),
        seed: u64::MAX - 1,
        version: "1".to_owned(),
        tag: Some("tag".to_owned()),
        note: None,
        machine: Machine {
            id: "m".to_owned(),
            load_1m: Some(0.25),
            ..Machine::default()
        },
        warnings: vec!["careful".to_owned()],
    })
}

/// A ledger over a database with a run that has just begun.
fn begun(path: &Path, id: &str) -> Ledger {
    let result = blank(id, "2026-01-01T00:00:00+00:00");
    let mut store = Store::open(&file(path)).unwrap();
    store.begin(&result, &agenda(), "binary").unwrap();
    Ledger::new(result, Some(store), Voice::Quiet)
}

fn block(number: u32) -> Block {
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

#[test]
fn a_full_disk_is_told_once_and_the_run_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("runs.db");
    let result = blank("abcd", "2026-01-01T00:00:00+00:00");
    let mut store = Store::open(&file(&path)).unwrap();
    store.begin(&result, &agenda(), "binary").unwrap();
    let pages: u32 = store.engine.run("PRAGMA page_count", &[]).unwrap()[0]
        .get(0)
        .unwrap();
    let limit = format!("PRAGMA max_page_count = {pages}");
    store.engine.batch(&limit).unwrap();
    let mut ledger = Ledger::new(result, Some(store), Voice::Quiet);
    for number in 1..=300 {
        ledger.add_block(PLACE, &block(number));
    }
    assert!(!ledger.kept());
    let result = ledger.result();
    assert_eq!(result.experiments[0].workloads[0].blocks.len(), 300);
    assert_eq!(result.run.warnings.len(), 2);
    assert!(
        result.run.warnings[1].contains("is full: make room"),
        "{:?}",
        result.run.warnings
    );
    // What came before the last whole block is there.
    let stored = Store::open_existing(&file(&path))
        .unwrap()
        .load("abcd")
        .unwrap()
        .result;
    let blocks = &stored.experiments[0].workloads[0].blocks;
    assert_eq!(
        *blocks,
        (1..=u32::try_from(blocks.len()).unwrap()).collect::<Vec<_>>()
    );
    assert!(blocks.len() < 300);
}

#[test]
fn a_table_that_is_gone_is_told_once_and_the_run_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("runs.db");
    let mut ledger = begun(&path, "abcd");
    let vandal = Connection::open(&path).unwrap();
    vandal.execute_batch("DROP TABLE sample_values").unwrap();
    ledger.add_block(PLACE, &block(1));
    ledger.add_block(PLACE, &block(2));
    ledger.close(Status::Finished, None);
    assert!(!ledger.kept());
    assert_eq!(ledger.result().experiments[0].workloads[0].blocks, [1, 2]);
    assert_eq!(ledger.result().run.warnings.len(), 2);
    // The block that could not be stored as a whole is not there at all.
    let blocks: u32 = vandal
        .query_row("SELECT count(*) FROM blocks", [], |r| r.get(0))
        .unwrap();
    assert_eq!(blocks, 0);
}

#[test]
fn two_that_open_a_new_database_at_once_both_get_it() {
    for _ in 0..20 {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("new.db");
        let start = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    start.wait();
                    let refused = Store::open(&file(&path))
                        .err()
                        .map(|fault| fault.to_string());
                    assert_eq!(refused, None);
                });
            }
        });
    }
}
