//! The library's allocator compared with the model: every arm over random streams of several
//! threads, and racing threads. `ci/full.sh malloc-oracle` runs them for 100 million operations.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod small;

use furlong::malloc::{Batched, Checked, Inlined, NoHardening, Outlined, PerCall, Secure};
use furlong_spec::Coverage;
use furlong_spec::malloc::{Model, Operation, Outcome, TRIALS, operations, stress, zones};
use furlong_spec::{Judge, Subject, Through, judge};

/// Checks that an arm agrees with the model over a stream from each seed, and that all required
/// outcomes occur.
fn agrees(name: &str, seeds: u64) {
    let trial = TRIALS.iter().find(|trial| trial.name == name).unwrap();
    let mut all = Coverage::default();
    all += trial
        .run(0..seeds)
        .unwrap_or_else(|divergence| panic!("{divergence}"));
    let gaps = trial.gaps(&all, 1);
    assert!(gaps.is_empty(), "{gaps:#?}\n{all}");
}

#[test]
fn the_default_agrees_with_the_model() {
    agrees("default", 3);
}

#[test]
fn the_plain_type_agrees_with_the_model() {
    agrees("plain", 3);
}

#[test]
fn the_secure_type_agrees_with_the_model() {
    agrees("secure", 2);
}

#[test]
fn the_arms_of_gate_and_tier_agree_with_the_model() {
    agrees("outlined", 2);
    agrees("per-call", 2);
}

#[test]
fn pages_of_16_and_64_kib_agree_with_the_model_and_stay_whole() {
    agrees("pages of 16 KiB", 2);
    agrees("pages of 64 KiB", 2);
    agrees("secure pages of 64 KiB", 2);
}

#[test]
fn an_allocator_without_memory_refuses_and_stays_as_it_was() {
    agrees("short of memory", 3);
}

#[test]
fn threads_that_free_each_others_blocks_lose_none() {
    let plain = stress::<NoHardening, Inlined, Batched>(4, 160_000, 1);
    assert!(plain.remote > 10_000 && plain.threads > 10, "{plain}");
    let default = stress::<Checked, Inlined, Batched>(4, 160_000, 2);
    assert!(default.remote > 10_000, "{default}");
    let _ = stress::<Secure, Inlined, Batched>(3, 60_000, 3);
    let _ = stress::<Checked, Outlined, PerCall>(3, 60_000, 4);
}

#[test]
fn a_zone_that_goes_takes_its_own_blocks_with_it_and_no_others() {
    let all = usize::MAX;
    let default = zones::<Checked>(120_000, all, 1).unwrap();
    assert!(default.zones > 50 && default.dropped > 500, "{default}");
    assert_eq!(default.refused, 0, "{default}");
    zones::<NoHardening>(60_000, all, 2).unwrap();
    zones::<Secure>(30_000, all, 3).unwrap();
}

#[test]
fn zones_without_memory_refuse_and_stay_as_they_were() {
    let short = zones::<Checked>(60_000, 26 << 20, 4).unwrap();
    assert!(short.refused > 20 && short.zones > 20, "{short}");
}

fn is_told(fault: fn(&Operation, Outcome) -> Outcome) {
    let mut faulty = Through::new(Model::new(60, false), fault);
    let stream = operations(60, 20_000, 1);
    let told = judge(&mut Model::new(60, false), &mut faulty, stream);
    assert!(told.is_err());
}

#[test]
fn nobody_gets_more_bytes_than_there_are_addresses() {
    let asked = Operation::Allocate {
        place: 0,
        size: isize::MAX as usize,
        align: 16,
        zeroed: true,
    };
    let mut model = Model::new(4, false);
    assert_eq!(model.apply(&asked), Outcome::Refused);
    assert_eq!(model.judge(&asked, &Outcome::Refused), Ok(()));
}

#[test]
fn the_model_agrees_with_itself() {
    let mut subject = Through::new(Model::new(60, false), |_, right| right);
    let stream = operations(60, 20_000, 1);
    judge(&mut Model::new(60, false), &mut subject, stream).unwrap();
}

/// Changes an outcome if it is a block.
fn block(right: Outcome, change: fn(usize, usize) -> (usize, usize)) -> Outcome {
    match right {
        Outcome::Block {
            address,
            usable,
            intact,
        } => {
            let (address, usable) = change(address, usable);
            Outcome::Block {
                address,
                usable,
                intact,
            }
        }
        other => other,
    }
}

#[test]
fn every_fault_of_an_allocator_is_told_from_the_model() {
    // Too short; too long; not aligned; always at the same address; null.
    is_told(|_, right| block(right, |address, usable| (address, usable / 2)));
    is_told(|_, right| block(right, |address, usable| (address, usable + 4096)));
    is_told(|_, right| block(right, |address, usable| (address + 8, usable)));
    is_told(|_, right| block(right, |_, usable| (4096, usable)));
    is_told(|_, right| block(right, |_, usable| (0, usable)));
    // A block without its contents; a refusal without need; a wrong count.
    is_told(|_, right| match right {
        Outcome::Block {
            address, usable, ..
        } => Outcome::Block {
            address,
            usable,
            intact: false,
        },
        other => other,
    });
    is_told(|_, right| match right {
        Outcome::Intact(_) => Outcome::Intact(false),
        other => other,
    });
    is_told(|_, right| match right {
        Outcome::Block { .. } => Outcome::Refused,
        other => other,
    });
    is_told(|_, right| match right {
        Outcome::Counted { blocks, bytes } => Outcome::Counted {
            blocks: blocks + 1,
            bytes,
        },
        other => other,
    });
}
