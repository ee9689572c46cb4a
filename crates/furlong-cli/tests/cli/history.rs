//! The history from a user's view: steps are found and noise is not, machines are kept apart, and
//! runs are imported, exported and removed without loss.

use std::fs;
use std::path::PathBuf;

use crate::lab::{EXPERIMENT, Home, read, says};
use furlong_lab::model::result::{Kind, Metric, ResultFile};
use furlong_stats::random::Random;

/// A committed record of the experiment.
const RECORD: &str = "../../experiments/tree-order/results/2026-11-22-aa07094.json";

/// An arm other than the baseline.
const ARM: &str = "checked";

fn record() -> ResultFile {
    read(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(RECORD))
}

/// The id of a test's run.
fn name(number: usize) -> String {
    format!("run{number:05}")
}

/// The record as if measured again on a later day: all figures differ slightly, and the arm's also
/// by a factor.
fn again(number: usize, factor: f64) -> ResultFile {
    let mut result = record();
    result.run.id = name(number);
    result.run.started = format!(
        "2026-01-{:02}T{:02}:00:00+00:00",
        1 + number / 24,
        number % 24
    );
    let mut random = Random::new(number as u64);
    for experiment in &mut result.experiments {
        for workload in &mut experiment.workloads {
            let day = 1.0 + 0.01 * random.normal();
            for arm in &mut workload.arms {
                let own = if arm.name == ARM { factor } else { 1.0 };
                let noise = 1.0 + 0.002 * random.normal();
                for value in arm.samples.values_mut().flatten().flatten() {
                    *value *= day * noise * own;
                }
            }
            for control in workload.control.values_mut() {
                control
                    .samples
                    .iter_mut()
                    .flatten()
                    .for_each(|value| *value *= day);
            }
        }
    }
    result
}

fn put(home: &Home, result: &ResultFile) -> String {
    let file = format!("{}.json", result.run.id);
    home.put(&file, result);
    file
}

fn import(home: &Home, results: impl Iterator<Item = ResultFile>) {
    let files: Vec<String> = results.map(|result| put(home, &result)).collect();
    let mut arguments = vec!["import", "-q"];
    arguments.extend(files.iter().map(String::as_str));
    home.ends(0, &arguments);
}

#[test]
fn a_step_is_named_with_its_run_and_noise_is_not() {
    let home = Home::new();
    let factor = |number| if number < 15 { 1.0 } else { 1.05 };
    import(&home, (0..24).map(|number| again(number, factor(number))));
    let (page, _) = home.ends(0, &["history", EXPERIMENT, "--workloads", "plain"]);
    let notes = page.lines().filter(|line| line.starts_with("- "));
    let (noise, found): (Vec<&str>, Vec<&str>) = notes.partition(|line| line.contains(NOISE));
    assert_eq!((noise.len(), found.len()), (1, 1), "{page}");
    assert!(found[0].contains(&format!("plain, {ARM} / ")), "{page}");
    let named = [name(14), name(15), name(16)];
    assert!(
        named.iter().any(|run| page.contains(run.as_str())),
        "{page}"
    );
    let (page, _) = home.ends(0, &["history"]);
    says(&page, &[&name(23)]);
    // A metric that no run has, and a misspelled experiment, are refused.
    let (_, none) = home.ends(2, &["history", "--metric", "no_such_metric"]);
    says(&none, &["no stored run has this figure"]);
    let (_, other) = home.ends(2, &["history", "tree-oder"]);
    says(&other, &["`tree-order`"]);
}

