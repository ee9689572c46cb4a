//! `furlong run`, `show`, `list` and `sample` from a user's view.

use std::fs;

use crate::lab::{EXPERIMENT, Home, ended, is_drawn, is_spoiler, read, says, words};
use furlong_lab::model::Outcome;
use furlong_lab::model::result::{Kind, ResultFile};

#[test]
fn a_smoke_run_measures_every_arm_of_every_block() {
    let home = Home::new();
    let result = home.smoke(&["--seed", "7"]);
    assert_eq!((result.run.profile.as_str(), result.run.seed), ("smoke", 7));
    let experiment = &result.experiments[0];
    assert_eq!(experiment.name, EXPERIMENT);
    assert!(!experiment.workloads.is_empty());
    for workload in &experiment.workloads {
        assert_eq!(workload.blocks, [1, 2, 3]);
        assert!(workload.params["operations"].as_u64().unwrap() > 0);
        for metric in &experiment.metric_order {
            let exact = experiment.metrics[metric].kind == Kind::Exact;
            for arm in &workload.arms {
                assert_eq!(arm.samples[metric].len(), if exact { 1 } else { 3 });
                assert!(arm.samples[metric].iter().all(Option::is_some));
            }
            assert_eq!(workload.control.contains_key(metric), !exact);
        }
        is_drawn(workload, 7);
    }
}

#[test]
fn three_blocks_come_to_no_verdict() {
    let home = Home::new();
    let result = home.smoke(&[]);
    let workloads = result
        .experiments
        .iter()
        .flat_map(|experiment| &experiment.workloads);
    for comparison in workloads.flat_map(|workload| &workload.comparisons) {
        let verdict = format!("{:?}", comparison.verdict);
        assert!(
            comparison.ci95_pct.is_none() || verdict == "Inconclusive",
            "{comparison:?}"
        );
    }
}

#[test]
fn the_table_goes_to_stdout_and_talk_to_stderr() {
    let home = Home::new();
    let (stdout, stderr) = home.ends(0, &["run", EXPERIMENT, "--profile", "smoke"]);
    says(&stdout, &[EXPERIMENT, "inconclusive"]);
    assert!(!stdout.contains('\u{1b}') && !stderr.contains('\u{1b}'));
    says(&stderr, &["furlong show --details"]);
    let count = |text: &str| text.lines().count();
    assert!(
        !stdout.contains("also measured") && count(&stdout) < 24,
        "{stdout}"
    );
    let (details, stderr) = home.ends(0, &["show", "--details"]);
    assert!(
        count(&details) > 2 * count(&stdout) && stderr.is_empty(),
        "{details}{stderr}"
    );
    says(&details, &["also measured", "lower is better", "control"]);
}

#[test]
fn the_tour_asks_one_question_of_each_system_and_quotes_the_readme() {
    let home = Home::new();
    let run = "run iova-gap --profile tour --blocks 2 --seed 1 --json tour.json";
    let (stdout, stderr) = home.ends(0, &words(run));
    says(&stderr, &["the tour: a question to each of 1 experiment"]);
    says(
        &stdout,
        &[
            "README: 0.75 to 1.9 times as fast",
            "furlong compare 'A' 'B'",
        ],
    );
    let result = read(&home.path("tour.json"));
    let [workload] = &result.experiments[0].workloads[..] else {
        panic!("one workload")
    };
    let arms: Vec<&str> = workload.arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(
        (workload.name.as_str(), &arms[..]),
        ("scattered-10k", &["scan", "summary"][..])
    );
    let none = home.refuses(&words("run tree-order --profile tour"));
    says(&none, &["it has no part in the tour"]);
}

#[test]
fn every_figure_of_the_tour_is_in_the_readme() {
    let readme = include_str!("../../../../README.md");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments");
    let mut questions = 0;
    for entry in fs::read_dir(root).unwrap() {
        let Ok(text) = fs::read_to_string(entry.unwrap().path().join("plan.toml")) else {
            continue;
        };
        let plan: toml::Table = text.parse().unwrap();
        let Some(tour) = plan.get("tour") else {
            continue;
        };
        let start = format!("| [{}](", plan["name"].as_str().unwrap());
        let row = readme
            .lines()
            .find(|line| line.starts_with(&start))
            .unwrap();
        let quoted = tour["readme"].as_str().unwrap();
        let is_figure = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
        for figure in quoted.split(' ').filter(is_figure) {
            assert!(
                row.contains(figure),
                "{figure} of {quoted:?} is not in {row}"
            );
        }
        questions += 1;
    }
    assert_eq!(questions, 5, "one for each system");
}

