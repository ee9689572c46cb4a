//! Selection: from names to a schedule.

use std::fs;
use std::path::Path;

use super::{FILES, Selected, Selection, check_files, place_of};
use crate::error::{Error, Exit};
use crate::model::Counters;
use crate::model::schedule::{Batch, Schedule};
use crate::model::{Arm, Experiment, Outcome, Plan, Profile, Workload};

const PLAN: &str = r#"
    name = "race"
    question = "Which is faster?"
    arms = ["a", "b", "c"]
    full_blocks = 64
    seed_operations = 1000
    batch_s = { quick = 0.1, full = 0.5 }
    metrics = [
        { name = "time", unit = "ns", better = "lower", kind = "sampled", margin_pct = 1.0,
          about = "Time." },
        { name = "calls", unit = "1", better = "lower", kind = "exact", margin_pct = 0.1,
          about = "Calls." },
    ]
    workloads = [
        { name = "plain", about = "", quick = true, params = { nodes = 64 },
          smoke = { nodes = 4 } },
        { name = "ins", about = "" },
        { name = "rem", about = "", quick = true },
    ]
"#;

fn small(workload: &Workload) -> Option<String> {
    (workload.name == "ins").then(|| "at most 32".to_owned())
}

fn experiments() -> Vec<Experiment> {
    let arm = |name, na| Arm {
        na,
        ..Arm::new(name, |_| Ok(Outcome::default()))
    };
    let first = Experiment {
        plan: Plan::parse(PLAN).unwrap(),
        arms: vec![arm("a", |_| None), arm("b", small), arm("c", |_| None)],
        files: || vec![("b", "/dev/null".into()), ("z", "/dev/null".into())],
    };
    let renamed = PLAN
        .replace("race", "sprint")
        .replace(r#""plain""#, r#""dash""#);
    let renamed = renamed.replace(r#"["a", "b", "c"]"#, r#"["a", "z"]"#);
    let second = Experiment {
        plan: Plan::parse(&renamed).unwrap(),
        arms: vec![arm("a", |_| None), arm("z", |_| None)],
        files: Vec::new,
    };
    vec![first, second]
}

fn all(profile: Profile) -> Selection {
    Selection {
        experiments: vec![],
        arms: vec![],
        workloads: vec![],
        profile,
        blocks: None,
        seed: 1,
        margin_pct: None,
        timeout_s: None,
        counters: Counters::Auto,
        seed_sizes: false,
    }
}

fn named(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn workloads(schedule: &Schedule, place: usize) -> Vec<&str> {
    schedule.experiments[place]
        .workloads
        .iter()
        .map(|scheduled| scheduled.workload.name.as_str())
        .collect()
}

fn resolved(selection: &Selection) -> Result<Selected, Error> {
    selection.resolve(&experiments())
}

fn refused(selection: &Selection) -> String {
    let error = resolved(selection).unwrap_err();
    assert_eq!(error.exit, Exit::Usage);
    error.message
}

#[test]
fn quick_takes_the_marked_workloads_and_says_what_it_left_out() {
    let schedule = resolved(&all(Profile::Quick)).unwrap().schedule;
    assert_eq!(workloads(&schedule, 0), ["plain", "rem"]);
    let left_out = &schedule.experiments[0].left_out;
    assert_eq!(
        left_out,
        &["ins: runs under --profile full, or when it is named"]
    );
    assert!(
        schedule.experiments[0]
            .workloads
            .iter()
            .all(|scheduled| scheduled.blocks == 10)
    );
    assert_eq!(
        schedule.experiments[0].workloads[0].batch,
        Batch::Seconds(0.1)
    );
}

#[test]
fn quick_waits_for_a_slow_arm_only_where_the_workload_is_named() {
    let mut experiments = experiments();
    experiments[0].arms[2].waits =
        |workload| (workload.name == "rem").then(|| "minutes".to_owned());
    let na = |selection: &Selection| {
        let schedule = selection.resolve(&experiments).unwrap().schedule;
        let workloads = schedule.experiments[0].workloads.clone().into_iter();
        let mut rem = workloads.filter(|scheduled| scheduled.workload.name == "rem");
        let rem = rem.next();
        rem.unwrap().na.get("c").cloned()
    };
    let quick = all(Profile::Quick);
    let why = "minutes; runs when the workload is named";
    assert_eq!(na(&quick).as_deref(), Some(why));
    let workloads = named(&["plain", "rem"]);
    assert_eq!(na(&Selection { workloads, ..quick }), None);
    assert_eq!(na(&all(Profile::Full)), None);
    assert_eq!(na(&all(Profile::Smoke)), None);
}

#[test]
fn full_and_smoke_take_all_with_their_own_sizes() {
    let full = resolved(&all(Profile::Full)).unwrap().schedule;
    assert_eq!(workloads(&full, 0), ["plain", "ins", "rem"]);
    assert_eq!(
        full.experiments[0].workloads[0].workload.params["nodes"],
        64
    );
    assert_eq!(full.experiments[0].workloads[0].blocks, 64);
    let smoke = resolved(&all(Profile::Smoke)).unwrap().schedule;
    assert_eq!(workloads(&smoke, 0), ["plain", "ins", "rem"]);
    assert_eq!(
        smoke.experiments[0].workloads[0].workload.params["nodes"],
        4
    );
    assert_eq!(
        (
            smoke.experiments[0].workloads[0].blocks,
            smoke.experiments.len()
        ),
        (3, 2)
    );
}

#[test]
fn an_arm_says_what_it_cannot_run() {
    let schedule = resolved(&all(Profile::Full)).unwrap().schedule;
    let ins = &schedule.experiments[0].workloads[1];
    assert_eq!(ins.na["b"], "at most 32");
    assert!(ins.has("a") && !ins.has("b"));
}

#[test]
fn a_workload_that_one_arm_alone_can_run_is_measured_for_that() {
    let mut selection = all(Profile::Full);
    selection.arms = named(&["b", "c"]);
    let schedule = resolved(&selection).unwrap().schedule;
    assert_eq!(workloads(&schedule, 0), ["plain", "ins", "rem"]);
    let ins = &schedule.experiments[0].workloads[1];
    assert!(ins.has("c") && !ins.has("b"));
}

#[test]
fn a_workload_that_no_arm_can_run_is_left_out_with_its_reasons() {
    let mut experiments = experiments();
    for arm in &mut experiments[0].arms {
        arm.na = small;
    }
    let schedule = all(Profile::Full).resolve(&experiments).unwrap().schedule;
    assert_eq!(workloads(&schedule, 0), ["plain", "rem"]);
    let cannot = |arm| format!("`{arm}` cannot run it: at most 32");
    let reasons = ["a", "b", "c"].map(cannot).join("; ");
    assert_eq!(
        schedule.experiments[0].left_out,
        [format!("ins: {reasons}")]
    );
}

#[test]
fn named_workloads_run_under_any_profile() {
    let mut selection = all(Profile::Quick);
    selection.workloads = named(&["ins", "dash"]);
    let selected = resolved(&selection).unwrap();
    assert_eq!(workloads(&selected.schedule, 0), ["ins"]);
    assert_eq!(workloads(&selected.schedule, 1), ["dash", "ins"]);
    assert!(selected.schedule.experiments[0].left_out.is_empty());
}

#[test]
fn an_experiment_without_the_named_workload_is_left_out_and_that_is_said() {
    let mut selection = all(Profile::Quick);
    selection.workloads = named(&["dash"]);
    let selected = resolved(&selection).unwrap();
    assert_eq!(selected.schedule.experiments.len(), 1);
    assert_eq!(selected.schedule.experiments[0].name, "sprint");
    assert_eq!(
        selected.notes,
        ["left out race: it has none of the named workloads"]
    );
}

#[test]
fn the_own_baseline_stays_the_baseline_wherever_it_is_named() {
    let mut selection = all(Profile::Smoke);
    selection.experiments = named(&["race"]);
    selection.arms = named(&["c", "b", "a", "c"]);
    let selected = resolved(&selection).unwrap();
    assert_eq!(selected.schedule.experiments[0].arms, ["a", "c", "b"]);
    assert!(selected.notes.is_empty());
}

#[test]
fn without_it_the_first_named_arm_is_the_baseline_and_that_is_said() {
    let mut selection = all(Profile::Smoke);
    selection.experiments = named(&["race"]);
    selection.arms = named(&["c", "b"]);
    let selected = resolved(&selection).unwrap();
    assert_eq!(selected.schedule.experiments[0].arms, ["c", "b"]);
    assert!(
        selected.notes[0].contains("the baseline is `c`"),
        "{:?}",
        selected.notes
    );
}

#[test]
fn one_arm_alone_is_refused() {
    let mut selection = all(Profile::Smoke);
    selection.arms = named(&["b"]);
    let why = refused(&selection);
    assert!(
        why.contains("nothing to compare it with (arms: a, b, c)"),
        "{why}"
    );
}

#[test]
fn names_that_nobody_knows_are_refused_with_the_nearest() {
    let mut selection = all(Profile::Quick);
    selection.experiments = named(&["rase"]);
    assert!(refused(&selection).contains("did you mean `race`? There are: race, sprint"));
    selection = all(Profile::Quick);
    selection.arms = named(&["a", "q"]);
    assert!(refused(&selection).contains("unknown arm `q`"));
    selection = all(Profile::Quick);
    selection.experiments = named(&["race"]);
    selection.workloads = named(&["dash"]);
    assert!(refused(&selection).ends_with("there are: plain, ins, rem"));
}

#[test]
fn without_counters_only_what_is_sampled_is_measured() {
    let mut selection = all(Profile::Quick);
    selection.counters = Counters::None;
    let schedule = resolved(&selection).unwrap().schedule;
    let metrics: Vec<&str> = schedule.experiments[0]
        .metrics
        .iter()
        .map(|metric| metric.name.as_str())
        .collect();
    assert_eq!(metrics, ["time"]);
}

#[test]
fn the_sizes_of_the_document_and_the_blocks_of_the_user_go_first() {
    let mut selection = all(Profile::Full);
    selection.seed_sizes = true;
    selection.blocks = Some(7);
    let schedule = resolved(&selection).unwrap().schedule;
    let scheduled = &schedule.experiments[0].workloads[0];
    assert_eq!(
        (scheduled.batch, scheduled.blocks),
        (Batch::Operations(1000), 7)
    );
}

#[test]
fn an_schedule_survives_its_way_through_the_store() {
    let schedule = resolved(&all(Profile::Full)).unwrap().schedule;
    let text = serde_json::to_string(&schedule).unwrap();
    assert_eq!(serde_json::from_str::<Schedule>(&text).unwrap(), schedule);
}

#[test]
fn files_that_arms_measure_are_in_the_record_with_their_fingerprints() {
    let schedule = resolved(&all(Profile::Smoke)).unwrap().schedule;
    let facts = &schedule.experiments[0].workloads[0].facts["files"];
    assert_eq!(facts["b"]["path"], "/dev/null");
    assert_eq!(facts["b"]["fingerprint"].as_str().unwrap().len(), 16);
    assert!(facts.get("z").is_none(), "no arm of this run");
    assert!(schedule.experiments[1].workloads[0].facts.is_empty());
}

#[test]
fn a_run_goes_on_with_the_files_with_which_it_began_and_no_others() {
    let library = tempfile::tempdir().unwrap();
    let library = library.path().join("libarm.so");
    let mut schedule = resolved(&all(Profile::Smoke)).unwrap().schedule;
    let scheduled = &mut schedule.experiments[0];
    let known = experiments();
    let experiment = known.iter().find(|one| one.plan.name == scheduled.name);
    let experiment = experiment.unwrap();
    check_files(scheduled, experiment).unwrap();
    let file = &mut scheduled.workloads[0].facts.get_mut(FILES).unwrap()["b"];
    file["path"] = library.display().to_string().into();
    check_files(scheduled, experiment).unwrap();
    let file = &mut scheduled.workloads[0].facts.get_mut(FILES).unwrap()["b"];
    file["fingerprint"] = "0123456789abcdef".into();
    let refused = check_files(scheduled, experiment).unwrap_err().to_string();
    let expected = format!("{} of arm `b` is another file", library.display());
    assert!(refused.contains(&expected), "{refused}");
}

#[test]
fn a_file_of_a_repository_is_named_from_its_root() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("checkout/target/libarm.so");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    assert_eq!(place_of(&file), file.display().to_string());
    // In a worktree `.git` is a file; in a clone it is a folder.
    fs::write(home.path().join("checkout/.git"), "gitdir: elsewhere").unwrap();
    assert_eq!(place_of(&file), "target/libarm.so");
    let of_the_system = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2";
    assert_eq!(place_of(Path::new(of_the_system)), of_the_system);
}