#[test]
fn a_step_that_is_marked_as_none_is_not_reported_again() {
    let home = Home::new();
    let factor = |number| if number < 15 { 1.0 } else { 1.05 };
    import(&home, (0..24).map(|number| again(number, factor(number))));
    let (json, _) = home.ends(
        0,
        &["history", EXPERIMENT, "--workloads", "plain", "--json", "-"],
    );
    let found: serde_json::Value = serde_json::from_str(&json).unwrap();
    let series = found["experiments"][0]["series"].as_array().unwrap();
    let run = series
        .iter()
        .find_map(|one| one["steps"][0]["run"].as_str())
        .unwrap();
    let page = || {
        home.ends(0, &["history", EXPERIMENT, "--workloads", "plain"])
            .0
    };
    let step = format!("from run {run} ");
    let marked = format!("run {run} is marked as no change");
    home.ends(0, &["mark", run, "--not-a-change"]);
    let dismissed = page();
    assert!(
        dismissed.contains(&marked) && !dismissed.contains(&step),
        "{dismissed}"
    );
    // It remains so when more runs come.
    import(&home, (24..30).map(|number| again(number, 1.05)));
    let later = page();
    assert!(!later.contains("from run "), "{later}");
    home.ends(0, &["mark", run, "--a-change"]);
    let back = page();
    assert!(back.contains(&step) && !back.contains(&marked), "{back}");
    home.ends(2, &["mark", run, "--a-change", "--not-a-change"]);
}

/// The sentence about the historic noise, up to its figure.
const NOISE: &str = "plain: in 95 of 100 runs the baseline differed from itself by at most ";

#[test]
fn twenty_runs_tell_how_far_the_baseline_is_from_itself() {
    let home = Home::new();
    let all: Vec<ResultFile> = (0..20).map(|number| again(number, 1.0)).collect();
    import(&home, all[..19].iter().cloned());
    let history = ["history", EXPERIMENT, "--workloads", "plain"];
    let (page, _) = home.ends(0, &history);
    assert!(!page.contains(NOISE), "{page}");
    import(&home, all[19..].iter().cloned());
    let (page, _) = home.ends(0, &history);
    let told = page.split_once(NOISE).unwrap().1;
    let told: f64 = told
        .split(' ')
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap();
    // Nearly all of the runs are within it, but not all.
    let off = |result: &ResultFile| {
        let experiment = &result.experiments[0];
        let workload = experiment
            .workloads
            .iter()
            .find(|one| one.name == "plain")
            .unwrap();
        let metric = &experiment.metric_order[0];
        let pairs = workload.control[metric].samples.iter();
        let pairs = pairs.zip(&workload.arms[0].samples[metric]);
        let logs: Vec<f64> = pairs.map(|(c, a)| (c.unwrap() / a.unwrap()).ln()).collect();
        100.0
            * (logs.iter().sum::<f64>() / logs.len() as f64)
                .abs()
                .exp_m1()
    };
    let beyond = all.iter().filter(|one| off(one) > told + 0.05).count();
    assert!(beyond <= 1, "{beyond} are beyond {told}");
    let within = all.iter().filter(|one| off(one) < told - 0.05).count();
    assert!((15..20).contains(&within), "{within} are within {told}");
}

#[test]
fn machines_are_never_put_together() {
    let home = Home::new();
    let mut elsewhere = again(1, 3.0);
    elsewhere.run.machine.id = "ffff".to_owned();
    elsewhere.run.machine.host = "elsewhere".to_owned();
    import(&home, [again(0, 1.0), elsewhere].into_iter());
    let (page, _) = home.ends(0, &["history", EXPERIMENT, "--machine", "elsewhere"]);
    let plain = page.lines().find(|line| line.starts_with("plain"));
    assert!(plain.unwrap().contains(" 1 "), "one run alone: {page}");
    let told = home.refuses(&["history", "--machine", "nowhere"]);
    says(&told, &["elsewhere with"]);
    let both = [&name(0)[..], &name(1)];
    let told = home.refuses(&["diff", both[0], both[1]]);
    says(&told, &["--across-machines"]);
    let (_, talk) = home.ends(0, &["diff", both[0], both[1], "--across-machines"]);
    says(&talk, &["of elsewhere"]);
}

