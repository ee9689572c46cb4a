//! Parts and ranges cut out of extents, with a panic at every call of user code. Everything outside
//! of the part stays reserved.
#![forbid(unsafe_code)]

use furlong::addr::{Address, Extent, Iova};
use furlong::check::Check;
use furlong::iova::{Grant, Kind, Owned};
use furlong_spec::Random;
use furlong_spec::hostile::{Ledger, Outcome, panic_at, user_code};

use super::space::{Victim, pages};
use super::user::Array;

const PAGE: u64 = 4096;
const PAGES: u64 = 128;

/// Extents of 1 to 12 pages, one in six of them fixed and one in six unclaimed, and the grants of
/// the others.
fn grown(seed: u64) -> (Victim, Vec<Grant>) {
    let mut random = Random::new(seed);
    let space = Victim::with_config(pages(0, PAGES), PAGE, Array(Vec::new()));
    let mut space = space.expect("it is in order");
    let (mut grants, mut at) = (Vec::new(), random.below(3));
    while at + 12 < PAGES {
        let len = 1 + random.below(12);
        let extent = pages(at, len);
        match random.below(6) {
            0 => {
                let reserved = space.reserve_fixed(extent, |_| ());
                reserved.expect("it is free");
            }
            1 => {
                let _ = space.reserve_at(pages(at, len + 1)).expect("it is free");
                // The rest of the extent becomes unclaimed.
                let cut = space.release_range(pages(at + len, 1), drop);
                assert_eq!(cut, Ok(1));
            }
            _ => grants.push(space.reserve_at(extent).expect("it is free")),
        }
        at += len + random.below(3);
    }
    (space, grants)
}

/// The owner of each page.
fn owners(space: &Victim) -> Vec<Option<Kind>> {
    let owner = |page| space.owner(Iova::new(page * PAGE)).map(|owned| owned.kind);
    (0..PAGES).map(owner).collect()
}

fn has(extent: Extent<Iova>, page: usize) -> bool {
    extent.contains(Iova::new(page as u64 * PAGE))
}

/// Checks a space after an attack on `part`: no page outside of it was freed, no invariant is
/// broken, and the space recovers even after a second panic.
fn holds_the_rest(
    space: &mut Victim,
    before: &[Option<Kind>],
    part: Extent<Iova>,
    again: u64,
    told: &str,
) -> Vec<Option<Kind>> {
    let is_whole = |space: &Victim| {
        if let Err(broken) = space.check() {
            panic!("{told}: {broken}");
        }
    };
    is_whole(space);
    let _ = panic_at(again, || space.recover());
    is_whole(space);
    space.recover();
    is_whole(space);
    let after = owners(space);
    for (page, kinds) in before.iter().zip(&after).enumerate() {
        if !has(part, page) || *kinds.0 == Some(Kind::Fixed) {
            let stays = kinds.0.is_some() == kinds.1.is_some();
            assert!(stays, "{told}: page {page} was {:?}", kinds.0);
        } else {
            assert!(kinds.0.is_some() || kinds.1.is_none(), "{told}: {page}");
        }
    }
    after
}

/// Releases a range, with a panic in each call of user code in turn.
fn release_range(ledger: &mut Ledger, seed: u64, range: Extent<Iova>) {
    for call in 1.. {
        let (mut space, _) = grown(seed);
        let before = owners(&space);
        let mut released: Vec<Owned> = Vec::new();
        let outcome = panic_at(call, || {
            let piece = |piece| {
                released.push(piece);
                user_code("released");
            };
            space.release_range(range, piece)
        });
        let told = format!("{range:?} of {seed}, call {call}, {outcome:?}");
        let after = holds_the_rest(&mut space, &before, range, call, &told);
        // Every piece passed to the caller is free, and at most one further piece.
        let gone = |page: usize| before[page].is_some() && after[page].is_none();
        let handed = |page: usize| released.iter().any(|piece| has(piece.extent, page));
        assert!(
            (0..before.len()).all(|page| gone(page) || !handed(page)),
            "{told}: what was released is reserved"
        );
        let mut untold = (0..before.len()).filter(|page| gone(*page) && !handed(*page));
        if let Some(first) = untold.next() {
            let last = untold.next_back().unwrap_or(first);
            let (space, _) = grown(seed);
            let owner = |page: usize| space.owner(Iova::new(page as u64 * PAGE));
            assert_eq!(owner(first), owner(last), "{told}: two pieces are gone");
            assert!(outcome != Outcome::Done(Ok(released.len())), "{told}");
        }
        ledger.note("iova::Space", ("release_range", range, call), seed);
        if let Outcome::Done(done) = outcome {
            assert_eq!(done, Ok(released.len()));
            return;
        }
    }
}

/// Releases a part of an extent in the same way. It is released as a whole, or unchanged.
fn release_part(ledger: &mut Ledger, seed: u64, which: usize, cut: (u64, u64)) {
    for call in 1.. {
        let (mut space, mut grants) = grown(seed);
        let before = owners(&space);
        let grant = grants.swap_remove(which % grants.len());
        let whole = grant.extent();
        let start = whole.start().raw() + cut.0 * PAGE;
        let wanted = Extent::from_len(Iova::new(start), cut.1 * PAGE);
        let Some(part) = wanted.and_then(|part| part.intersection(&whole)) else {
            return;
        };
        let outcome = panic_at(call, || space.release_part(grant, part));
        let told = format!("{part:?} of {whole:?}, call {call}");
        let after = holds_the_rest(&mut space, &before, part, call, &told);
        let inside = (0..before.len()).filter(|page| has(part, *page));
        let free = inside.clone().filter(|page| after[*page].is_none()).count();
        assert!(free == 0 || free == inside.count(), "{told}: a part of it");
        assert!(grants.iter().all(|grant| space.holds(grant)), "{told}");
        ledger.note("iova::Space", ("release_part", cut, call), (seed, whole));
        if let Outcome::Done(kept) = outcome {
            let kept = kept.expect("it is a part of it");
            assert!(free > 0, "{told}");
            for grant in [kept.below, kept.above].into_iter().flatten() {
                space.release(grant).expect("it is held");
            }
            return;
        }
    }
}

pub(crate) fn interrupt_every_cut(ledger: &mut Ledger) {
    for seed in 0..12 {
        let mut random = Random::new(seed ^ 0x55);
        for _ in 0..10 {
            let first = random.below(PAGES - 40);
            release_range(ledger, seed, pages(first, 1 + random.below(38)));
            // Short enough that it often lies within an extent.
            release_range(ledger, seed, pages(first, 1 + random.below(3)));
            let cut = (random.below(6), 1 + random.below(6));
            release_part(ledger, seed, random.index(64), cut);
        }
    }
}
