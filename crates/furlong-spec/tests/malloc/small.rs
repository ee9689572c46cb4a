//! The small heap compared with its model, which says the address of every block.
#![forbid(unsafe_code)]

use core::mem::MaybeUninit;

use furlong::malloc::{Misuse, SmallHeap};
use furlong_spec::malloc::{
    SmallAllocator, SmallModel, SmallOperation, SmallOutcome, small_operations,
};
use furlong_spec::{Coverage, Subject, Through, compare, every_sequence};

type Byte = MaybeUninit<u8>;

fn memory(len: usize) -> Vec<Byte> {
    vec![MaybeUninit::uninit(); len]
}

/// The name of an outcome.
fn name(outcome: SmallOutcome) -> &'static str {
    match outcome {
        SmallOutcome::Idle => "idle",
        SmallOutcome::Refused => "refused",
        SmallOutcome::Block { .. } => "block",
        SmallOutcome::Freed => "freed",
        SmallOutcome::Spoiled => "spoiled",
        SmallOutcome::Found(Misuse::DoubleFree) => "double free",
        SmallOutcome::Found(Misuse::NotABlock) => "not a block",
        SmallOutcome::Found(Misuse::WrongSize) => "wrong size",
        SmallOutcome::Found(_) => "foreign",
        SmallOutcome::Counted { .. } => "counted",
    }
}

/// Compares a heap over regions of these lengths with its model. `lead` bytes in front of each are
/// left out.
fn agrees(lead: usize, lens: &[usize], count: usize, seed: u64) -> Coverage {
    const PLACES: usize = 60;
    let mut regions: Vec<Vec<Byte>> = lens.iter().map(|len| memory(lead + len)).collect();
    let lent = regions.iter_mut().map(|region| &mut region[lead..]);
    let (program, mut model) = SmallAllocator::new(PLACES, lent);
    let mut coverage = Coverage::default();
    let mut watched = Through::new(program, |operation: &SmallOperation, outcome| {
        let text = format!("{operation:?}");
        let kind = text.split(|sign: char| !sign.is_alphabetic()).next();
        coverage.note(kind.unwrap_or_default().to_owned(), name(outcome));
        outcome
    });
    let most = lens.iter().max().copied().unwrap_or(0);
    let stream = small_operations(PLACES, most, count, seed);
    compare(&mut model, &mut watched, stream)
        .unwrap_or_else(|divergence| panic!("{lens:?}, lead {lead}, seed {seed}: {divergence}"));
    coverage
}

#[test]
fn each_block_is_where_the_model_has_it() {
    let mut all = Coverage::default();
    for seed in 0..3 {
        all += agrees(0, &[64 << 10], 8000, seed);
        all += agrees(3, &[16 << 10, 4096, 40_000], 8000, 100 + seed);
    }
    let wanted = [
        ("Allocate", "block"),
        ("Allocate", "refused"),
        ("Resize", "block"),
        ("Resize", "refused"),
        ("Free", "freed"),
        ("FreeAgain", "double free"),
        ("FreeAgain", "not a block"),
        ("FreeInside", "not a block"),
        ("FreeLonger", "wrong size"),
        ("FreeForeign", "foreign"),
        ("Count", "counted"),
    ];
    let gaps = all.missing(wanted, 10);
    assert!(gaps.is_empty(), "{gaps:#?}\n{all}");
}

#[test]
fn a_region_of_any_length_at_any_address_is_served_to_its_end() {
    for len in (0..6000).step_by(13) {
        agrees(len % 17, &[len], 150, len as u64);
    }
    for len in [65_535, 65_537, 131_071, 262_144, 300_000] {
        agrees(1, &[len], 1000, len as u64);
    }
}

/// Every sequence of operations on a heap of a few grains.
#[test]
fn every_short_sequence_on_a_few_grains_agrees() {
    const GRAIN: usize = SmallHeap::GRAIN;
    let allocate = |place, grains, align| SmallOperation::Allocate {
        place,
        size: grains * GRAIN,
        align,
    };
    let resize = |place, grains| SmallOperation::Resize {
        place,
        size: grains * GRAIN,
    };
    let alphabet = [
        allocate(0, 1, 1),
        allocate(1, 2, 1),
        allocate(2, 1, 4 * GRAIN),
        resize(0, 3),
        resize(1, 1),
        SmallOperation::Free(0),
        SmallOperation::Free(1),
        SmallOperation::FreeAgain,
    ];
    // Lengths with 1 to 8 grains, on machines with pointers of 64 bits.
    let mut grains = Vec::new();
    for len in (0..700).step_by(GRAIN) {
        let mut region = memory(len);
        let (mut program, _) = SmallAllocator::new(3, [&mut region[..]]);
        let SmallOutcome::Counted { free, .. } = program.apply(&SmallOperation::Count) else {
            panic!("it counts");
        };
        if (1..=8).contains(&(free / GRAIN)) {
            grains.push(len);
        }
    }
    assert_eq!(grains.len(), 8, "{grains:?}");
    for len in grains {
        for sequence in every_sequence(&alphabet, 4) {
            let mut region = memory(len);
            let (mut program, mut model) = SmallAllocator::new(3, [&mut region[..]]);
            let steps = sequence
                .iter()
                .flat_map(|step| [*step, SmallOperation::Count]);
            compare(&mut model, &mut program, steps)
                .unwrap_or_else(|divergence| panic!("{len}: {sequence:?}: {divergence}"));
        }
    }
}

fn is_told(fault: fn(SmallOutcome) -> SmallOutcome) {
    let regions = [(1 << 16, 500)];
    let mut faulty = Through::new(SmallModel::new(20, &regions), |_: &_, right| fault(right));
    let stream = small_operations(20, 8000, 5000, 1);
    let told = compare(&mut SmallModel::new(20, &regions), &mut faulty, stream);
    assert!(told.is_err());
}

#[test]
fn a_wrong_place_a_needless_refusal_and_a_missed_mistake_are_told() {
    is_told(|right| match right {
        SmallOutcome::Block { address, usable } => SmallOutcome::Block {
            address: address + SmallHeap::GRAIN,
            usable,
        },
        other => other,
    });
    is_told(|right| match right {
        SmallOutcome::Block { .. } => SmallOutcome::Refused,
        other => other,
    });
    is_told(|right| match right {
        SmallOutcome::Found(_) => SmallOutcome::Freed,
        other => other,
    });
}