#[test]
fn a_difference_has_its_verdict_and_can_fail_a_build() {
    let home = Home::new();
    let mut tolerant = again(2, 1.3);
    for workload in &mut tolerant.experiments[0].workloads {
        let comparisons = workload.comparisons.iter_mut();
        comparisons.for_each(|one| one.margin_pct = 50.0);
    }
    import(&home, [again(0, 1.0), again(1, 1.3), tolerant].into_iter());
    let (before, after) = (&name(0)[..], &name(1)[..]);
    let compare = ["diff", before, after];
    let (page, _) = home.ends(0, &compare);
    let line = page
        .lines()
        .find(|line| line.contains(&format!("{ARM} / ")));
    assert!(line.unwrap().contains("revert"), "{page}");
    home.ends(3, &["diff", before, after, "--fail-on", "revert"]);
    home.ends(0, &["diff", after, before, "--fail-on", "revert"]);
    // This run was measured with a margin of its own.
    let fails = "--fail-on=revert,inconclusive";
    home.ends(0, &["diff", before, &name(2), fails]);
    let told = home.refuses(&["diff", before, before]);
    says(&told, &["name two"]);
    home.refuses(&["diff"]);
}

#[test]
fn a_margin_of_one_workload_stays_its_own() {
    let home = Home::new();
    let mut result = again(0, 1.03);
    let own = &mut result.experiments[0].workloads[0];
    own.params.insert("margin_pct".to_owned(), 5.into());
    own.comparisons
        .iter_mut()
        .for_each(|one| one.margin_pct = 5.0);
    import(&home, [result].into_iter());
    let (out, _) = home.ends(0, &["export", &name(0)]);
    let back: ResultFile = serde_json::from_str(&out).unwrap();
    let margins = back.experiments[0].workloads.iter().map(|workload| {
        let comparisons = workload.comparisons.iter();
        comparisons.map(|one| one.margin_pct).collect::<Vec<f64>>()
    });
    let all: Vec<Vec<f64>> = margins.collect();
    let is_own = |all: &[f64]| !all.is_empty() && all.iter().all(|margin| *margin == 5.0);
    assert_eq!([is_own(&all[0]), is_own(&all[1])], [true, false], "{all:?}");
}

/// An exact metric.
const COUNT: &str = "count";

#[test]
fn counts_of_different_inputs_are_no_facts_about_a_change() {
    let home = Home::new();
    let runs = [(0, 1, 100.0), (1, 2, 101.0), (2, 1, 102.0)];
    import(
        &home,
        runs.into_iter().map(|(number, seed, count)| {
            let mut result = again(number, 1.0);
            result.run.seed = seed;
            let experiment = &mut result.experiments[0];
            experiment.metric_order.push(COUNT.to_owned());
            let sampled = experiment.metrics.values().next().unwrap().clone();
            let (kind, primary) = (Kind::Exact, false);
            let exact = Metric {
                kind,
                primary,
                ..sampled
            };
            experiment.metrics.insert(COUNT.to_owned(), exact);
            let arms = experiment
                .workloads
                .iter_mut()
                .flat_map(|one| &mut one.arms);
            for arm in arms.filter(|arm| arm.na.is_none()) {
                arm.samples.insert(COUNT.to_owned(), vec![Some(count)]);
            }
            result
        }),
    );
    let [first, other, same] = [0, 1, 2].map(name);
    // Of the same input, a count that differs by anything is a change.
    let (page, _) = home.ends(0, &["diff", &first, &same, "--metric", COUNT]);
    says(&page, &["+2.0", "exact"]);
    let compare = ["diff", &first, &other, "--metric", COUNT];
    let (page, _) = home.ends(0, &compare);
    says(
        &page,
        &["is an exact count, and the inputs differ", "--seed"],
    );
    let told = home.refuses(&[&compare[..], &["--fail-on", "revert"]].concat());
    says(&told, &["--fail-on would prove nothing"]);
    let (page, _) = home.ends(0, &["history", EXPERIMENT, "--metric", COUNT]);
    // A fact is told of runs with one input only.
    says(&page, &["from run run00002", "(exact)"]);
    assert!(!page.contains("from run run00001"), "{page}");
}

