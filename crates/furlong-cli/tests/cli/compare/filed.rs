//! The history of comparisons: each has its own, by its commands or by its name.

use postgres::{Client, NoTls};
use rusqlite::Connection;
use serde_json::Value;

use crate::databases::Server;
use crate::lab::{Home, says, text};

/// A database of the first version, and comparisons in it.
const OLD: [&str; 2] = [
    include_str!("../vectors/store/version-1.sql"),
    include_str!("../vectors/store/version-1-compare.sql"),
];

/// A comparison of two blocks.
fn compared(home: &Home, arguments: &[&str]) -> String {
    let run = home.result(&[&["-r", "2", "--html", "none"], arguments].concat());
    run.run.id
}

/// The comparisons of a history, each with the number of runs in its series and their arms.
fn filed(home: &Home, arguments: &[&str]) -> Vec<(String, usize, Vec<String>)> {
    let json = [&["history", "--json", "-"], arguments].concat();
    let history: Value = serde_json::from_str(&home.ends(0, &json).0).unwrap();
    let experiments = history["experiments"].as_array().unwrap().iter();
    let one = |experiment: &Value| {
        let series = experiment["series"].as_array().unwrap();
        let points = |series: &Value| series["points"].as_array().unwrap().len();
        let arms = series
            .iter()
            .map(|one| one["arm"].as_str().unwrap().to_owned());
        let name = experiment["comparison"].as_str().unwrap_or("none");
        let runs = points(&series[0]);
        assert!(series.iter().all(|one| points(one) == runs), "{series:?}");
        (name.to_owned(), runs, arms.collect())
    };
    experiments.map(one).collect()
}

#[test]
fn comparisons_have_their_own_histories_whatever_the_arms_are_called() {
    let home = Home::new();
    let first = compared(&home, &["true", "sleep 0"]);
    compared(&home, &["-n", "fast", "-n", "slow", "true", " sleep  '0' "]);
    let other = compared(&home, &["sleep 0", "true"]);
    compared(&home, &["--name", "pause", "sleep 0", "sleep 0.001"]);
    compared(&home, &["--name", "pause", "sleep 0", "sleep 0.002"]);
    let arms = |names: [&str; 2]| names.map(str::to_owned).to_vec();
    let all = [
        ("'sleep 0' true".to_owned(), 1, arms(["sleep 0", "true"])),
        ("pause".to_owned(), 2, arms(["sleep 0", "sleep 0.002"])),
        ("true 'sleep 0'".to_owned(), 2, arms(["fast", "slow"])),
    ];
    assert_eq!(filed(&home, &["compare"]), all);
    // Without a choice, a single run is no series.
    assert_eq!(filed(&home, &[]), all[1..]);
    assert_eq!(filed(&home, &["pause"]), all[1..2]);
    assert_eq!(filed(&home, &["compare 'sleep 0' true"]), all[..1]);
    let (page, _) = home.ends(0, &["history"]);
    says(&page, &["compare: pause", "compare: true 'sleep 0'"]);
    let (list, _) = home.ends(0, &["list"]);
    says(&list, &["compare pause\n", "compare true 'sleep 0'\n"]);
    let (page, _) = home.ends(0, &["diff", &first, &other]);
    says(
        &page,
        &["no figure in common", "compare 'sleep 0' true: not in run"],
    );
    for wrong in ["", " ", "two\nlines", &"x".repeat(200)] {
        home.refuses(&["compare", "true", "true", "--name", wrong]);
    }
}

#[test]
fn older_databases_and_results_go_on_where_they_were() {
    let home = Home::new();
    let old = Connection::open(home.path("old.db")).unwrap();
    old.execute_batch(&OLD.concat()).unwrap();
    drop(old);
    let box_of = ["--machine", "box", "--db", "old.db"];
    let names = |home: &Home, more: &[&str]| -> Vec<(String, usize)> {
        let all = filed(home, &[more, &box_of[..]].concat());
        all.into_iter()
            .map(|(name, runs, _)| (name, runs))
            .collect()
    };
    let one = |name: &str, runs| (name.to_owned(), runs);
    let before = [
        one("none", 1),
        one("'sleep 0' 'sleep 0.01'", 1),
        one("'sleep 0' 'sleep 0.02'", 1),
    ];
    assert_eq!(names(&home, &["compare"]), before);
    // A file from before they had names, of commands that the store knows.
    let (export, _) = home.ends(0, &["export", "2imports", "--db", "old.db"]);
    let mut result: Value = serde_json::from_str(&export).unwrap();
    let experiment = result["experiments"][0].as_object_mut().unwrap();
    assert!(experiment.remove("comparison").is_some());
    result["run"]["id"] = "4another".into();
    home.write("old.json", result.to_string());
    home.ends(0, &["import", "old.json", "--db", "old.db"]);
    assert_eq!(
        names(&home, &["compare"])[2],
        one("'sleep 0' 'sleep 0.02'", 2)
    );
    // A new run of commands that the old schedule has.
    let output = home.run(&["sleep 0", "sleep 0.01", "-r", "2", "-q", "--db", "old.db"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let machine =
        "UPDATE runs SET machine_id = (SELECT machine_id FROM runs WHERE id = '1schedul'),
            machine = (SELECT machine FROM runs WHERE id = '1schedul');
        UPDATE experiments SET machine_id = (SELECT machine_id FROM runs WHERE id = '1schedul');";
    let store = Connection::open(home.path("old.db")).unwrap();
    store.execute_batch(machine).unwrap();
    assert_eq!(
        names(&home, &["compare"])[1],
        one("'sleep 0' 'sleep 0.01'", 2)
    );
    home.ends(0, &["show", "1schedul", "--db", "old.db"]);
}

#[test]
fn a_server_with_the_former_tables_goes_on_where_it_was() {
    let Some(server) = Server::start() else {
        return;
    };
    let (home, url) = (Home::new(), server.url());
    compared(&home, &["true", "sleep 0", "--db", &url]);
    let former = "SET search_path TO furlong; ALTER TABLE experiments DROP COLUMN comparison;
        ALTER TABLE runs DROP COLUMN dismissed;
        UPDATE experiments SET name = 'compare'; UPDATE version SET number = 4;";
    let mut client = Client::connect(&url, NoTls).unwrap();
    client.batch_execute(former).unwrap();
    compared(&home, &["true", "sleep  0", "--db", &url]);
    let all = filed(&home, &["compare", "--db", &url]);
    let found: Vec<_> = all
        .iter()
        .map(|(name, runs, _)| (name.as_str(), *runs))
        .collect();
    assert_eq!(found, [("true 'sleep 0'", 2)]);
}
