//! Spaces: a panic at every call of user code in every operation, forgotten grants, and lies.
#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use furlong::addr::{Address, Extent, Iova};
use furlong::check::Check;
use furlong::iova::{Best, Grant, Guard, Highest, Kind, Lowest, Near, Random, Request, Space};
use furlong_spec::hostile::{Ledger, Outcome, panic_at, thinned, user_code};

use super::user::{Array, LoudSpace, lie};

const PAGE: u64 = 4096;
const PAGES: u64 = 256;

pub(crate) type Victim = Space<LoudSpace, Array>;

pub(crate) fn pages(first: u64, count: u64) -> Extent<Iova> {
    Extent::from_len(Iova::new(first * PAGE), count * PAGE).expect("it has a page")
}

/// A space with `size` extents, some of them unclaimed or fixed, and the grants of the others.
fn grown(size: usize, seed: u64) -> (Victim, Vec<Grant>) {
    let mut random = furlong_spec::Random::new(seed);
    let mut space =
        Victim::with_config(pages(0, PAGES), PAGE, Array(Vec::new())).expect("it is in order");
    space
        .reserve_fixed(pages(PAGES - 2, 2), |_| ())
        .expect("it is free");
    let mut grants = Vec::new();
    while grants.len() < size {
        let request = Request::new(PAGE * (1 + random.below(4)));
        let near = Near(Iova::new(random.below(PAGES) * PAGE));
        match space.reserve(&request, near) {
            Ok(grant) => grants.push(grant),
            Err(_) => break,
        }
        if random.below(4) == 0 && !grants.is_empty() {
            let grant = grants.swap_remove(random.index(grants.len()));
            space.release(grant).expect("it was granted");
        }
    }
    (space, grants)
}

/// The number of operations of [`operate`].
pub(crate) const OPERATIONS: usize = 20;

/// Runs one operation. Grants that it consumes are removed from the list; grants that it makes are
/// lost.
fn operate(space: &mut Victim, grants: &mut Vec<Grant>, operation: usize) {
    let part = |grant: &Grant, skip: u64| {
        let extent = grant.extent();
        let len = extent.last().raw() - extent.start().raw() + 1;
        let len = if len > 2 * PAGE { len - 2 * PAGE } else { PAGE };
        Extent::from_len(Iova::new(extent.start().raw() + skip * PAGE), len)
            .and_then(|part| part.intersection(&extent))
    };
    let page = Request::new(PAGE);
    match operation {
        0 => drop(space.reserve(&page, Lowest)),
        1 => drop(space.reserve(&page.align(4 * PAGE), Highest)),
        2 => drop(space.reserve(&page.size(3 * PAGE), Best)),
        3 => drop(space.reserve(&page, Near(Iova::new(80 * PAGE)))),
        4 => {
            let mut next = 7_u64;
            let bits = || {
                user_code("Random");
                next = next.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ 1;
                next
            };
            drop(space.reserve(&page, Random::new(bits)));
        }
        5 => drop(space.reserve(&page.guard(Guard::ONE), Lowest)),
        6 => drop(space.reserve_at(pages(PAGES / 2, 1))),
        7 => drop(grants.pop().map(|grant| space.release(grant))),
        8 => {
            if let Some(grant) = grants.pop() {
                let _ = space.release_at(grant.extent());
            }
        }
        9..=11 => {
            if let Some(grant) = grants.pop()
                && let Some(part) = part(&grant, operation as u64 - 9)
            {
                drop(space.release_part(grant, part));
            }
        }
        12 => drop(space.fill(pages(10, 40), |grant| {
            user_code("fill");
            drop(grant);
        })),
        13 => drop(space.reserve_fixed(pages(PAGES - 9, 9), |_| user_code("reserve_fixed"))),
        14 => {
            grants.clear();
            let _ = space.release_range(pages(3, 90), |_| user_code("release_range"));
        }
        15 => drop(space.release_unclaimed(|_| user_code("release_unclaimed"))),
        16 => drop(
            grants
                .pop()
                .map(|grant| (space.holds(&grant), space.claim(grant.extent()))),
        ),
        17 => drop(space.save()),
        18 => {
            let extents: Vec<_> = space.free_in(pages(0, 99)).collect();
            drop((
                extents,
                space.reserved_in(pages(0, 99)).count(),
                space.free().count(),
            ));
        }
        _ => drop((space.prepare(3), space.owner(Iova::new(9)))),
    }
}