#[test]
fn a_copy_with_more_blocks_is_not_dropped_in_silence() {
    let home = Home::new();
    let mut part = again(0, 1.0);
    let workload = &mut part.experiments[0].workloads[0];
    drop((workload.blocks.pop(), workload.order.pop()));
    let arms = workload
        .arms
        .iter_mut()
        .flat_map(|arm| arm.samples.values_mut());
    let control = workload
        .control
        .values_mut()
        .map(|control| &mut control.samples);
    for samples in arms.chain(control).filter(|samples| samples.len() > 1) {
        samples.pop();
    }
    import(&home, [part].into_iter());
    let file = put(&home, &again(0, 1.0));
    says(
        &home.refuses(&["import", &file]),
        &[" blocks, and this copy has "],
    );
}

#[test]
fn a_run_that_goes_out_and_comes_in_is_the_same() {
    let home = Home::new();
    let smoke = home.smoke(&["--tag", "first", "--note", "a remark"]);
    let id = smoke.run.id.as_str();
    let (out, _) = home.ends(0, &["export", "latest"]);
    home.write("out.json", &out);
    home.ends(0, &["import", "out.json", "--db", "other.db"]);
    let (back, _) = home.ends(0, &["export", id, "--db", "other.db"]);
    assert_eq!(back, out);
    let (_, talk) = home.ends(0, &["import", "out.json", "--db", "other.db"]);
    says(&talk, &["is stored already"]);
    home.ends(0, &["export", "tag:first", "--to", "."]);
    assert_eq!(
        fs::read_to_string(home.path(&format!("{id}.json"))).unwrap(),
        out
    );
}

/// A change to a result that makes it contradict itself.
type Break = fn(&mut ResultFile);

#[test]
fn what_contradicts_itself_is_refused_and_nothing_of_it_is_stored() {
    let home = Home::new();
    import(&home, [again(0, 1.0)].into_iter());
    let breaks: [(&str, Break); 6] = [
        ("schema", |result| {
            result.schema = "furlong.result/2".to_owned();
        }),
        ("is not a valid name", |result| {
            result.run.id = "../up".to_owned();
        }),
        ("is not a time", |result| {
            result.run.started = "soon".to_owned();
        }),
        ("orders", |result| {
            drop(result.experiments[0].workloads[0].order.pop());
        }),
        ("not in order", |result| {
            result.experiments[0].workloads[0].blocks.reverse();
        }),
        ("twice", |result| {
            let first = result.experiments[0].clone();
            result.experiments.push(first);
        }),
    ];
    for (what, spoil) in breaks {
        let mut result = again(1, 1.0);
        spoil(&mut result);
        home.put("bad.json", &result);
        let good = put(&home, &again(2, 1.0));
        let told = home.refuses(&["import", &good, "bad.json"]);
        says(&told, &["bad.json is inconsistent", what]);
    }
    home.write("bad.json", "{}");
    says(
        &home.refuses(&["import", "bad.json"]),
        &["is not a result of furlong"],
    );
    says(
        &home.refuses(&["import", "gone.json"]),
        &["cannot read gone.json"],
    );
    let mut changed = again(0, 1.0);
    changed.run.started = "2026-02-01T00:00:00Z".to_owned();
    let file = put(&home, &changed);
    says(
        &home.refuses(&["import", &file]),
        &["already has a different run run00000"],
    );
    let (page, _) = home.ends(0, &["history"]);
    assert!(!page.contains(&name(2)), "all or none: {page}");
}

#[test]
fn marks_find_runs_and_keep_them() {
    let home = Home::new();
    import(&home, (0..5).map(|number| again(number, 1.0)));
    home.ends(
        0,
        &["mark", &name(1), "--tag", "release", "--note", "shipped"],
    );
    home.ends(0, &["mark", &name(2), "--pin"]);
    let (page, _) = home.ends(0, &["history"]);
    let line = |number| {
        page.lines()
            .find(|line| line.starts_with(&name(number)))
            .unwrap()
    };
    assert!(
        line(1).contains("release") && line(1).contains("shipped"),
        "{page}"
    );
    assert!(line(2).contains("pinned"), "{page}");
    let (would, _) = home.ends(0, &["prune", "--keep", "1", "--dry-run"]);
    says(&would, &["would be removed", &name(0)]);
    home.ends(0, &["prune", "--keep", "1"]);
    let (page, _) = home.ends(0, &["history"]);
    let kept: Vec<bool> = (0..5).map(|number| page.contains(&name(number))).collect();
    assert_eq!(kept, [false, true, true, false, true], "{page}");
    home.ends(0, &["mark", "tag:release", "--tag", ""]);
    says(
        &home.refuses(&["show", "tag:release"]),
        &["no run has the tag"],
    );
    home.refuses(&["mark", &name(4)]);
    home.refuses(&["prune"]);
}

