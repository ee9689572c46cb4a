//! Every request in every small space, and every short sequence of operations in a space of 12
//! granules.
//!
//! `examples/iova_oracle.rs` runs longer sequences.

use furlong::addr::{Address, Iova};
use furlong::iova::{
    Boundary, Config, Counts, Custom, Guard, Largest, Random, Request, Runs, Standard, VecSpace,
};
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
    // With granules of a quarter of the 64-bit range, four of them cover it all.
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
        answers::<Custom<Boundary<1>>>(&questions, Promise::Bounded(1));
        answers::<Custom<Boundary<2, Boundary<1>>>>(&questions, Promise::Bounded(1));
    }
}

const TWELVE: [Geometry; 2] = [Geometry::low(12, 1), Geometry::high(12, 4096)];

/// Reservations of these sizes and alignments, in granules, by these policies.
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
        every_sequence::<Custom<Largest, Eager>>(geometry, &alphabet, 4);
        every_sequence::<Custom<Largest, Deferred>>(geometry, &alphabet, 4);
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

/// The number of times that each granule is drawn as the start, when the first bits of the draw
/// take each value below 64 and no further bits are needed.
fn draws<C: Config>(space: &mut VecSpace<C>, request: &Request) -> Vec<u32> {
    let granule = |at: Iova| (at.raw() / space.granule()) as usize;
    let origin = granule(space.extent().start());
    let granules = granule(space.extent().last()) - origin + 1;
    let mut drawn = vec![0; granules];
    for bits in 0..64 {
        let mut calls = 0;
        let random = Random::new(|| {
            calls += 1;
            if calls == 1 { bits } else { 0 }
        });
        let Ok(grant) = space.reserve(request, random) else {
            return drawn;
        };
        if calls == 1 {
            drawn[(grant.extent().start().raw() / space.granule()) as usize - origin] += 1;
        }
        space.release(grant).expect("it is held");
    }
    drawn
}

/// Checks, for every set of reserved granules and every request, that each possible place is drawn
/// equally often and no other place is drawn.
fn draws_evenly<C: Config>(geometry: Geometry) {
    let granule = geometry.granule;
    let mut requests = Vec::new();
    for size in 1..=geometry.granules as u64 {
        let request = Request::new(size * granule);
        let window = geometry
            .granules(1, geometry.granules - 2)
            .expect("it is in the space");
        let (start, last) = (window.start(), window.last());
        requests.extend([
            request,
            request.align(2 * granule),
            request.boundary(4 * granule),
            request.guard(Guard::ONE),
            request.window(start, last),
            request.exclude(start, last),
        ]);
    }
    for reserved in 0..1_u64 << geometry.granules {
        let mut space = VecSpace::<C>::with_config(geometry.extent(), granule, Vec::new())
            .expect("it is made of granules");
        let mut model = Model::new(geometry, Promise::Exact);
        for at in (0..geometry.granules).filter(|at| reserved >> at & 1 == 1) {
            let extent = geometry.granules(at, 1).expect("it is in the space");
            let _ = space.reserve_at(extent).expect("it is free");
            model.apply(&Operation::ReserveAt(extent));
        }
        for request in &requests {
            let drawn = draws(&mut space, request);
            let places = model.starts(request);
            let chance = places.first().map_or(0, |first| drawn[*first]);
            let is_place = |at: usize| u32::from(places.contains(&at));
            let even: Vec<u32> = (0..geometry.granules)
                .map(|at| chance * is_place(at))
                .collect();
            assert_eq!(drawn, even, "{request:?} in {space:?}");
            assert_eq!(chance > 0, !places.is_empty(), "{request:?} in {space:?}");
        }
    }
}

#[test]
fn every_place_in_every_small_space_has_exactly_the_same_chance() {
    for geometry in [Geometry::low(6, 1), Geometry::high(6, 4096)] {
        draws_evenly::<Standard>(geometry);
        draws_evenly::<Custom<Counts<3>>>(geometry);
        draws_evenly::<Custom<Counts<1>>>(geometry);
    }
}
