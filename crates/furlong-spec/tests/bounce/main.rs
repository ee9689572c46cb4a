//! The library's pool compared with the model over random operations: both search orders, all arms,
//! and all bytes.
#![deny(unsafe_code)]

mod alignment;
mod by_address;
mod exhaustive;
mod growth;
mod mistakes;
mod state;
mod waiting;
mod without_heap;

use furlong::bounce::{Area, AreaFirst, LockFree, Locked, Order, PoolFirst, ZeroPads};
use furlong_spec::bounce::{Path, SmallLockFree, SmallLocked, trial};
use furlong_spec::heap::Failing;

#[global_allocator]
static HEAP: Failing = Failing;

/// Runs streams in worlds with segments of 4 slots, where room is short, or of 128.
fn agrees<O: Order, A: Area>(path: Path) {
    let (count, seeds) = if A::SEGMENT < 128 {
        (2000, 0..96)
    } else {
        (160, 0..48)
    };
    let worlds = seeds.end;
    let trial = trial::<O, A, ZeroPads>(path, count, seeds);
    let trial = trial.unwrap_or_else(|divergence| panic!("{divergence}"));
    // A stream with refusals only would compare nothing.
    let (operations, mapped) = (trial.operations(), trial.count(|name| name == "mapped"));
    assert_eq!(operations, count as u64 * worlds, "{trial}");
    assert!(mapped > operations / 8, "{trial}");
    assert!(trial.refused() > operations / 50, "{trial}");
}

#[test]
fn pool_first_over_locked_areas_agrees_with_the_model() {
    agrees::<PoolFirst, SmallLocked>(Path::PoolFirst);
    agrees::<PoolFirst, Locked>(Path::PoolFirst);
}

#[test]
fn pool_first_over_lock_free_areas_agrees_with_the_model() {
    agrees::<PoolFirst, SmallLockFree>(Path::PoolFirst);
    agrees::<PoolFirst, LockFree>(Path::PoolFirst);
}

#[test]
fn area_first_over_locked_areas_agrees_with_the_model() {
    agrees::<AreaFirst, SmallLocked>(Path::AreaFirst);
    agrees::<AreaFirst, Locked>(Path::AreaFirst);
}

#[test]
fn area_first_over_lock_free_areas_agrees_with_the_model() {
    agrees::<AreaFirst, SmallLockFree>(Path::AreaFirst);
    agrees::<AreaFirst, LockFree>(Path::AreaFirst);
}
