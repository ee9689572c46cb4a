//! Whole samples of all arms.

use furlong_spec::phys_map::REAL_MAPS;
use serde_json::json;

use super::{experiment, shape::Shape};
use furlong_lab::agreement::{arms_agree, counts_repeat};
use furlong_lab::model::{Arm, Failure, Profile, Request, Workload};

fn workload(name: &str) -> Workload {
    let plan = experiment().plan;
    plan.workload(name).unwrap().under(Profile::Smoke)
}

fn request(workload: &Workload, operations: u64, exact: bool) -> Request {
    Request {
        workload: workload.clone(),
        seed: 7,
        operations,
        exact,
    }
}

/// The arms that can run a workload.
fn arms(workload: &Workload) -> Vec<Arm> {
    let mut arms = experiment().arms;
    arms.retain(|arm| (arm.na)(workload).is_none());
    arms
}

#[test]
fn the_arms_agree_on_every_workload() {
    for (load, outcomes) in arms_agree(&experiment(), 3000) {
        for outcome in outcomes {
            assert!(outcome.operations >= 3000, "{load}");
            assert!(outcome.metrics["time_ns_per_lookup"] > 0.0, "{load}");
        }
    }
}

#[test]
fn counts_are_the_same_every_time_and_answers_those_of_all_arms() {
    for (load, outcomes) in counts_repeat(&experiment(), |_| true, 2000) {
        for outcome in &outcomes {
            assert_eq!(outcome.digest, outcomes[0].digest, "{load}");
            assert!(outcome.metrics["index_bytes_per_gib"] > 0.0, "{load}");
        }
    }
}

#[test]
fn another_seed_asks_for_other_frames() {
    for name in ["find-1k", "frag-1m", "frag-1m-rand", "fleet", "map-laptop"] {
        let load = workload(name);
        let arm = &arms(&load)[1];
        let one = (arm.run)(&request(&load, 1000, true)).unwrap();
        let other = Request {
            seed: 8,
            ..request(&load, 1000, true)
        };
        let other = (arm.run)(&other).unwrap();
        assert_ne!(one.digest, other.digest, "{name}");
    }
}

#[test]
fn tables_are_looked_at_in_as_many_places_however_many_segments_there_are() {
    let probes = |load: &str, name: &str| {
        let load = workload(load);
        let arm = arms(&load).into_iter().find(|arm| arm.name == name);
        let outcome = (arm.unwrap().run)(&request(&load, 5000, true)).unwrap();
        outcome.metrics["probes_per_lookup"]
    };
    for load in ["find-1k", "frag-1m", "frag-256m"] {
        assert_eq!(probes(load, "flat"), 1.0, "{load}");
        assert!((1.0..=2.0).contains(&probes(load, "direct")), "{load}");
    }
    // 32 are halved to 1, and 97 segments to 1; the others stop at the matching segment.
    assert_eq!(probes("find-1k", "array-branchless"), 5.0);
    assert_eq!(probes("frag-256m", "array-branchless"), 7.0);
    assert!((3.5..5.0).contains(&probes("find-1k", "array")));
    assert!((3.5..5.5).contains(&probes("find-1k", "rbtree")));
    assert!(probes("frag-256m", "rbtree") > 5.0);
}

#[test]
fn an_arm_says_what_it_cannot_have() {
    let plan = experiment().plan;
    let limits = |name: &str, profile| {
        let load = plan.workload(name).unwrap().under(profile);
        let arms = experiment().arms.into_iter();
        let told = arms.filter_map(|arm| Some((arm.name, (arm.na)(&load)?)));
        told.collect::<Vec<_>>()
    };
    let array = [("array", "supports at most 32 segments".to_owned())];
    let flat = [("flat", "supports frames below 256 GiB only".to_owned())];
    for profile in [Profile::Smoke, Profile::Full] {
        for name in ["frag-1m", "frag-64m", "frag-128m", "frag-256m-rand"] {
            assert_eq!(limits(name, profile), array, "{name}");
        }
        assert_eq!(limits("fleet", profile), [&array[..], &flat[..]].concat());
        for name in ["find-100m", "guard", "plug-race", "map-two-socket"] {
            assert!(limits(name, profile).is_empty(), "{name}");
        }
    }
    assert_eq!(limits("map-arm64-server", Profile::Full), flat);
    assert_eq!(limits("maps", Profile::Full), flat);
}

#[test]
fn rounds_are_whole() {
    let load = workload("find-100");
    let outcome = (arms(&load)[0].run)(&request(&load, 250, false)).unwrap();
    assert_eq!(outcome.operations, 300);
    let maps = workload("maps");
    let outcome = (arms(&maps)[0].run)(&request(&maps, 1, false)).unwrap();
    assert_eq!(outcome.operations, 5 * 4096);
}

#[test]
fn each_real_map_has_a_workload() {
    let plan = experiment().plan;
    for map in &REAL_MAPS {
        let name = format!("map-{}", map.name);
        assert!(plan.workload(&name).is_some(), "{name}");
    }
}

#[test]
fn a_workload_that_makes_no_sense_is_refused_by_name() {
    let refused = |load: Workload| {
        let name = &load.name;
        let Failure(why) = Shape::of(&load).unwrap_err();
        assert!(why.starts_with(&format!("`{name}`")), "{why}");
        // The run reports it without a panic.
        let arm = &experiment().arms[3];
        let run = (arm.run)(&request(&load, 1, false));
        assert_eq!(run, Err(Failure(why.clone())));
        why
    };
    let with = |name: &str, (param, value): (&str, u64)| {
        let mut load = workload(name);
        load.params.insert(param.to_owned(), value);
        refused(load)
    };
    assert!(with("find-1k", ("calls", 0)).contains("`calls` is a number"));
    assert!(with("frag-1m", ("end_mib", 1)).contains("`end_mib` is a number from 2 to 2048"));
    assert!(with("frag-1m", ("end_mib", 4096)).contains("`end_mib` is a number from 2 to 2048"));
    assert!(with("frag-1m", ("start_mib", 0)).contains("`start_mib` is a number from 1 to 1"));
    assert!(with("frag-1m", ("start_mib", 2)).contains("`start_mib` is a number from 1 to 1"));
    assert!(with("fleet", ("segments", 1)).contains("from 2 to 100000"));
    assert!(with("maps", ("scale", 0)).contains("`scale` is a number"));
    assert!(with("plug-race", ("pairs_per_s", 0)).contains("`pairs_per_s`"));
    let mut load = workload("find-1k");
    load.params.clear();
    assert!(refused(load).contains("`calls` is a number"));
    let unknown = [
        (json!({ "map": "toaster" }), "there is no map `toaster`"),
        (json!({ "guard": "random" }), "expected unit"),
        (json!("lookup"), "unknown variant"),
    ];
    for (kind, why) in unknown {
        let load = Workload {
            kind,
            ..workload("guard")
        };
        let said = refused(load);
        assert!(said.contains(why), "{said}");
    }
}
