//! Four threads on one pool that grows and shrinks. No thread changes another's bytes, and at the
//! end every slot is free. `ci/full.sh bounce-stress` runs it for 50 million maps.

use furlong::bounce::{Area, AreaFirst, LockFree, Locked, Order, PoolFirst};
use furlong_spec::bounce::stress;

fn survives<O: Order, A: Area>() {
    let stressed = stress::<O, A>(4, 20_000, 1);
    assert!(stressed.mapped > 15_000, "{stressed}");
}

#[test]
fn threads_on_locked_areas_never_meet_in_a_slot() {
    survives::<PoolFirst, Locked>();
    survives::<AreaFirst, Locked>();
}

#[test]
fn threads_on_lock_free_areas_never_meet_in_a_slot() {
    survives::<PoolFirst, LockFree>();
    survives::<AreaFirst, LockFree>();
}