#[test]
fn quiet_says_nothing_but_warnings() {
    let home = Home::new();
    let (stdout, stderr) = home.ends(0, &["run", EXPERIMENT, "--profile", "smoke", "-q"]);
    assert!(stdout.contains(EXPERIMENT));
    assert!(stderr.lines().all(is_spoiler), "{stderr}");
}

#[test]
fn a_dash_puts_the_json_alone_on_stdout() {
    let home = Home::new();
    let arguments = ["run", EXPERIMENT, "--profile", "smoke", "--json", "-"];
    let (stdout, stderr) = home.ends(0, &arguments);
    let result: ResultFile = serde_json::from_str(&stdout).unwrap();
    assert_eq!(result.schema, "furlong.result/1");
    says(&stderr, &["inconclusive"]);
}

#[test]
fn every_report_is_written_where_it_was_asked_for() {
    let home = Home::new();
    let reports = ["--csv", "r.csv", "--md", "r.md", "--html", "r.html"];
    home.smoke(&[&reports[..], &["--junit", "r.xml"]].concat());
    let of = |name| fs::read_to_string(home.path(name)).unwrap();
    assert!(of("r.csv").lines().count() > 9);
    assert!(of("r.md").contains(EXPERIMENT));
    assert!(of("r.html").contains("<html"));
    let suite = of("r.xml");
    let cases = roxmltree::Document::parse(&suite).unwrap();
    let cases = cases
        .descendants()
        .filter(|node| node.has_tag_name("testcase"));
    let class = format!("{EXPERIMENT}.");
    let mut classes = cases.map(|case| case.attribute("classname").unwrap().to_owned());
    assert!(classes.next().unwrap().starts_with(&class) && classes.count() > 2);
    assert!(!home.path("data/furlong/reports").exists());
}

#[test]
fn a_page_is_kept_in_the_data_directory_unless_it_is_not_wanted() {
    let home = Home::new();
    let result = home.smoke(&[]);
    let page = home
        .path("data/furlong/reports")
        .join(format!("{}.html", result.run.id));
    assert!(fs::read_to_string(page).unwrap().contains(EXPERIMENT));
    let home = Home::new();
    home.smoke(&["--html", "none"]);
    assert!(!home.path("data/furlong/reports").exists());
    let home = Home::new();
    home.smoke(&["--db", "none"]);
    assert!(!home.path("data").exists());
}

#[test]
fn names_that_nobody_knows_are_refused_with_the_nearest() {
    let home = Home::new();
    let near = format!("did you mean `{EXPERIMENT}`?");
    says(&home.refuses(&["run", &format!("{EXPERIMENT}x")]), &[&near]);
    says(
        &home.refuses(&["run", EXPERIMENT, "--workloads", "plian"]),
        &["`plain`"],
    );
    says(
        &home.refuses(&["run", EXPERIMENT, "--arms", "nobody,none"]),
        &["`nobody`"],
    );
    assert!(!home.path("data").exists());
}

#[test]
fn options_that_say_nothing_sensible_are_refused() {
    let home = Home::new();
    for wrong in [
        ["--blocks", "0"],
        ["--blocks", "many"],
        ["--margin", "-1"],
        ["--margin", "NaN"],
        ["--timeout", "0"],
        ["--seed", "-5"],
        ["--profile", "fast"],
        ["--counters", "all"],
        ["--fail-on", "keep"],
    ] {
        let (_, stderr) = home.ends(2, &["run", EXPERIMENT, wrong[0], wrong[1]]);
        assert!(stderr.contains(wrong[0]), "{wrong:?}: {stderr}");
    }
    home.ends(2, &["run", "--resume", "abc", "--blocks", "3"]);
    home.ends(2, &["jump"]);
}

#[test]
fn a_report_that_cannot_be_written_is_said_before_measuring() {
    let home = Home::new();
    fs::create_dir(home.path("folder")).unwrap();
    for path in ["nowhere/r.json", "folder", "/proc/r.json"] {
        let said = home.refuses(&["run", EXPERIMENT, "--profile", "smoke", "--json", path]);
        says(&said, &[path]);
    }
    assert!(!home.path("data").exists(), "nothing was begun");
}

#[test]
fn a_condition_that_holds_is_the_exit_code() {
    let home = Home::new();
    let fails_on = |code, condition| {
        let run = words("run tree-order --profile smoke --fail-on");
        home.ends(code, &[&run[..], &[condition]].concat());
    };
    fails_on(3, "inconclusive");
    fails_on(3, "revert,inconclusive");
    fails_on(0, "revert");
}

#[test]
fn a_sample_without_end_fails_and_so_does_the_run() {
    let home = Home::new();
    let run = words("run tree-order --profile smoke --timeout 0.000001");
    let (_, stderr) = home.ends(1, &run);
    says(&stderr, &["took more than 0.000001 s", "samples missing: "]);
}

