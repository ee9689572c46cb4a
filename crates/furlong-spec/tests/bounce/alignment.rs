//! The place of a run, by brute force. Every rule of alignment, every original and every base is
//! compared with the rules of the reference, in pools where any slot may be taken.
#![forbid(unsafe_code)]

use furlong::bounce::{Area, AreaFirst, Back, Direction, Limits, LockFree, Locked, MapError, Plan};
use furlong_spec::Subject;
use furlong_spec::bounce::{
    Addresses, Model, Operation, Outcome, Path, PoolSubject, Rules, SmallLockFree, SmallLocked,
    Tried, World, longest,
};

fn world(limits: Limits, slots: usize, segment: usize, skew: u64) -> World {
    World {
        plan: Plan::new(slots, 1),
        devices: vec![limits, Limits::new()],
        addresses: Addresses::new(1 << 30, skew),
        ram: 2 * segment * 2048 + 8192,
        segment,
    }
}

/// All alignment masks up to two segments, with all boundaries from a slot on.
fn all_limits(segment: u64) -> Vec<Limits> {
    let masks = |top: u64| {
        (0..)
            .map(|log| (1_u64 << log) - 1)
            .take_while(move |mask| *mask < top)
    };
    let mut all = Vec::new();
    for min in masks(4 * segment * 2048).filter(|mask| *mask == 0 || *mask >= 255) {
        for align in masks(4 * segment * 2048).filter(|mask| *mask == 0 || *mask >= 1023) {
            for boundary in [2047, 4095, 8191, u64::MAX] {
                let limits = Limits::new().min_align_mask(min).align_mask(align);
                all.push(limits.boundary_mask(boundary));
            }
        }
    }
    all
}

/// Compares subject and model in a pool of 8 slots, for every pattern of taken slots.
fn every_pattern<A: Area>() {
    let mut asked = 0_u64;
    for limits in all_limits(4) {
        for skew in [0, 1, 3] {
            let world = world(limits, 8, 4, skew);
            let mut model = Model::new(&world, Path::AreaFirst);
            let mut subject = PoolSubject::<Tried<AreaFirst, A>>::new(&world);
            for taken in 0..256_u32 {
                // Takes all slots one by one, and frees those that the pattern leaves free.
                for pool in [&mut model as &mut dyn Pool, &mut subject] {
                    pool.take(taken);
                }
                for (original, len) in [(0, 1), (2048, 2049), (6100, 3000), (4000, 5000)] {
                    let map = Operation::Map {
                        device: 0,
                        original,
                        len,
                        direction: Direction::ToDevice,
                    };
                    let answers = [model.apply(&map), subject.apply(&map)];
                    assert_eq!(
                        answers[0], answers[1],
                        "{limits:?} {skew} {taken:#b} {map:?}"
                    );
                    asked += 1;
                    if matches!(answers[0], Outcome::Mapped(_)) {
                        for pool in [&mut model as &mut dyn Pool, &mut subject] {
                            pool.end_last();
                        }
                    }
                }
                for pool in [&mut model as &mut dyn Pool, &mut subject] {
                    pool.drain();
                }
            }
        }
    }
    assert!(asked > 500_000, "{asked}");
}

/// Operations that model and subject both run.
trait Pool: Subject<Operation = Operation, Outcome = Outcome> {
    fn drain(&mut self) {
        while self.apply(&Operation::Unmap(0, Back::Nothing)) == Outcome::Done {}
    }

    /// Ends the last mapping. Its number is unknown, because numbers wrap around, so this tries to
    /// unmap every mapping in the direction that only the last one has.
    fn end_last(&mut self) {
        let ended = (0..9).any(|mapping| {
            let wrongly = Operation::UnmapWrongly {
                mapping,
                delta: 0,
                device: 0,
                direction: Direction::ToDevice,
            };
            self.apply(&wrongly) == Outcome::Done
        });
        assert!(ended);
    }

    /// Takes these slots of a pool with 8 slots.
    fn take(&mut self, slots: u32) {
        for _ in 0..8 {
            let one = Operation::Map {
                device: 1,
                original: 0,
                len: 1,
                direction: Direction::FromDevice,
            };
            assert!(matches!(self.apply(&one), Outcome::Mapped(_)));
        }
        // The last mapping takes the number of one that ends. So from the last one down, numbers
        // are slots.
        for slot in (0..8).rev().filter(|slot| slots >> slot & 1 == 0) {
            assert_eq!(
                self.apply(&Operation::Unmap(slot, Back::Nothing)),
                Outcome::Done
            );
        }
    }
}

impl<P: Subject<Operation = Operation, Outcome = Outcome>> Pool for P {}

#[test]
fn every_rule_and_every_pattern_of_free_slots_under_a_lock() {
    every_pattern::<SmallLocked>();
}

#[test]
fn every_rule_and_every_pattern_of_free_slots_without_a_lock() {
    every_pattern::<SmallLockFree>();
}

/// Checks that the rules hold for the address of every run, and that the longest mapping always
/// fits.
fn real_segments<A: Area>() {
    for limits in all_limits(128) {
        let world = world(limits, 512, 128, 0);
        let mut subject = PoolSubject::<Tried<AreaFirst, A>>::new(&world);
        let most = longest(&limits, 128) as usize;
        for (original, len) in [
            (1, 1),
            (2047, 4096),
            (4097, 65_536),
            (12_345, most),
            (0, most),
        ] {
            if len == 0 {
                continue;
            }
            let at = furlong_spec::bounce::RAM + original;
            let rules = Rules::new(&limits, Some(at), len, 4096, 128);
            let direction = Direction::Both;
            let map = Operation::Map {
                device: 0,
                original,
                len,
                direction,
            };
            match (subject.apply(&map), rules) {
                (Outcome::Mapped(found), Ok(rules)) => {
                    assert!(
                        rules.allow(found - rules.offset),
                        "{limits:?} {original} {len}"
                    );
                    let kept = limits.min_align_mask;
                    assert_eq!(found & kept, at & kept, "{limits:?} {original} {len}");
                }
                (Outcome::Refused(found), Err(expected)) => assert_eq!(found, expected),
                // The rules may require a place that no segment here has.
                (Outcome::Refused(MapError::Full { .. }), Ok(rules)) => {
                    assert!(
                        rules.stride() > 128 * 2048 || limits.boundary_mask < 128 * 2048,
                        "{limits:?} {original} {len}"
                    );
                }
                (found, rules) => panic!("{limits:?} {original} {len}: {found:?}, {rules:?}"),
            }
            while subject.apply(&Operation::Unmap(0, Back::All)) == Outcome::Done {}
        }
    }
}

#[test]
fn runs_in_real_segments_keep_every_rule_and_the_low_bits_of_the_original() {
    real_segments::<Locked>();
    real_segments::<LockFree>();
}
