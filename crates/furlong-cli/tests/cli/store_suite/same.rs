//! The common behaviour of all engines.

use furlong_lab::record::line::Line;
use furlong_lab::record::store::{Status, Store};

use super::fixture::{PLACE, begun, blank, block, schedule};
use crate::databases::on_each;
use crate::lab::says;

#[test]
fn what_is_loaded_is_what_was_measured() {
    on_each(|location| {
        let mut ledger = begun(location, "abcd");
        ledger.freeze(PLACE, 123_456);
        let exact = |value| [("calls".to_owned(), value)].into();
        let values = [
            ("a".to_owned(), exact(Some(1.0 / 3.0))),
            ("b".to_owned(), exact(None)),
        ];
        ledger.set_exact(PLACE, &values.into());
        ledger.add_block(PLACE, &block(1));
        ledger.add_block(PLACE, &block(2));
        ledger.warn(PLACE, "odd".to_owned());
        ledger.close(Status::Interrupted, Some(1.25));
        assert!(ledger.kept());
        let store = Store::open_existing(location).unwrap();
        let saved = store.load("abcd").unwrap();
        assert_eq!(&saved.result, ledger.result());
        assert_eq!(
            (saved.status, saved.binary.as_str()),
            (Status::Interrupted, "binary")
        );
        assert_eq!(saved.margin_pct, Some(0.5));
        assert_eq!(store.schedule("abcd").unwrap(), schedule());
    });
}

#[test]
fn a_demoted_metric_is_loaded_as_a_sampled_one() {
    on_each(|location| {
        let mut ledger = begun(location, "abcd");
        let exact = [("a".to_owned(), [("calls".to_owned(), Some(2.0))].into())];
        ledger.set_exact(PLACE, &exact.into());
        ledger.demote(0, "calls", "it differs".to_owned());
        let mut measured = block(1);
        let sample = measured.samples.iter_mut().find(|one| one.runner == "a");
        sample.unwrap().values.insert("calls".to_owned(), 3.0);
        ledger.add_block(PLACE, &measured);
        let saved = Store::open_existing(location)
            .unwrap()
            .load("abcd")
            .unwrap();
        assert_eq!(&saved.result, ledger.result());
        let arms = &saved.result.experiments[0].workloads[0].arms;
        assert_eq!(arms[0].samples["calls"], [Some(3.0)], "the count is gone");
        assert_eq!(arms[1].samples["calls"], [None], "it failed");
        assert!(!arms[2].samples.contains_key("calls"), "not applicable");
    });
}

#[test]
fn a_block_is_stored_once() {
    on_each(|location| {
        let ledger = begun(location, "abcd");
        let mut store = Store::open(location).unwrap();
        let line = |block| Line::Block {
            place: PLACE,
            block,
        };
        store.put(ledger.result(), &line(block(1))).unwrap();
        let mut again = block(1);
        again.samples.truncate(1);
        store.put(ledger.result(), &line(again)).unwrap_err();
        let saved = store.load("abcd").unwrap().result;
        assert_eq!(saved.experiments[0].workloads[0].blocks, [1]);
        assert_eq!(saved.experiments[0].workloads[0].order[0].len(), 3);
        drop(ledger);
    });
}

#[test]
fn runs_come_latest_first_and_by_their_beginning() {
    on_each(|location| {
        let mut store = Store::open(location).unwrap();
        // The third has the latest time, although its local hour is the least; the last two have
        // the same second.
        let starts = [
            ("aaaa", "2026-01-02T00:00:00+00:00"),
            ("aabb", "2026-01-02T01:00:00+00:00"),
            ("ab_d", "2026-01-01T23:30:00-02:00"),
            ("b%cc", "2026-01-01T00:00:00+00:00"),
            ("bbcc", "2026-01-01T00:00:00+00:00"),
        ];
        for (id, started) in starts {
            store
                .begin(&blank(id, started), &schedule(), "binary")
                .unwrap();
        }
        let ids = |prefix: &str| -> Vec<String> {
            store
                .runs(prefix)
                .unwrap()
                .into_iter()
                .map(|run| run.id)
                .collect()
        };
        assert_eq!(ids(""), ["ab_d", "aabb", "aaaa", "bbcc", "b%cc"]);
        assert_eq!(ids("aa"), ["aabb", "aaaa"]);
        assert_eq!(ids("b%"), ["b%cc"]);
        assert_eq!(ids("_"), Vec::<String>::new());
    });
}

#[test]
fn a_run_has_one_owner_while_its_process_lives() {
    on_each(|location| {
        let mut ledger = begun(location, "abcd");
        let mut store = Store::open(location).unwrap();
        let told = store.claim("abcd").unwrap_err().to_string();
        says(&told, &[&format!("process {}", std::process::id())]);
        ledger.close(Status::Interrupted, None);
        store.claim("abcd").unwrap();
        assert_eq!(store.load("abcd").unwrap().status, Status::Running);
    });
}

#[test]
fn a_run_that_is_not_there_is_told() {
    on_each(|location| {
        let mut store = Store::open(location).unwrap();
        assert!(
            store
                .load("abcd")
                .unwrap_err()
                .to_string()
                .contains("there is no run abcd")
        );
        assert!(
            store
                .schedule("abcd")
                .unwrap_err()
                .to_string()
                .contains("there is no run abcd")
        );
        store.claim("abcd").unwrap_err();
    });
}

#[test]
fn a_run_that_is_imported_is_what_the_file_says() {
    on_each(|location| {
        let mut ledger = begun(location, "abcd");
        ledger.add_block(PLACE, &block(1));
        ledger.add_block(PLACE, &block(2));
        let mut result = ledger.result().clone();
        result.run.id = "efgh".to_owned();
        let mut store = Store::open(location).unwrap();
        store.import(&result).unwrap();
        assert_eq!(store.load("efgh").unwrap().result, result);
        store.import(&result).unwrap_err();
        assert_eq!(store.load("efgh").unwrap().status, Status::Finished);
    });
}

#[test]
fn what_is_marked_pinned_and_removed_is_so() {
    on_each(|location| {
        for id in ["abcd", "efgh"] {
            let mut ledger = begun(location, id);
            ledger.add_block(PLACE, &block(1));
            ledger.close(Status::Finished, None);
        }
        let mut store = Store::open(location).unwrap();
        store
            .mark("abcd", Some("release"), Some("it's shipped"))
            .unwrap();
        store.pin("abcd").unwrap();
        store.pin("efgh").unwrap();
        assert_eq!(store.pinned("m").unwrap().as_deref(), Some("efgh"));
        let tagged = store.tagged("release", 10).unwrap();
        assert_eq!(tagged.len(), 1);
        assert_eq!(tagged[0].note.as_deref(), Some("it's shipped"));
        assert!(!tagged[0].pinned && tagged[0].began_ms == 1_767_225_600_000);
        assert_eq!(store.machines().unwrap()[0].1, 2);
        let past = store.past("m", "race", 10).unwrap();
        assert_eq!(past.len(), 2);
        assert_eq!(past[0].result.experiments[0].workloads[0].blocks, [1]);
        store.remove(&["efgh"]).unwrap();
        store.compact().unwrap();
        assert_eq!(store.pinned("m").unwrap(), None);
        assert_eq!(store.listed("m", 10).unwrap().len(), 1);
        assert_eq!(store.experiments_of("m").unwrap(), ["race"]);
    });
}
