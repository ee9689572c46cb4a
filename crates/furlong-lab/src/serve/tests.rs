//! The statements of pages on a store with ten thousand runs.

use tempfile::TempDir;

use super::pages::page;
use super::route::{Figure, Form, Pair, Route};
use super::tallies::Tallies;
use crate::record::store::{Cursor, Filter, Location, Store};

mod crowd;

struct Crowd {
    store: Store,
    tallies: Tallies,
    _home: TempDir,
}

impl Crowd {
    fn of(runs: u32) -> Crowd {
        let home = tempfile::tempdir().unwrap();
        let location = Location::File(home.path().join("runs.db"));
        crowd::fill(&location, runs, 3);
        Crowd {
            store: Store::open_to_read(&location).unwrap(),
            tallies: Tallies::default(),
            _home: home,
        }
    }

    /// The statements of a page, each with SQLite's query plan.
    fn plans(&self, route: &Route) -> Vec<(String, Vec<String>)> {
        drop(self.store.take_work());
        page(&self.store, &self.tallies, route).unwrap();
        self.store.plans(&self.store.take_work())
    }
}

/// Every kind of page, for the latest of this many runs.
fn routes(runs: u32) -> Vec<Route> {
    let (steady, other) = ("steady", "other");
    let filtered = |machine: Option<&str>, tag: Option<&str>, before| Route::Experiment {
        name: steady.to_owned(),
        filter: Filter {
            machine: machine.map(str::to_owned),
            tag: tag.map(str::to_owned),
        },
        before,
    };
    let middle = Some(Cursor {
        began_ms: 1_767_225_600_000 + i64::from(runs / 2) * 3_600_000,
        number: 0,
    });
    let latest = format!("run{}", runs - 5);
    let figure = |last| {
        Route::Series(Figure {
            experiment: steady.to_owned(),
            workload: "plain".to_owned(),
            arm: "b".to_owned(),
            last,
            ..Figure::default()
        })
    };
    vec![
        Route::home(),
        Route::Home {
            first: other.to_owned(),
        },
        filtered(None, None, None),
        filtered(None, None, middle),
        filtered(Some("m1"), None, middle),
        filtered(None, Some("release"), middle),
        filtered(Some("m1"), Some("release"), None),
        Route::run(&latest),
        Route::File {
            id: latest.clone(),
            form: Form::Json,
        },
        Route::Compare(Pair::default()),
        Route::Compare(Pair {
            base: Some(format!("run{}", runs - 8)),
            with: Some(latest),
            ..Pair::default()
        }),
        figure(None),
        figure(Some(20)),
    ]
}

/// True if a step of a plan scans something that grows with the number of runs. The names and
/// places of a page are not tables.
fn reads_all(step: &str) -> bool {
    let small = ["SCAN names", "SCAN places", "SCAN CONSTANT ROW"];
    let scans = step.starts_with("SCAN") && !small.iter().any(|own| step.starts_with(own));
    scans || step.contains("AUTOMATIC")
}

#[test]
fn an_index_serves_every_statement_of_every_page() {
    let crowd = Crowd::of(10_000);
    for route in routes(10_000) {
        for (sql, plan) in crowd.plans(&route) {
            let bad: Vec<&String> = plan.iter().filter(|step| reads_all(step)).collect();
            assert!(bad.is_empty(), "{route}\n{sql}\n{plan:#?}");
        }
    }
    crowd
        .store
        .ask("SELECT id FROM runs WHERE note = 'shipped'");
    let plans = crowd.store.plans(&crowd.store.take_work());
    assert!(plans[0].1.iter().any(|step| reads_all(step)), "{plans:?}");
}

#[test]
fn lists_are_in_the_order_of_an_index() {
    let crowd = Crowd::of(1_000);
    let sorts = |step: &String| step.contains("TEMP B-TREE");
    for machine in [None, Some("m1".to_owned())] {
        let filter = Filter { machine, tag: None };
        let listed = crowd.store.runs_of("steady", &filter, Cursor::START, 50);
        assert_eq!(listed.unwrap().len(), 50);
        crowd.store.latest_runs(50).unwrap();
        for (sql, plan) in crowd.store.plans(&crowd.store.take_work()) {
            assert!(!plan.iter().any(sorts), "{sql}\n{plan:#?}");
        }
    }
}

#[test]
fn the_number_of_statements_does_not_grow_with_the_runs() {
    let (few, many) = (Crowd::of(400), Crowd::of(4_000));
    let count = |crowd: &Crowd, route: &Route| crowd.plans(route).len();
    for (a, b) in routes(400).iter().zip(&routes(4_000)) {
        let (few, many) = (count(&few, a), count(&many, b));
        assert_eq!(few, many, "{b}");
        // A run takes eight statements whatever it contains. The first page judges the latest ten
        // and six more, and reads six histories.
        let most = if *b == Route::home() { 220 } else { 130 };
        assert!(many <= most, "{b}: {many}");
    }
    // Summaries are cached: the places and the latest runs remain.
    assert_eq!(count(&many, &Route::home()), 2);
    assert!(count(&many, &routes(4_000)[2]) <= 5);
}

#[test]
fn a_store_that_is_read_refuses_to_be_written() {
    let mut crowd = Crowd::of(40);
    let refused = crowd.store.mark("run1", Some("mine"), None).unwrap_err();
    assert!(
        refused.to_string().contains("cannot be written"),
        "{refused}"
    );
}
