//! The façade of `vm_allocator` beside that crate's allocator: same calls, same results.
#![forbid(unsafe_code)]

use furlong_adapters::vm_allocator::AddressAllocator;
use furlong_spec::Random;
use vm_allocator::{AllocPolicy, Error, RangeInclusive};

/// The unit of sizes and addresses, because the original does not merge single free bytes.
const UNIT: u64 = 4;

fn policy(random: &mut Random, base: u64, size: u64) -> AllocPolicy {
    match random.below(3) {
        0 => AllocPolicy::FirstMatch,
        1 => AllocPolicy::LastMatch,
        _ => AllocPolicy::ExactMatch(base + random.below(size / UNIT) * UNIT),
    }
}

#[test]
fn random_calls_are_answered_as_the_original_does() {
    let (mut granted, mut refused) = (0, 0);
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let (base, size) = (
            random.below(1 << 40) * UNIT,
            (64 + random.below(512)) * UNIT,
        );
        let mut ours = AddressAllocator::new(base, size).unwrap();
        let mut original = vm_allocator::AddressAllocator::new(base, size).unwrap();
        assert_eq!((ours.base(), ours.end()), (original.base(), original.end()));
        let mut live: Vec<RangeInclusive> = Vec::new();
        for _ in 0..2_000 {
            if random.below(2) == 0 && !live.is_empty() {
                let range = live.swap_remove(random.below(live.len() as u64) as usize);
                assert_eq!(ours.free(&range), Ok(()));
                assert_eq!(original.free(&range), Ok(()));
                continue;
            }
            let wanted = (1 + random.below(24)) * UNIT;
            let align = 1 << random.below(7);
            let policy = policy(&mut random, base, size);
            if let AllocPolicy::ExactMatch(start) = policy
                && let Ok(exact) = RangeInclusive::new(start, start + wanted - 1)
                && start % align == 0
                && live.iter().any(|range| range.overlaps(&exact))
            {
                // The original would grant some of these twice.
                let answer = ours.allocate(wanted, align, policy);
                assert_eq!(answer, Err(Error::ResourceNotAvailable));
                continue;
            }
            let answer = original.allocate(wanted, align, policy);
            assert_eq!(
                ours.allocate(wanted, align, policy),
                answer,
                "seed {seed}, {policy:?}"
            );
            match answer {
                Ok(range) => {
                    granted += 1;
                    live.push(range);
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(granted > 10_000 && refused > 1_000, "{granted}, {refused}");
}

#[test]
fn bad_input_has_the_originals_errors() {
    type Original = vm_allocator::AddressAllocator;
    for (base, size) in [(0, 0), (u64::MAX, 2), (1, u64::MAX), (u64::MAX, 1)] {
        let theirs = Original::new(base, size).map(drop);
        assert_eq!(AddressAllocator::new(base, size).map(drop), theirs);
    }
    let mut ours = AddressAllocator::new(0x1000, 0x10000).unwrap();
    let mut original = Original::new(0x1000, 0x10000).unwrap();
    let first = AllocPolicy::FirstMatch;
    for (size, align, policy) in [
        (0, 4, first),
        (4, 0, first),
        (4, 3, first),
        (4, 8, AllocPolicy::ExactMatch(0x1004)),
        (4, 4, AllocPolicy::ExactMatch(0)),
        (0x10001, 1, first),
        (u64::MAX, 1, AllocPolicy::LastMatch),
    ] {
        let answer = original.allocate(size, align, policy);
        assert!(answer.is_err(), "{size} {align} {policy:?}");
        assert_eq!(ours.allocate(size, align, policy), answer);
    }
    let never = RangeInclusive::new(0x2000, 0x2fff).unwrap();
    assert_eq!(ours.free(&never), Err(Error::ResourceNotAvailable));
}

#[test]
fn what_is_given_back_is_one_gap_with_a_free_byte_beside_it() {
    let mut space = AddressAllocator::new(0, 16).unwrap();
    let byte = space.allocate(1, 1, AllocPolicy::FirstMatch).unwrap();
    let rest = space.allocate(15, 1, AllocPolicy::FirstMatch).unwrap();
    space.free(&byte).unwrap();
    space.free(&rest).unwrap();
    assert_eq!(space.free(&rest), Err(Error::ResourceNotAvailable));
    assert!(space.allocate(16, 1, AllocPolicy::FirstMatch).is_ok());
}