#[test]
fn the_users_defaults_hold_until_an_option_says_otherwise() {
    let home = Home::new();
    let settings =
        "profile = 'smoke'\nblocks = 2\njson = 'kept.json'\nhtml = 'none'\ntag = 'mine'\n";
    home.write("furlong.toml", settings);
    home.ends(0, &["run", EXPERIMENT, "--blocks", "1"]);
    let result = read(&home.path("kept.json"));
    assert_eq!(
        (result.run.profile.as_str(), result.run.tag.as_deref()),
        ("smoke", Some("mine"))
    );
    assert_eq!(result.experiments[0].workloads[0].blocks, [1]);
    assert!(!home.path("data/furlong/reports").exists());
    home.write("furlong.toml", "profile = 'smoke'\nblock = 2\n");
    says(
        &home.refuses(&["run"]),
        &["furlong.toml: line 2: unknown field `block`"],
    );
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let home = Home::new();
    for arguments in [&["list"][..], &["run", EXPERIMENT, "--profile", "smoke"]] {
        let mut child = home.furlong(arguments).spawn().unwrap();
        drop(child.stdout.take());
        let (_, said) = ended(0, &child.wait_with_output().unwrap());
        assert!(!said.contains("panicked"), "{said}");
    }
}

#[test]
fn show_prints_what_run_printed() {
    let home = Home::new();
    let (first, _) = home.ends(0, &["run", EXPERIMENT, "--profile", "smoke"]);
    let (shown, _) = home.ends(0, &["show", "--json", "shown.json"]);
    assert_eq!(shown, first);
    let result = read(&home.path("shown.json"));
    let (second, _) = home.ends(0, &words("run tree-order --profile smoke --json 2.json"));
    assert_eq!(home.ends(0, &["show"]).0, second);
    assert_eq!(home.ends(0, &["show", &result.run.id]).0, first);
    assert_eq!(home.ends(0, &["show", &result.run.id[..5]]).0, first);
    // Equal to the last digit, verdicts included.
    home.ends(0, &["show", "--json", "3.json"]);
    assert_eq!(read(&home.path("2.json")), read(&home.path("3.json")));
}

#[test]
fn show_refuses_a_run_that_is_not_there() {
    let home = Home::new();
    says(&home.refuses(&["show"]), &["there is no database"]);
    says(&home.refuses(&["show", "--db", "none"]), &["--db none"]);
    let id = home.smoke(&[]).run.id;
    let said = home.refuses(&["show", "uuu"]);
    says(&said, &["no run begins with `uuu`", &id]);
}

#[test]
fn the_list_has_arms_workloads_and_the_last_verdict() {
    let home = Home::new();
    let (before, _) = home.ends(0, &["list"]);
    says(
        &before,
        &[EXPERIMENT, "not run yet", "(baseline)", "plain*"],
    );
    assert!(!home.path("data").exists(), "a list makes no database");
    // A smoke run gives no verdict; a quick one of two blocks gives an inconclusive one.
    home.smoke(&[]);
    assert!(home.ends(0, &["list"]).0.contains("not run yet"));
    home.ends(0, &words("run tree-order --blocks 2 --workloads ins"));
    let (after, _) = home.ends(0, &["list"]);
    says(&after, &["inconclusive (ins)"]);
}

#[test]
fn a_sample_is_one_line_of_json() {
    let home = Home::new();
    let list = home.ends(0, &["list"]).0;
    assert!(
        !home.ends(0, &["--help"]).0.contains("sample"),
        "the verb is hidden"
    );
    let arm = list
        .lines()
        .skip_while(|line| *line != EXPERIMENT)
        .find_map(|line| line.trim().strip_prefix("arms "))
        .unwrap();
    let arm = arm.split_whitespace().next().unwrap();
    let sample = |seed: &str| {
        let smoke = ["--profile", "smoke", "--operations", "100", "--seed", seed];
        let (stdout, stderr) = home.ends(
            0,
            &[&["sample", EXPERIMENT, "plain", arm][..], &smoke].concat(),
        );
        assert_eq!((stdout.lines().count(), stderr.as_str()), (1, ""));
        serde_json::from_str::<Outcome>(&stdout).unwrap()
    };
    let (one, same, other) = (sample("3"), sample("3"), sample("4"));
    assert!(one.operations >= 100 && one.elapsed_s > 0.0);
    assert_eq!(one.digest, same.digest);
    assert_ne!(one.digest, other.digest);
    says(
        &home.refuses(&["sample", EXPERIMENT, "plain", "x"]),
        &["unknown arm `x`"],
    );
    says(
        &home.refuses(&["sample", "x", "plain", arm]),
        &["unknown experiment"],
    );
    says(
        &home.refuses(&["sample", EXPERIMENT, "x", arm]),
        &["unknown workload"],
    );
}
