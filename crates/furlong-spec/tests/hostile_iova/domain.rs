//! Domains under the same attacks. Their locks must not stay held.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};

use furlong::addr::{Extent, Iova};
use furlong::check::Check;
use furlong::iova::{Domain, Grant, Highest, Lowest, Request, Space, Token};
use furlong_spec::Random;
use furlong_spec::hostile::{Ledger, Outcome, panic_at, thinned, user_code};

use super::space::{Victim, pages};
use super::user::{Array, Device, HELD, Moving, Tiny, lie};

const PAGE: u64 = 4096;
const PAGES: u64 = 128;

/// A domain and its caller's values.
struct World<const N: usize> {
    domain: Domain<Device, Tiny<N>>,
    grants: Vec<Grant>,
    tokens: Vec<Token>,
    /// Extents whose grants were given up.
    loose: Vec<Extent<Iova>>,
}

impl<const N: usize> World<N> {
    fn grown(size: usize, seed: u64) -> Self {
        let space = Victim::with_config(pages(0, PAGES), PAGE, Array(Vec::new()));
        let space = space.expect("it is in order");
        let domain = Domain::with_config(space, Device, Moving(Cell::new(1)), 3);
        let mut world = Self {
            domain: domain.map_err(|_| ()).expect("there is memory"),
            grants: Vec::new(),
            tokens: Vec::new(),
            loose: Vec::new(),
        };
        let mut random = Random::new(seed);
        for step in 0..2 * size {
            match random.below(8) {
                0..5 if world.grants.len() < size => world.reserve(1 + random.below(6)),
                0..5 => {}
                5 => world.operate(if step % 3 == 0 { 18 } else { 3 }),
                6 => world.operate(5),
                _ => world.operate(7),
            }
            if step % 9 == 8 {
                world.operate(4);
            }
        }
        world
    }

    fn reserve(&mut self, size: u64) {
        let request = Request::new(size * PAGE);
        self.grants.extend(self.domain.reserve(&request, Highest));
    }

    /// Runs one operation. Values that it consumes are removed from the lists.
    fn operate(&mut self, operation: usize) {
        let Self {
            domain,
            grants,
            tokens,
            ..
        } = self;
        let request = Request::new(2 * PAGE);
        match operation {
            0 => drop(domain.reserve(&request.size(PAGE), Lowest)),
            1 => drop(domain.try_reserve(&request, Highest)),
            2 => drop(domain.place(&request.size(9 * PAGE), Lowest)),
            3 => drop(grants.pop().map(|grant| domain.release_later(grant))),
            4 => tokens.extend(grants.pop().and_then(|grant| domain.release(grant).ok())),
            5 => drop(grants.pop().map(|grant| domain.release_flushed(grant))),
            6 => drop(tokens.pop().map(|token| domain.redeem(token))),
            7 => drop(tokens.pop().map(|token| domain.quarantine(token))),
            8 => drop(domain.redeem_sealed(domain.seal())),
            9 => drop(domain.flush()),
            10 => drop((domain.drain_cpu(0), domain.drain_cpu(1))),
            11 => drop(domain.drain_all()),
            12 => drop(domain.stock(2)),
            13 => drop(domain.prepare(400)),
            14 => domain.with_space(|space| {
                user_code("with_space");
                assert!(space.len() < 1000);
            }),
            15 => _ = (domain.counters(), domain.cached(), domain.quarantined()),
            16 => drop(domain.reserve_at(pages(PAGES / 2, 3))),
            17 => drop(domain.check()),
            18..25 => self.by_address(operation),
            // More than the whole space, so that every kind of relief is tried.
            _ => drop(domain.reserve(&request.size(PAGES * PAGE), Lowest)),
        }
    }

    /// The operations of [`operate`](Self::operate) that are by address.
    fn by_address(&mut self, operation: usize) {
        let Self {
            domain,
            grants,
            tokens,
            loose,
        } = self;
        match operation {
            18 => loose.extend(grants.pop().and_then(|grant| domain.disown(grant).ok())),
            19 => grants.extend(loose.pop().and_then(|extent| domain.claim(extent).ok())),
            20 => tokens.extend(
                loose
                    .pop()
                    .and_then(|extent| domain.release_at(extent).ok()),
            ),
            21 => {
                // Cuts whatever was given up across its ends, and forgets where.
                loose.clear();
                let keep = |token| {
                    tokens.push(token);
                    user_code("release_range");
                };
                _ = domain.release_range(pages(PAGES / 2, PAGES / 4 + 1), keep);
                let left = domain.with_space(|space| {
                    let left = space.unclaimed().map(|owned| owned.extent);
                    left.collect::<Vec<_>>()
                });
                loose.extend(left);
            }
            22 => {
                if let Some(grant) = grants.pop() {
                    let first = Extent::from_len(grant.extent().start(), PAGE);
                    let parted = domain.release_part(grant, first.expect("an extent has a page"));
                    if let Ok((token, kept)) = parted {
                        tokens.push(token);
                        grants.extend(kept.below.into_iter().chain(kept.above));
                    }
                }
            }
            23 => {
                let region = pages(PAGES - 3, 2);
                if domain.reserve_fixed(region).is_ok() {
                    loose.push(region);
                }
            }
            _ => drop(domain.extend(pages(0, PAGES))),
        }
    }

