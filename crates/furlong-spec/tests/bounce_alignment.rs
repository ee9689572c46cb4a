//! Where a run lies, by brute force: every rule of alignment, every original, every base, against
//! the rules as the reference writes them, in pools of which any slot may be taken.
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

/// All masks of alignment up to twice a segment, with all boundaries from a slot on.
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

/// In a pool of 8 slots with every pattern of taken slots: the answer is the model's.
fn every_pattern<A: Area>() {
    let mut asked = 0_u64;
    for limits in all_limits(4) {
        for skew in [0, 1, 3] {
            let world = world(limits, 8, 4, skew);
            let mut model = Model::new(&world, Path::AreaFirst);
            let mut subject = PoolSubject::<Tried<AreaFirst, A>>::new(&world);
            for taken in 0..256_u32 {
                // All slots are taken one by one, and those given back that are to be free.
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

/// What model and subject are asked alike.
trait Pool: Subject<Operation = Operation, Outcome = Outcome> {
    fn drain(&mut self) {
        while self.apply(&Operation::Unmap(0, Back::Nothing)) == Outcome::Done {}
    }

    /// Ends the mapping that was made last: the highest number there is counts round to none, so
    /// it is found by trying to unmap it in the direction that only it has.
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

    /// Takes these slots of 8.
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
        // Where one ends the last takes its place: from the last on numbers are slots.
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

/// What the rules ask of an address holds for every run, and the longest mapping always fits.
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
                // A place may be wanted that no segment here has.
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