/// Checks that the remaining grants are valid, and that the space works.
fn look(space: &mut Victim, grants: Vec<Grant>, context: &str) {
    if let Err(broken) = space.check() {
        panic!("{context}: {broken}");
    }
    for grant in &grants {
        assert!(space.holds(grant), "{context}: {grant:?} is lost");
    }
    space.recover();
    space.check().expect("it has recovered");
    let own = space.reserve(&Request::new(PAGE), Highest);
    for grant in grants {
        space.release(grant).expect("it is held");
    }
    if let Ok(own) = own {
        space.release(own).expect("it was just granted");
    }
    space.release_unclaimed(|_| ());
    let left: Vec<_> = space.reserved().collect();
    for owned in left {
        // Leaked extents can be listed, and released by their address.
        assert_ne!(owned.kind, Kind::Unclaimed);
        space.release_at(owned.extent).expect("it is reserved");
    }
    assert!(space.is_empty());
    space.check().expect("it is empty");
}

pub(crate) fn interrupt_every_operation(ledger: &mut Ledger) {
    for size in [0, 1, 2, 3, 5, 8, 14, 27, 64] {
        for operation in 0..OPERATIONS {
            let mut call = 1;
            loop {
                let (mut space, mut grants) = grown(size, size as u64 ^ 77);
                let state: Vec<_> = space.reserved().map(|owned| owned.extent).collect();
                let outcome = panic_at(call, || operate(&mut space, &mut grants, operation));
                let again = panic_at(call, || space.recover());
                look(
                    &mut space,
                    grants,
                    &format!("{operation}, call {call}, {size}"),
                );
                let again = again == Outcome::Done(());
                ledger.note("iova::Space", (operation, call, again), state);
                if outcome == Outcome::Done(()) {
                    break;
                }
                // In long operations every call at first, and then every third call.
                call += if call < 300 { 1 } else { 3 };
            }
        }
    }
}

/// Forgets the results of operations, and the grants received, at each step of a stream.
pub(crate) fn forget_everything(ledger: &mut Ledger) {
    for seed in thinned(0..24) {
        let (mut space, mut grants) = grown(seed as usize * 2, seed);
        let mut random = furlong_spec::Random::new(seed);
        for _ in 0..60 {
            let state: Vec<_> = space.reserved().map(|owned| owned.extent).collect();
            let what = random.below(6);
            match what {
                0 => _ = space.reserve(&Request::new(PAGE), Lowest),
                1 => _ = grants.pop(),
                2 => std::mem::forget(space.free_in(pages(0, 30))),
                3 => std::mem::forget(space.reserved()),
                4 => {
                    if let Some(grant) = grants.pop() {
                        let first = Extent::from_len(grant.extent().start(), PAGE);
                        let first = first.expect("a page");
                        _ = space.release_part(grant, first);
                    }
                }
                _ => grants.extend(space.reserve(&Request::new(2 * PAGE), Highest)),
            }
            space.check().expect("nothing relies on a drop");
            assert!(grants.iter().all(|grant| space.holds(grant)));
            ledger.note("iova::Grant", what, state);
        }
        look(&mut space, grants, "forgotten");
    }
}

/// Uses a measure that lies. Every grant is still unique, and an honest measure finds all extents
/// again.
pub(crate) fn lie_about_gaps(ledger: &mut Ledger) {
    for seed in thinned(0..60) {
        let (mut space, mut grants) = grown(30, seed);
        let mut random = furlong_spec::Random::new(seed);
        for step in 0..60 {
            let operation = random.index(OPERATIONS);
            let call = 1 + random.below(400);
            lie(Some(random.next()));
            // A misled search may panic by itself.
            let attempt = || panic_at(call, || operate(&mut space, &mut grants, operation));
            let ended = catch_unwind(AssertUnwindSafe(attempt)).is_ok();
            lie(None);
            let mut last = None;
            for owned in space.reserved() {
                assert!(last < Some(owned.extent.start()), "extents overlap");
                last = Some(owned.extent.last());
            }
            assert!(grants.iter().all(|grant| space.holds(grant)));
            ledger.note("iova::Space", ("lie", operation, ended, call), (seed, step));
        }
    }
}