#[test]
fn a_pruned_run_takes_its_page_along_and_no_other() {
    let home = Home::new();
    let id = || home.smoke(&[]).run.id;
    let (gone, tagged, kept) = (id(), id(), id());
    home.ends(0, &["mark", &tagged, "--tag", "keep"]);
    let page = |id: &str| home.path(&format!("data/furlong/reports/{id}.html"));
    home.write("data/furlong/reports/other.html", "not of this store");
    let bytes = fs::metadata(page(&gone)).unwrap().len();
    home.ends(0, &["prune", "--keep", "1", "--dry-run"]);
    assert!(page(&gone).exists());
    let (told, _) = home.ends(0, &["prune", "--keep", "1"]);
    says(&told, &[&gone, &format!("{bytes} of 1 HTML pages")]);
    let freed = told.split_once("Freed ").unwrap().1;
    let freed: u64 = freed.split(' ').next().unwrap().parse().unwrap();
    assert!(freed > bytes, "the database is smaller, too: {told}");
    assert!(!page(&gone).exists());
    for there in [&tagged, &kept, "other"] {
        assert!(page(there).exists(), "{there}");
    }
}

#[test]
fn machines_of_a_class_are_one_machine() {
    let home = Home::new();
    let run = |class: &[&str]| {
        let compare = [
            "true", "true", "-r", "6", "--margin", "1000", "--html", "none",
        ];
        let result = home.result(&[&compare[..], class].concat());
        (result.run.id, result.run.machine)
    };
    let of_ci = ["--machine-class", "ci-2cpu"];
    let (first, machine) = run(&of_ci);
    assert_eq!(machine.class.as_deref(), Some("ci-2cpu"));
    home.ends(0, &["mark", "latest", "--pin"]);
    // As if another machine had measured it: another host, kernel and boot.
    let store = rusqlite::Connection::open(home.path("data/furlong/furlong.db")).unwrap();
    let elsewhere = "UPDATE runs SET machine = json_set(machine, '$.host', 'runner-1',
        '$.kernel', 'Linux 4.9')";
    store.execute(elsewhere, []).unwrap();
    drop(store);
    let guard = ["diff", "pinned", "latest", "--fail-on", "revert"];
    let told = home.refuses(&guard);
    says(&told, &["no run of", "is pinned"]);
    let (second, again) = run(&of_ci);
    assert_eq!(again.id, machine.id);
    let (page, _) = home.ends(0, &guard);
    says(
        &page,
        &[&format!("Run {second} against {first}"), "runner-1"],
    );
    let (page, _) = home.ends(0, &["history", "--machine", "ci-2cpu"]);
    says(
        &page,
        &["Runs on machines of class ci-2cpu", &first, &second],
    );
    // Other classes, and this machine without one, are other machines.
    let (large, other) = run(&["--machine-class", "ci-large"]);
    assert_ne!(other.id, machine.id);
    let told = home.refuses(&["diff", &first, &large]);
    says(
        &told,
        &[
            "is of class ci-2cpu",
            "of class ci-large",
            "--across-machines",
        ],
    );
    home.ends(0, &[&guard[..], &of_ci].concat());
    let (plain, here) = run(&[]);
    assert!(here.class.is_none());
    home.refuses(&["diff", &first, &plain]);
    home.refuses(&["compare", "true", "true", "--machine-class", "two words"]);
}
