//! Periods: grace periods without objects.
#![forbid(unsafe_code)]

use super::{Tally, retire, small};
use crate::rcu::{Period, Progress, Rcu};

#[test]
fn a_period_is_over_when_those_inside_at_the_snapshot_have_left() {
    let rcu = small();
    let (a, b) = (rcu.register().unwrap(), rcu.register().unwrap());
    let first = a.enter();
    let period = rcu.snapshot();
    assert_eq!(rcu.advance(), Progress::Idle, "nobody has asked yet");
    assert!(!rcu.elapsed(period));
    assert_eq!(rcu.advance(), Progress::Waiting { readers: 1 });
    let _later = b.enter();
    assert!(!rcu.elapsed(period));
    drop(first);
    assert_eq!(rcu.advance(), Progress::Ended);
    assert!(rcu.elapsed(period));
    assert_eq!(rcu.advance(), Progress::Idle);
}

#[test]
fn a_snapshot_during_a_grace_period_wants_the_next_one() {
    let (rcu, tally) = (small(), Tally::default());
    let (a, b) = (rcu.register().unwrap(), rcu.register().unwrap());
    let first = a.enter();
    retire(&rcu, 1, &tally);
    assert_eq!(rcu.advance(), Progress::Waiting { readers: 1 });
    // Inside before the snapshot, but the running grace period does not wait for it.
    let second = b.enter();
    let period = rcu.snapshot();
    drop(first);
    assert!(!rcu.elapsed(period));
    assert_eq!(rcu.advance(), Progress::Ended);
    assert!(!rcu.elapsed(period));
    drop(second);
    assert_eq!(rcu.advance(), Progress::Ended);
    assert!(rcu.elapsed(period));
}

#[test]
fn periods_without_readers_end_at_the_first_asking_and_are_equal_until_then() {
    let rcu = small();
    let (one, two) = (rcu.snapshot(), rcu.snapshot());
    assert_eq!(one, two);
    assert!(!rcu.elapsed(one));
    rcu.advance();
    assert!(rcu.elapsed(one) && rcu.elapsed(two));
    assert_ne!(rcu.snapshot(), one);
    assert_eq!(Period::from_number(one.number()), one);
}

#[test]
fn the_number_comes_round_without_harm() {
    let (rcu, tally) = (small(), Tally::default());
    // Two grace periods before the numbers wrap around.
    rcu.core().set_period(usize::MAX - 3);
    for _ in 0..6 {
        let period = rcu.snapshot();
        assert!(!rcu.elapsed(period));
        retire(&rcu, 1, &tally);
        assert_eq!(rcu.poll(usize::MAX), 1);
        assert!(rcu.elapsed(period));
        assert_eq!(rcu.advance(), Progress::Idle);
    }
}
