//! Every question in every small space, and every sequence of operations in one of 12 granules.
//!
//! `examples/iova_oracle.rs` goes further.
#![forbid(unsafe_code)]

use furlong::addr::Iova;
use furlong::iova::{Config, Counts, Custom, Request, Runs, Standard};
use furlong::rbtree::{Deferred, Eager};
use furlong_spec::iova::{
    Geometry, Model, Operation, Place, Promise, Questions, SpaceSubject, Swept, sequences,
};
use furlong_spec::{Subject, judge};

fn holds(swept: Swept) -> u64 {
    swept.unwrap_or_else(|divergence| panic!("{divergence}"))
}

fn answers<C: Config>(questions: &Questions, promise: Promise) -> u64 {
    holds(questions.sweep(SpaceSubject::<C>::new, promise))
}

#[test]
fn every_question_in_every_space_of_five_granules_is_answered_right() {
    // A quarter of all bytes is the whole of 64 bits where there are four.
    for geometry in [
        Geometry::low(5, 1),
        Geometry::high(5, 4096),
        Geometry::low(4, 1 << 62),
    ] {
        let asked = answers::<Standard>(&Questions::windows(geometry), Promise::Looks(0));
        assert!(asked > 100_000, "{asked} questions");
        answers::<Standard>(&Questions::exclusions(geometry), Promise::Looks(0));
    }
}

#[test]
fn every_question_is_answered_right_with_every_measure() {
    let small = Geometry::high(4, 4096);
    for questions in [Questions::windows(small), Questions::exclusions(small)] {
        answers::<Custom<Runs<3>>>(&questions, Promise::Looks(3));
        answers::<Custom<Runs<1>>>(&questions, Promise::Looks(1));
        answers::<Custom<Counts<3>>>(&questions, Promise::Looks(0));
        answers::<Custom<Counts<1>>>(&questions, Promise::Looks(0));
    }
}

const TWELVE: [Geometry; 2] = [Geometry::low(12, 1), Geometry::high(12, 4096)];

/// Reservations of so many granules, aligned to so many, by these policies.
fn reserves(geometry: Geometry, sizes: &[u64], aligns: &[u64], places: &[Place]) -> Vec<Operation> {
    let granule = geometry.granule;
    let of_size = |size: &u64| {
        let size = *size;
        aligns.iter().flat_map(move |align| {
            let request = Request::new(size * granule).align(align * granule);
            places
                .iter()
                .map(move |place| Operation::Reserve(request, *place))
        })
    };
    sizes.iter().flat_map(of_size).collect()
}

fn every_sequence<C: Config>(geometry: Geometry, alphabet: &[Operation], length: usize) -> u64 {
    let model = Model::new(geometry, Promise::Looks(0));
    let build = || SpaceSubject::<C>::new(geometry);
    holds(sequences(build, &model, alphabet, length))
}

#[test]
fn every_sequence_of_three_aligned_reservations_and_releases_holds() {
    for geometry in TWELVE {
        let near = Place::Near(Iova::new(geometry.byte(5) as u64));
        let places = [Place::Lowest, Place::Highest, Place::Best, near];
        let alphabet = reserves(geometry, &[1, 2, 3, 5], &[1, 2, 4], &places);
        every_sequence::<Standard>(geometry, &alphabet, 3);
    }
}

#[test]
fn every_sequence_of_five_reservations_and_releases_holds_on_every_arm() {
    for geometry in TWELVE {
        let places = [Place::Lowest, Place::Highest];
        let alphabet = reserves(geometry, &[1, 3, 4], &[1], &places);
        every_sequence::<Standard>(geometry, &alphabet, 5);
        every_sequence::<Custom<u64, Eager>>(geometry, &alphabet, 4);
        every_sequence::<Custom<u64, Deferred>>(geometry, &alphabet, 4);
    }
}

/// Every extent of a space.
fn extents(geometry: Geometry) -> Vec<furlong::addr::Extent<Iova>> {
    let all = geometry.granules;
    let pairs = (0..all).flat_map(|first| (1..=all - first).map(move |len| (first, len)));
    pairs
        .map(|(first, len)| geometry.granules(first, len).expect("it is in the space"))
        .collect()
}

#[test]
fn every_extent_is_reserved_and_released_right_beside_every_two_others() {
    for geometry in TWELVE {
        let extents = extents(geometry);
        for one in &extents {
            for other in &extents {
                let mut model = Model::new(geometry, Promise::Looks(0));
                let mut subject = SpaceSubject::<Standard>::new(geometry);
                let beside = [one, other].map(|extent| Operation::ReserveAt(*extent));
                judge(&mut model, &mut subject, beside).expect("two reservations");
                for third in &extents {
                    let steps = [Operation::ReserveAt(*third), Operation::ReleaseAt(*third)];
                    for step in steps {
                        let expected = model.apply(&step);
                        assert_eq!(subject.apply(&step), expected, "{one:?} {other:?} {step:?}");
                    }
                }
            }
        }
    }
}
