//! The library's tables of segments compared with the model: every arm, over random streams and
//! small spaces.
#![forbid(unsafe_code)]

mod memory;
mod mistakes;
#[path = "../spoiled/mod.rs"]
mod spoiled;
mod state;

use furlong::addr::{Extent, Pfn};
use furlong::phys::{Array, BigFirst, BinarySearch, Branchless, Flat, Linear, Lookup, Tree};
use furlong_spec::Coverage;
use furlong_spec::heap::Failing;
use furlong_spec::phys::{Model, Operation, Outcome, Small, TRIALS, TableSubject, operations};
use furlong_spec::{Through, compare, judge};

#[global_allocator]
static HEAP: Failing = Failing;

fn frames(start: u64, end: u64) -> Extent<Pfn> {
    Extent::from_end(Pfn::new(start), Pfn::new(end)).expect("not empty")
}

/// Checks that arms agree with the model over a stream from each seed in each space, and that all
/// outcomes possible for such arms occur.
fn agree(names: &[&str], seeds: u64) {
    let named = |name: &&str| TRIALS.iter().find(|trial| trial.name == *name).unwrap();
    let mut all = Coverage::default();
    for trial in names.iter().map(named) {
        let coverage = trial.run(0..seeds);
        all += coverage.unwrap_or_else(|divergence| panic!("{divergence}"));
    }
    let gaps = named(&names[0]).gaps(&all, 1);
    assert!(gaps.is_empty(), "{gaps:#?}\n{all}");
}

#[test]
fn the_direct_arm_agrees_with_the_model() {
    agree(&["direct"], 60);
}

#[test]
fn a_table_without_memory_refuses_and_stays_as_it_was() {
    agree(&["direct, short of memory"], 60);
}

#[test]
fn the_sorted_and_the_tree_arm_agree_with_the_model() {
    agree(&["array-branchless", "rbtree"], 30);
}

#[test]
fn the_flat_arm_agrees_with_the_model_where_it_reaches() {
    agree(&["flat"], 60);
}

#[test]
fn the_static_array_agrees_with_the_model_in_every_strategy() {
    let ordered = ["array of 6, binary search", "array of 6, linear"];
    let others = ["array of 6, large ones first", "array of 1"];
    agree(&[ordered, others].concat(), 20);
}

/// Runs every sequence of changes on three frames around the border of a block.
fn holds_in_a_small_space<L: Lookup>(build: fn() -> TableSubject<L>, length: usize) {
    let done = Small::new(62..65).sequences(build, length);
    let done = done.unwrap_or_else(|divergence| panic!("{divergence}"));
    assert!(done > 9_u64.pow(length as u32), "{done} sequences");
}

#[test]
fn every_short_sequence_in_a_small_space_holds_on_every_arm() {
    holds_in_a_small_space(TableSubject::direct, 4);
    holds_in_a_small_space::<Branchless>(TableSubject::new, 3);
    holds_in_a_small_space::<Tree>(TableSubject::new, 3);
    holds_in_a_small_space::<Flat>(TableSubject::new, 3);
    holds_in_a_small_space::<Array<BinarySearch>>(TableSubject::new, 3);
    holds_in_a_small_space::<Array<BigFirst>>(TableSubject::new, 3);
    holds_in_a_small_space::<Array<Linear>>(TableSubject::new, 3);
}

#[test]
fn frames_that_host_bookkeeping_are_not_made_available() {
    let stream = [
        Operation::Start,
        Operation::PlugHosted {
            frames: 4072..4101,
            spare: Some(2),
        },
        Operation::SetAvail(0, 4072..4073),
        Operation::SetAvail(0, 4100..4101),
        Operation::List,
    ];
    let mut model = Model::new(4072, 64, None);
    judge(&mut model, &mut TableSubject::direct(), stream)
        .unwrap_or_else(|divergence| panic!("{divergence}"));
}

#[test]
fn a_wrong_subject_is_told_from_the_model() {
    let forgetful = |operation: &Operation, outcome| match operation {
        Operation::Remove(_) => Outcome::Done,
        _ => outcome,
    };
    let mut subject = Through::new(Model::new(0, 64, None), forgetful);
    let stream = operations(0, 64, 1000, 1);
    assert!(compare(&mut Model::new(0, 64, None), &mut subject, stream).is_err());
}