    /// Checks that no lock is held, no invariant is broken and at most `lost` extents have leaked.
    fn look(self, lost: usize, context: &str) {
        assert_eq!(HELD.get(), 0, "{context}: a lock is held");
        if let Err(broken) = self.domain.check() {
            panic!("{context}: {broken}");
        }
        let held = self.grants.len() + self.tokens.len() + self.loose.len();
        for grant in self.grants {
            self.domain.release_flushed(grant).expect("it is held");
        }
        for extent in self.loose {
            let token = self.domain.release_at(extent).expect("it is known");
            self.domain.redeem(token).expect("it is held");
        }
        for token in self.tokens {
            self.domain.redeem(token).expect("it is held");
        }
        let own = self.domain.reserve(&Request::new(1), Lowest);
        if let Ok(own) = own {
            let _ = self.domain.release_later(own).expect("it was just granted");
        }
        self.domain.drain_all();
        self.domain.check().expect("it is in order");
        assert_eq!((self.domain.cached(), self.domain.quarantined()), (0, 0));
        let space: Space<_, _> = self.domain.into_space();
        assert!(
            space.len() <= lost,
            "{context}: {} of {held} leaked",
            space.len()
        );
    }
}

/// The number of operations of [`World::operate`].
const OPERATIONS: usize = 26;

/// The maximum number of extents that one panic may leak: those given to the call, and those on
/// their way to the tree.
const LOST: usize = 33;

pub(crate) fn interrupt_every_operation<const N: usize>(ledger: &mut Ledger) {
    for size in [0, 1, 2, 4, 8, 16, 31, 64] {
        for operation in 0..OPERATIONS {
            let mut call = 1;
            loop {
                let mut world = World::<N>::grown(size, size as u64);
                let state = (size, N, world.domain.cached(), world.domain.quarantined());
                let outcome = panic_at(call, || world.operate(operation));
                world.look(LOST, &format!("{operation}, call {call}, {size}, {N}"));
                ledger.note("iova::Domain", (operation, call), state);
                if let Outcome::Done(()) = outcome {
                    break;
                }
                call += if call < 200 { 1 } else { 7 };
            }
        }
    }
}

/// Forgets grants, tokens, seals and results at each step of a stream. Each costs its extent.
pub(crate) fn forget_everything<const N: usize>(ledger: &mut Ledger) {
    for seed in thinned(0..32) {
        let mut world = World::<N>::grown(seed as usize * 2, seed);
        let mut random = Random::new(seed);
        let mut lost = 0;
        for _ in 0..60 {
            let domain = &world.domain;
            let place = (domain.cached(), domain.quarantined(), world.grants.len());
            let what = random.below(7);
            let page = Request::new(PAGE);
            match what {
                0 => lost += usize::from(world.grants.pop().map(forget).is_some()),
                1 => lost += usize::from(world.tokens.pop().map(forget).is_some()),
                2 => _ = domain.seal(),
                3 => lost += usize::from(domain.reserve(&page, Lowest).map(forget).is_ok()),
                4 => _ = world.grants.pop().map(|grant| domain.release_later(grant)),
                5 => world.operate(4),
                _ => world.reserve(1 + random.below(3)),
            }
            world.domain.check().expect("nothing relies on a drop");
            let of = ["iova::Grant", "iova::Token", "iova::Sealed", "iova::Domain"];
            ledger.note(of[(what as usize).min(3)], what, (N, seed, place));
        }
        world.look(lost, "forgotten");
        forget(World::<N>::grown(seed as usize, seed).domain);
    }
}

/// Uses a measure that lies and a CPU number out of range. No lock stays held, and the domain's
/// caches stay consistent.
pub(crate) fn lie_about_everything<const N: usize>(ledger: &mut Ledger) {
    for seed in thinned(0..40) {
        let mut world = World::<N>::grown(20, seed);
        let mut random = Random::new(seed);
        for step in 0..40 {
            let operation = random.index(OPERATIONS);
            let call = 1 + random.below(300);
            lie(Some(random.next()));
            // A misled search may panic by itself, and so may the `check` of a measure.
            let attempt = || panic_at(call, || world.operate(operation));
            let ended = catch_unwind(AssertUnwindSafe(attempt)).is_ok();
            lie(None);
            assert_eq!(HELD.get(), 0);
            let mut last = None;
            world.domain.with_space(|space| {
                for owned in space.reserved() {
                    assert!(last < Some(owned.extent.start()), "extents overlap");
                    last = Some(owned.extent.last());
                }
                assert!(world.grants.iter().all(|grant| space.holds(grant)));
            });
            ledger.note(
                "iova::Domain",
                ("lie", operation, ended, call),
                (N, seed, step),
            );
        }
    }
}
