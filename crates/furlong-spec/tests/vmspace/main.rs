//! The library's space compared with the model over random operations: every index, both modes,
//! anywhere in the 64-bit range. `examples/vmspace_oracle.rs` runs more.
#![forbid(unsafe_code)]

mod calls;
mod exhaustive;
mod ledger;
mod memory;
#[path = "../spoiled/mod.rs"]
mod spoiled;
mod state;
mod traces;

use furlong::vmspace::{At, Custom, Prot, Rbtree, Request};
use furlong_spec::compare;
use furlong_spec::heap::Failing;
use furlong_spec::vmspace::{Model, Operation, SpaceSubject, TRIALS, World};

#[global_allocator]
static HEAP: Failing = Failing;

/// Runs two hundred thousand operations, each followed by a comparison of the whole state.
fn agrees(name: &str) {
    let trial = TRIALS.iter().find(|trial| trial.name == name);
    let trial = trial.expect("there is such an arm");
    let seen = trial.run(0..28);
    let seen = seen.unwrap_or_else(|divergence| panic!("{divergence}"));
    assert!(
        seen.operations() > 190_000,
        "{} operations",
        seen.operations()
    );
    // A stream with refusals only, or without any, would compare nothing.
    let missing = trial.gaps(&seen, 10);
    assert!(missing.is_empty(), "seen too seldom: {missing:?}");
}

#[test]
fn a_tree_of_areas_answers_as_the_model() {
    agrees("rbtree, atomic");
}

#[test]
fn a_tree_of_areas_answers_as_linux_where_an_operation_fails_in_the_middle() {
    agrees("rbtree, linux");
}

#[test]
fn a_tree_of_ranges_answers_as_the_model() {
    agrees("maple, atomic");
}

#[test]
fn a_tree_of_ranges_answers_as_linux_where_an_operation_fails_in_the_middle() {
    agrees("maple, linux");
}

#[test]
fn a_tree_of_ranges_with_tiny_nodes_answers_as_the_model() {
    agrees("maple with tiny nodes, atomic");
}

#[test]
fn a_space_that_is_looked_at_without_a_lock_answers_as_the_model() {
    agrees("maple without a lock, atomic");
}

#[test]
fn a_space_that_is_looked_at_without_a_lock_answers_so_with_tiny_nodes() {
    agrees("maple without a lock and with tiny nodes, linux");
}

#[test]
fn what_merges_makes_room_for_what_is_cut_behind_it() {
    let world = World::low(24).limits(4, u64::MAX);
    let map = |first: u64, pages: u64, prot: Prot, object: u32| {
        let request = Request::anonymous(pages * world.page, prot, object);
        Operation::Map(request.at(At::Fixed(world.address(first))))
    };
    let both = Prot::READ | Prot::WRITE;
    // One area more than the limit. The second area merges with its neighbours, and only then may
    // the fourth be cut.
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
