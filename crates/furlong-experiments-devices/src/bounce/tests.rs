//! Whole samples of all arms, and pools with defects.
#![forbid(unsafe_code)]

use furlong::bounce::{AreaFirst, LockFree, Locked, Off, PoolFirst};
use serde_json::json;

use super::YieldingLock;
use super::mapper::Mapper;
use super::shape::{Kind, Shape};
use super::slots::Slots;
use crate::{bounce_area, bounce_order};
use furlong_lab::agreement::{arms_agree, counts_repeat};
use furlong_lab::model::{Arm, Experiment, Failure, Profile, Request, Workload};

fn experiments() -> [Experiment; 2] {
    [bounce_order::experiment(), bounce_area::experiment()]
}

fn request(workload: &Workload, operations: u64, exact: bool) -> Request {
    Request {
        workload: workload.under(Profile::Smoke),
        seed: 7,
        operations,
        exact,
    }
}

#[test]
fn the_arms_agree_on_every_workload_and_have_its_metrics() {
    for experiment in experiments() {
        let plan = &experiment.plan;
        for (name, outcomes) in arms_agree(&experiment, 500) {
            let load = plan.workload(&name).unwrap();
            for outcome in outcomes {
                assert!(outcome.operations >= 500, "{name}");
                for metric in &plan.metrics {
                    let sampled = metric.kind == furlong_lab::model::result::Kind::Sampled;
                    let has = outcome.metrics.contains_key(&metric.name);
                    let expected = sampled && load.has(&metric.name);
                    assert_eq!(has, expected, "{name}: {}", metric.name);
                }
            }
        }
    }
}

#[test]
fn counts_are_the_same_every_time() {
    for experiment in experiments() {
        let counted = |load: &Workload| load.has("areas_probed_per_map");
        for (name, outcomes) in counts_repeat(&experiment, counted, 2000) {
            for outcome in outcomes {
                assert!(outcome.metrics["areas_probed_per_map"] >= 1.0, "{name}");
                assert!(outcome.metrics["slots_probed_per_map"] >= 64.0, "{name}");
            }
        }
    }
}

#[test]
fn the_own_area_of_every_block_is_nearer_than_those_of_others() {
    let experiment = bounce_order::experiment();
    let areas = |load: &str, arm: &Arm| {
        let outcome = (arm.run)(&request(&load_of(load), 8192, true)).unwrap();
        outcome.metrics["areas_probed_per_map"]
    };
    let [pool_first, area_first] = [0, 1].map(|arm| experiment.arms[arm]);
    // A mapping that fits into the CPU's own area probes no other one.
    for load in [
        "empty-4k-4t",
        "outstanding-16-4k-4t",
        "outstanding-16-64k-2t",
    ] {
        assert_eq!(areas(load, &pool_first), 1.0, "{load}");
        assert_eq!(areas(load, &area_first), 1.0, "{load}");
    }
    // A lone worker probes the same number of areas in either order.
    assert_eq!(
        areas("overflow-4k-1t", &pool_first),
        areas("overflow-4k-1t", &area_first)
    );
    for load in [
        "overflow-4k-2t",
        "overflow-4k-4t",
        "overflow-64k-4t",
        "4way-ram",
    ] {
        let (before, after) = (areas(load, &pool_first), areas(load, &area_first));
        assert!(after < before, "{load}: {before}, {after}");
    }
}

fn load_of(name: &str) -> Workload {
    let plan = bounce_order::experiment().plan;
    plan.workload(name).unwrap().clone()
}

#[test]
fn what_a_workload_cannot_mean_is_refused_by_its_name() {
    let refused = |name: &str, params: &[(&str, u64)]| {
        let params = params.iter();
        let workload = Workload {
            params: params
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect(),
            ..load_of(name)
        };
        let Failure(why) = Shape::of(&workload).unwrap_err();
        assert!(why.contains(&format!("`{name}`")), "{why}");
        why
    };
    let tape = Workload {
        kind: json!({ "io": "tape" }),
        ..load_of("small-ram")
    };
    let Failure(why) = Shape::of(&tape).unwrap_err();
    assert!(
        why.starts_with("`small-ram`") && why.contains("`tape`"),
        "{why}"
    );
    let alone = ("threads", 1);
    let why = refused("empty-4k-1t", &[("block_kib", 4), alone]);
    assert!(why.contains("`outstanding`"), "{why}");
    for bad in [0, u64::MAX] {
        let why = refused(
            "empty-4k-1t",
            &[("block_kib", bad), alone, ("outstanding", 1)],
        );
        assert!(why.contains("`block_kib`"), "{why}");
    }
    // The largest mapping is 256 KiB, and the pool has 4 MiB.
    for (kib, outstanding) in [(260, 1), (256, 17), (4, 1025)] {
        let why = refused(
            "overflow-4k-1t",
            &[("block_kib", kib), alone, ("outstanding", outstanding)],
        );
        assert!(why.contains("there is room for"), "{why}");
    }
    let queue = [
        ("block_kib", 4),
        alone,
        ("queue_depth", 9),
        ("part_kib", 32),
    ];
    assert!(refused("small-ram", &queue).contains("fewer blocks than its queue"));
}

#[test]
fn every_workload_of_the_plans_means_something() {
    for experiment in experiments() {
        for load in &experiment.plan.workloads {
            for profile in [Profile::Smoke, Profile::Full] {
                let shape = Shape::of(&load.under(profile)).unwrap();
                let is_io = matches!(shape.kind, Kind::Io(_));
                assert_eq!(is_io, load.has("bandwidth_mib_s"), "{}", load.name);
                assert_eq!(
                    is_io,
                    load.params.contains_key("queue_depth"),
                    "{}",
                    load.name
                );
            }
        }
    }
}

#[test]
fn a_slot_that_is_not_given_back_is_missed() {
    let leaky = Slots::<AreaFirst, LockFree, Off>::new(4).unwrap();
    assert!(leaky.map(4096).is_some());
    let Failure(why) = leaky.finish().unwrap_err();
    assert_eq!(why, "only 2046 of 2048 slots are free at the end");
    let other = Slots::<PoolFirst, Locked<YieldingLock>, Off>::new(4).unwrap();
    let at = other.map(65536).unwrap();
    other.unmap(at, 65536).unwrap();
    assert!(other.unmap(at, 65536).is_err());
    other.finish().unwrap();
}
