//! Every sequence of operations in pools of 8 slots: two blocks, two areas, and all four
//! combinations of arms compared with the model.
#![forbid(unsafe_code)]

use furlong::bounce::{
    Area, AreaFirst, Back, Direction, Growth, Limits, Order, Plan, PoolFirst, ZeroPads,
};
use furlong_spec::Subject;
use furlong_spec::bounce::{
    Addresses, Model, Operation, Path, PoolSubject, SmallLockFree, SmallLocked, Tried, World,
};

fn world() -> World {
    let plan = Plan::new(8, 2).growth(Growth::Inline).blocks(2);
    World {
        plan: plan.patience(1).transients(1),
        devices: vec![Limits::new(), Limits::new().min_align_mask(0xfff).quota(9)],
        addresses: Addresses::new(1 << 30, 1),
        ram: 4 * 2048 + 8192,
        segment: 4,
    }
}

fn map(device: usize, slots: usize) -> Operation {
    Operation::Map {
        device,
        original: 2048,
        len: slots * 2048,
        direction: Direction::Both,
    }
}

fn alphabet() -> Vec<Operation> {
    vec![
        map(0, 1),
        map(0, 3),
        map(0, 4),
        map(1, 2),
        Operation::Unmap(0, Back::All),
        Operation::Unmap(1, Back::Nothing),
        Operation::OnCpu(1),
        Operation::Tend,
    ]
}

/// Runs `before` and then every sequence of `length` operations of the alphabet. Compares all
/// outcomes, and the free slots and bytes at the end.
fn every_sequence<O: Order, A: Area>(path: Path, before: &[Operation], length: u32) {
    let world = world();
    for sequence in furlong_spec::every_sequence(&alphabet(), length) {
        let mut model = Model::new(&world, path);
        let mut subject = PoolSubject::<Tried<O, A, ZeroPads>>::new(&world);
        let end = [Operation::Free, Operation::Bytes];
        for operation in before.iter().chain(&sequence).chain(&end) {
            let (expected, found) = (model.apply(operation), subject.apply(operation));
            assert_eq!(found, expected, "{sequence:?}, {operation:?}");
        }
        subject
            .check()
            .unwrap_or_else(|broken| panic!("{sequence:?}: {broken}"));
    }
}

/// Runs the sequences from an empty pool, and from one so full that the next map makes it grow.
fn all<O: Order, A: Area>(path: Path) {
    every_sequence::<O, A>(path, &[], 4);
    let full = [map(0, 4), map(0, 3), map(1, 2), map(0, 4)];
    every_sequence::<O, A>(path, &full, 3);
}

#[test]
fn every_sequence_on_locked_areas_pool_first() {
    all::<PoolFirst, SmallLocked>(Path::PoolFirst);
}

#[test]
fn every_sequence_on_lock_free_areas_pool_first() {
    all::<PoolFirst, SmallLockFree>(Path::PoolFirst);
}

#[test]
fn every_sequence_on_locked_areas_area_first() {
    all::<AreaFirst, SmallLocked>(Path::AreaFirst);
}

#[test]
fn every_sequence_on_lock_free_areas_area_first() {
    all::<AreaFirst, SmallLockFree>(Path::AreaFirst);
}
