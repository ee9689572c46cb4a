//! Tests of the store itself, of cases that the suite for both engines cannot reach from outside.

use std::path::Path;

use rusqlite::Connection;

use super::engine::Value;
use super::{Location, Status, Store, Work};
use crate::record::ledger::Ledger;
use crate::talk::Voice;
use fixture::{PLACE, begun, blank, block, schedule};

mod fixture;

impl Store {
    /// Returns SQLite's query plan of each statement.
    pub(crate) fn plans(&self, work: &Work) -> Vec<(String, Vec<String>)> {
        let plan = |(sql, values): &(String, Vec<Value>)| {
            let asked = format!("EXPLAIN QUERY PLAN {sql}");
            let rows = self.engine.run(&asked, values).unwrap();
            let lines = rows.iter().map(|row| row.get::<String>(3).unwrap());
            (sql.clone(), lines.collect())
        };
        work.asked.iter().map(plan).collect()
    }

    /// Executes a statement that belongs to no page.
    pub(crate) fn ask(&self, sql: &str) {
        self.rows(sql, &[], |_| Ok(())).unwrap();
    }
}

fn file(path: &Path) -> Location {
    Location::File(path.to_owned())
}

#[test]
fn a_full_disk_is_told_once_and_the_run_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("runs.db");
    let result = blank("abcd", "2026-01-01T00:00:00+00:00");
    let mut store = Store::open(&file(&path)).unwrap();
    store.begin(&result, &schedule(), "binary").unwrap();
    let pages: u32 = store.engine.run("PRAGMA page_count", &[]).unwrap()[0]
        .get(0)
        .unwrap();
    let limit = format!("PRAGMA max_page_count = {pages}");
    store.engine.run(&limit, &[]).unwrap();
    let mut ledger = Ledger::new(result, Some(store), Voice::Quiet);
    for number in 1..=300 {
        ledger.add_block(PLACE, &block(number));
    }
    assert!(!ledger.kept());
    let result = ledger.result();
    assert_eq!(result.experiments[0].workloads[0].blocks.len(), 300);
    assert_eq!(result.run.warnings.len(), 2);
    assert!(
        result.run.warnings[1].contains("is full: free some space"),
        "{:?}",
        result.run.warnings
    );
    // The blocks before the failure are stored.
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
    let mut ledger = begun(&file(&path), "abcd");
    let vandal = Connection::open(&path).unwrap();
    vandal.execute_batch("DROP TABLE sample_values").unwrap();
    ledger.add_block(PLACE, &block(1));
    ledger.add_block(PLACE, &block(2));
    ledger.close(Status::Finished, None);
    assert!(!ledger.kept());
    assert_eq!(ledger.result().experiments[0].workloads[0].blocks, [1, 2]);
    assert_eq!(ledger.result().run.warnings.len(), 2);
    // The block that could not be stored as a whole is not stored at all.
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
