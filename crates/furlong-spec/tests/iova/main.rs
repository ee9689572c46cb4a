//! The library's space compared with the model over random operations: every arm, anywhere in the
//! 64-bit range.
//!
//! Runs an eighth of a million operations for each arm; `examples/iova_oracle.rs` runs more.
#![forbid(unsafe_code)]

mod domain;
mod exhaustive;
mod known_bugs;
mod memory;
mod mistakes;
mod ranges;
#[path = "../spoiled/mod.rs"]
mod spoiled;
mod state;
mod visits;

use furlong::addr::{Address, Extent, Iova};
use furlong::iova::{Boundary, Config, Counts, Custom, Largest, Runs, Standard};
use furlong::rbtree::{Checked, Deferred, Eager};
use furlong_spec::heap::Failing;
use furlong_spec::iova::{
    Geometry, Granted, Mix, Model, Operation, Outcome, Place, Promise, SpaceSubject, operations,
    trial, trial_of,
};
use furlong_spec::{Judge, Subject, Through, judge};

#[global_allocator]
static HEAP: Failing = Failing;

const PAGE: u64 = 4096;

/// Some pages of the 64-bit range, up to its last byte.
fn pages(first: u64, count: u64) -> Extent<Iova> {
    let last = (first + count).wrapping_mul(PAGE).wrapping_sub(1);
    Extent::from_last(Iova::new(first * PAGE), Iova::new(last)).expect("it is not reversed")
}

fn agrees<C: Config>(promise: Promise) {
    let trial = trial_of(SpaceSubject::<C>::new, promise, 0..9);
    let trial = trial.unwrap_or_else(|divergence| panic!("{divergence}"));
    // A stream with refusals only would compare nothing.
    let (operations, granted) = (trial.operations(), trial.count(|name| name == "granted"));
    assert!(operations >= 120_000, "{trial}");
    assert!(granted > operations / 6, "{trial}");
    assert!(trial.refused() > operations / 20, "{trial}");
}

#[test]
fn the_checked_arm_agrees_with_the_model() {
    agrees::<Standard>(Promise::Looks(0));
}

#[test]
fn the_eager_arm_agrees_with_the_model() {
    agrees::<Custom<Largest, Eager>>(Promise::Looks(0));
}

#[test]
fn the_deferred_arm_agrees_with_the_model() {
    agrees::<Custom<Largest, Deferred>>(Promise::Looks(0));
}

#[test]
fn the_measure_of_runs_agrees_with_the_model() {
    agrees::<Custom<Runs<4>, Checked>>(Promise::Looks(4));
}

#[test]
fn the_measure_of_counts_agrees_with_the_model() {
    agrees::<Custom<Counts<4>, Checked>>(Promise::Looks(0));
}

#[test]
fn the_measure_of_a_boundary_agrees_with_the_model() {
    agrees::<Custom<Boundary<2, Boundary<3>>, Checked>>(Promise::Bounded(2));
    agrees::<Custom<Boundary<1, Runs<4>>, Checked>>(Promise::Looks(4));
}

#[test]
fn a_space_without_memory_refuses_and_stays_as_it_was() {
    let build = |geometry, seed| {
        let extents = seed as usize % 9;
        let model = Model::new(geometry, Promise::Looks(0)).with_room(extents);
        (
            SpaceSubject::<Standard, _>::with_room(geometry, extents),
            model,
        )
    };
    trial(build, 0..9).unwrap_or_else(|divergence| panic!("{divergence}"));
}

/// The same outcome one granule higher.
fn moved(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Granted(granted) => {
            let up = |extent: Extent<Iova>| {
                let start = extent.start().checked_add(1)?;
                Extent::from_last(start, extent.last())
            };
            match (up(granted.extent), up(granted.data)) {
                (Some(extent), Some(data)) => Outcome::Granted(Granted { extent, data }),
                _ => Outcome::Granted(granted),
            }
        }
        other => other,
    }
}

#[test]
fn a_wrong_subject_is_told_from_the_model() {
    let geometry = Geometry::low(64, 1);
    let found = |change: fn(&Operation, Outcome) -> Outcome| {
        let mut subject = Through::new(SpaceSubject::<Standard>::new(geometry), change);
        let stream = operations(geometry, Mix::Steady, 1000, 1);
        let mut model = Model::new(geometry, Promise::Looks(0));
        judge(&mut model, &mut subject, stream)
    };
    assert_eq!(found(|_, outcome| outcome), Ok(()));
    assert!(found(|_, outcome| moved(outcome)).is_err());
    let no_reserve = |_: &Operation, outcome| match outcome {
        Outcome::Granted(_) => Outcome::NoGrant,
        other => other,
    };
    assert!(found(no_reserve).is_err());
    let swapped = |operation: &Operation, outcome| match operation {
        Operation::Free => Outcome::Reserved(Vec::new()),
        _ => outcome,
    };
    assert!(found(swapped).is_err());
}

#[test]
fn a_place_that_another_policy_takes_is_not_allowed() {
    let geometry = Geometry::low(8, 4096);
    let request = furlong::iova::Request::new(4096);
    let places = [Place::Lowest, Place::Highest];
    for (asked, taken) in [(places[0], places[1]), (places[1], places[0])] {
        let mut model = Model::new(geometry, Promise::Looks(0));
        let taken = model.clone().apply(&Operation::Reserve(request, taken));
        let judged = model.judge(&Operation::Reserve(request, asked), &taken);
        assert!(judged.is_err(), "{taken:?} for {asked:?}");
        let any = model.judge(&Operation::Reserve(request, Place::Random(0)), &taken);
        // The judge has kept its own place for the first request.
        assert_eq!(any, Ok(()), "{taken:?}");
    }
}
