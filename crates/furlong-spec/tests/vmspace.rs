//! The library's space against the model, over random operations: every index, both modes, anywhere
//! in 64 bits.
#![forbid(unsafe_code)]

use std::fmt;

use furlong::maple::{self, Fan, Heap};
use furlong::vmspace::{At, Atomic, Config, Custom, Layout, Linux, Maple, Prot, Rbtree, Request};
use furlong_spec::vmspace::{
    Coverage, Kept, Mix, Model, Operation, Outcome, SharedSubject, SpaceSubject, WORLDS, World,
    operations,
};
use furlong_spec::{Subject, compare};

/// Notes what a subject answers.
struct Noted<S>(S, Coverage);

impl<S: Subject<Operation = Operation, Outcome = Outcome>> Subject for Noted<S> {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        let outcome = self.0.apply(operation);
        self.1.note(operation, &outcome);
        outcome
    }

    fn check(&self) -> Result<(), String> {
        self.0.check()
    }
}

/// Two hundred thousand operations, and as many comparisons of all that is there.
fn agrees<C: Config<Index<Kept>: Default>>(keeps_part: bool) {
    subject_agrees(SpaceSubject::<C>::new, keeps_part);
}

fn subject_agrees<S>(build: impl Fn(Layout) -> S, keeps_part: bool)
where
    S: Subject<Operation = Operation, Outcome = Outcome> + fmt::Debug,
{
    let mut seen = Coverage::default();
    for seed in 0..28 {
        for world in WORLDS {
            for mix in [Mix::Growing, Mix::Steady, Mix::Shrinking] {
                let stream = operations(world, mix, 300, seed)
                    .flat_map(|operation| [operation, Operation::Areas, Operation::Usage]);
                let subject = build(world.layout());
                let mut subject = Noted(subject, Coverage::default());
                let compared = compare(&mut Model::new(world, keeps_part), &mut subject, stream);
                compared.unwrap_or_else(|divergence| {
                    panic!(
                        "seed {seed}, {mix:?}, {world:?}, {:?}: {divergence}",
                        subject.0
                    )
                });
                seen.add(&subject.1);
            }
        }
    }
    // A stream that is never refused, or always, compares nothing.
    let missing = seen.missing(10);
    assert!(missing.is_empty(), "seen too seldom: {missing:?}");
}

/// Three slots a leaf and three children a node: splits, merges and spanning stores at once.
type Tiny = maple::Custom<Fan<3, 3, 16>, Heap>;

#[test]
fn a_tree_of_areas_answers_as_the_model() {
    agrees::<Custom<Rbtree, Atomic>>(false);
}

#[test]
fn a_tree_of_areas_answers_as_linux_where_an_operation_fails_in_the_middle() {
    agrees::<Custom<Rbtree, Linux>>(true);
}

#[test]
fn a_tree_of_ranges_answers_as_the_model() {
    agrees::<Custom<Maple, Atomic>>(false);
}

#[test]
fn a_tree_of_ranges_answers_as_linux_where_an_operation_fails_in_the_middle() {
    agrees::<Custom<Maple, Linux>>(true);
}

#[test]
fn a_tree_of_ranges_with_tiny_nodes_answers_as_the_model() {
    agrees::<Custom<Maple<Tiny>, Atomic>>(false);
}

#[test]
fn a_space_that_is_looked_at_without_a_lock_answers_as_the_model() {
    subject_agrees(SharedSubject::<Custom<Maple, Atomic>>::new, false);
}

#[test]
fn a_space_that_is_looked_at_without_a_lock_answers_so_with_tiny_nodes() {
    subject_agrees(SharedSubject::<Custom<Maple<Tiny>, Linux>>::new, true);
}

#[test]
fn what_merges_makes_room_for_what_is_cut_behind_it() {
    let world = World::low(24).limits(4, u64::MAX);
    let map = |first: u64, pages: u64, prot: Prot, object: u32| {
        let request = Request::anonymous(pages * world.page, prot, object);
        Operation::Map(request.at(At::Fixed(world.address(first))))
    };
    let both = Prot::READ | Prot::WRITE;
    // As many areas as there may be, and one more: the second becomes one with its neighbours, and
    // only then may the fourth be cut.
    let operations = [
        map(1, 2, Prot::READ, 0),
        map(3, 2, both, 0),
        map(5, 2, Prot::READ, 0),
        map(7, 4, both, 1),
        map(20, 1, both, 2),
        Operation::Protect(world.address(3), 6 * world.page, Prot::READ),
        Operation::Areas,
    ];
    let mut subject = SpaceSubject::<Custom<Rbtree>>::new(world.layout());
    let compared = compare(&mut Model::new(world, false), &mut subject, operations);
    compared.unwrap_or_else(|divergence| panic!("{divergence}"));
    assert_eq!(subject.space().len(), 4);
}
