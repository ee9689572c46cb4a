//! The peers as arms of `vmspace-index`: they give the same answers as the library, and each
//! missing result has a reason.
#![forbid(unsafe_code)]

mod beside;
mod needed;

use beside::{experiment, raced};
use furlong_experiments::vmspace_index::{AreaIndex, Span};
use furlong_lab::model::Profile;
use furlong_peers::linux;
use furlong_peers::vmspace::{ByLast, ByStart, EXPERIMENT, Intervals, Overlaps, Ranges, arms};
use furlong_spec::maple::{Model, Operation, Outcome as Answer};
use furlong_spec::{Random, Subject as _};
use needed::has_linux;

/// The range of addresses that are tried.
const LAST: u64 = 400;

/// A random range of up to 40 addresses.
fn drawn(random: &mut Random) -> Span {
    let first = random.below(LAST);
    Span::of_len(first, 1 + random.below((LAST - first).min(40)))
}

/// The start of the room that the model finds, if any.
fn room(answer: Answer) -> Option<u64> {
    match answer {
        Answer::Room(room) => room.map(|(first, _)| first),
        other => panic!("{other:?} is no room"),
    }
}

/// Applies the same operations to a peer and the model: areas are stored, erased and searched for.
fn agrees_with_the_model<I: AreaIndex>(goes_down: bool) {
    for seed in 0..4 {
        let random = &mut Random::new(seed);
        let (mut peer, mut model) = (I::new(), Model::new());
        for step in 0..1500 {
            let context = format!("seed {seed}, step {step}");
            let Span { first, last } = drawn(random);
            let len = 1 + random.below(9);
            let lowest = room(model.apply(&Operation::LowestGap(len, first, last)));
            let window = Span { first, last };
            assert_eq!(peer.lowest(window, len), lowest, "{context}: {window:?}");
            if goes_down {
                let highest = room(model.apply(&Operation::HighestGap(len, first, last)));
                assert_eq!(peer.highest(window, len), highest, "{context}: {window:?}");
            }
            let there = model.pieces().iter().copied();
            let owner = there.clone().find(|one| one.0 <= first && first <= one.1);
            let number = owner.map(|(.., value)| value);
            assert_eq!(peer.find(first), number, "{context}: {first}");
            match (owner, lowest) {
                (Some((first, last, value)), _) if random.below(3) == 0 => {
                    model.apply(&Operation::Erase(first));
                    let erased = peer.erase(Span { first, last });
                    assert_eq!(erased, Some(value), "{context}");
                }
                (_, Some(first)) => {
                    let Span { first, last } = Span::of_len(first, len);
                    model.apply(&Operation::Insert(first, last, step));
                    peer.store(Span { first, last }, step);
                }
                _ => {}
            }
        }
        let mixed = |sum: u64, (first, last, value): (u64, u64, u32)| {
            sum.wrapping_add(Span { first, last }.mixed(value))
        };
        let all = model.pieces().iter().copied();
        assert_eq!(peer.duplicate().sum(), all.clone().fold(0, mixed));
        let odd = all.filter(|(.., value)| value % 2 == 1);
        let part = peer.duplicate_part(|value| value % 2 == 1);
        assert_eq!(part.sum(), odd.fold(0, mixed), "seed {seed}");
        assert!(model.pieces().len() > 5, "seed {seed}");
    }
}

#[test]
fn every_peer_agrees_with_the_specification() {
    agrees_with_the_model::<ByStart>(true);
    agrees_with_the_model::<ByLast>(true);
    agrees_with_the_model::<Ranges>(true);
    agrees_with_the_model::<Intervals>(true);
    agrees_with_the_model::<Overlaps>(false);
}

#[test]
fn linux_s_maple_tree_agrees_with_the_specification() {
    if has_linux("Linux's maple tree against the specification") {
        agrees_with_the_model::<linux::SharedAreas>(true);
        agrees_with_the_model::<linux::OwnedAreas>(true);
    }
}

#[test]
fn every_peer_answers_as_the_library_does() {
    let experiment = experiment(EXPERIMENT);
    let raced = raced(&experiment, &experiment.arms[0], &arms(), 500);
    assert!(raced.len() >= 5 * 20, "{raced:?}");
}

#[test]
fn what_is_more_than_an_index_is_left_to_the_library() {
    let experiment = experiment(EXPERIMENT);
    for arm in arms() {
        let why = |name: &str| {
            let load = experiment.plan.workload(name).expect("the plan has it");
            (arm.na)(&load.under(Profile::Smoke))
        };
        assert_eq!(
            why("readers-1").as_deref(),
            Some("it does not support readers during writes")
        );
        assert_eq!(
            why("kernbench").as_deref(),
            Some("it is not an address space")
        );
        let above = (arm.name == "iset").then(|| "no search from above".to_owned());
        assert_eq!((why("gap-low"), why("gap-high")), (None, above));
    }
}

#[test]
fn a_search_through_all_areas_is_left_out_where_it_would_take_minutes() {
    let experiment = experiment(EXPERIMENT);
    let btreemap = &arms()[0];
    let why = |name: &str, profile| {
        let load = experiment.plan.workload(name).expect("the plan has it");
        (btreemap.na)(&load.under(profile))
    };
    for name in ["gap-none", "churn-1m"] {
        let reason = why(name, Profile::Full).expect("it is left out");
        assert!(reason.contains("all areas"), "{name}: {reason}");
        assert_eq!(why(name, Profile::Smoke), None, "{name}");
    }
    assert_eq!(why("churn-64k", Profile::Full), None);
    // Seconds a sample are too long only for a quick run.
    let load = experiment
        .plan
        .workload("churn-64k")
        .expect("the plan has it");
    let waits = |profile| (btreemap.waits)(&load.under(profile));
    assert!(
        waits(Profile::Quick)
            .expect("it is slow")
            .contains("all areas")
    );
    assert_eq!(waits(Profile::Smoke), None);
}
