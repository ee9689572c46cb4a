//! Tests of random places, and of the defects that `check` reports.

use std::vec::Vec;

use super::{
    BrokenSpace, Counts, Custom, Domain, DomainConfig, Guard, Highest, Largest, Lowest, NoTlb,
    OneCpu, Random, Request, Reserved, Runs, Space, SpaceNode, Standard, Storage, VecSpace,
};
use crate::addr::{Address, Extent, Iova};
use crate::check::Check;
use crate::rbtree::{Checked, Off, Tally};
use crate::sync::SpinLock;

type Drawn = Custom<Counts<6>, Checked, Tally>;
type Counted = Custom<Largest, Checked, Tally>;

fn extent(start: u64, len: u64) -> Extent<Iova> {
    Extent::from_len(Iova::new(start), len).unwrap()
}

/// 64 uniform bits a call: splitmix64.
fn bits(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

/// 64 granules of one byte, with gaps of 1, 2, 3 .. between extents of 1 to 3.
fn ragged<C: super::Config>() -> VecSpace<C> {
    let mut space = Space::with_config(extent(0, 64), 1, Vec::new()).unwrap();
    let mut at = 0;
    for step in 0..9 {
        let reserved = space.reserve_at(extent(at + step, 1 + step % 3)).unwrap();
        at = reserved.extent().last().raw() + 1;
    }
    space
}

/// Compares how often each start is drawn with the starts that suit the request.
fn chi_squared<C: super::Config>(request: &Request, draws: u32) -> (f64, usize) {
    let mut space = ragged::<C>();
    let mut random = Random::new(bits(7));
    let mut hits = [0u32; 64];
    for _ in 0..draws {
        let grant = space.reserve(request, &mut random).unwrap();
        hits[grant.extent().start().raw() as usize] += 1;
        space.release(grant).unwrap();
    }
    let mut is_place = |start: u64| {
        let last = Iova::new(start + request.size - 1);
        if Iova::new(start) < request.low || request.high < last {
            return false;
        }
        let at = request.window(Iova::new(start), last);
        let grant = space.reserve(&at, Lowest);
        grant.is_ok_and(|grant| space.release(grant).is_ok())
    };
    let places: Vec<usize> = (0..64)
        .filter(|start| is_place(*start))
        .map(|s| s as usize)
        .collect();
    let total: u32 = places.iter().map(|start| hits[*start]).sum();
    assert_eq!(total, draws, "every draw is a place that suits the request");
    let expected = f64::from(draws) / places.len() as f64;
    let term = |start: &usize| (f64::from(hits[*start]) - expected).powi(2) / expected;
    (places.iter().map(term).sum(), places.len() - 1)
}

/// The 0.999 quantile of chi squared, after Wilson and Hilferty.
fn limit(freedom: usize) -> f64 {
    let freedom = freedom as f64;
    let part = 2.0 / (9.0 * freedom);
    freedom * (1.0 - part + 3.0902 * part.sqrt()).powi(3)
}

#[test]
fn every_place_has_the_same_chance() {
    let requests = [
        Request::new(1),
        Request::new(2),
        Request::new(3).align(2),
        Request::new(4).boundary(8),
        Request::new(1).guard(Guard::ONE),
        Request::new(2).window(Iova::new(9), Iova::new(40)),
        Request::new(2).exclude(Iova::new(11), Iova::new(35)),
        Request::new(3)
            .guard(Guard {
                before: 2,
                after: 0,
            })
            .window(Iova::new(1), Iova::new(60)),
    ];
    for request in requests {
        for (found, freedom) in [
            chi_squared::<Counted>(&request, 20_000),
            chi_squared::<Drawn>(&request, 20_000),
        ] {
            assert!(freedom > 0, "{request:?} has a choice");
            assert!(
                found < limit(freedom),
                "{found} at {freedom} degrees for {request:?}"
            );
        }
    }
}

#[test]
fn the_one_gap_among_ten_thousand_that_are_nearly_large_enough_is_found() {
    let mut space = Space::<Drawn, _>::with_config(extent(0, 1 << 40), 1, Vec::new()).unwrap();
    let mut at = 0;
    for step in 0..10_000 {
        at += if step == 5000 { 16 } else { 15 };
        let _ = space.reserve_at(extent(at, 1)).unwrap();
        at += 1;
    }
    let _ = space.reserve_at(extent(at, (1 << 40) - at)).unwrap();
    let mut random = Random::new(bits(3));
    for size in [16, 15] {
        let before = space.counters().visits();
        let grant = space.reserve(&Request::new(size), &mut random).unwrap();
        let visits = space.counters().visits() - before;
        assert!(
            visits <= 4 * 14 + 16 + 2 * 2 * 14,
            "{visits} nodes for {size}"
        );
        space.release(grant).unwrap();
    }
    assert_eq!((random.rejections(), random.walks()), (0, 0));
    // Not a power of two: most attempts fail in gaps that are too small, then all gaps are counted.
    for _ in 0..50 {
        let grant = space
            .reserve(&Request::new(15).align(2), &mut random)
            .unwrap();
        space.release(grant).unwrap();
    }
    assert!(random.rejections() > 0);
}

#[test]
fn a_power_of_two_is_drawn_at_the_first_attempt() {
    let mut space = ragged::<Drawn>();
    let mut random = Random::new(bits(11));
    for size in [1, 2, 4] {
        for _ in 0..100 {
            let grant = space.reserve(&Request::new(size), &mut random).unwrap();
            space.release(grant).unwrap();
        }
    }
    assert_eq!((random.rejections(), random.walks()), (0, 0));
}

#[test]
fn no_place_is_drawn_where_there_is_none() {
    let mut space = ragged::<Drawn>();
    let mut random = Random::new(bits(1));
    assert!(space.reserve(&Request::new(40), &mut random).is_err());
    assert!(
        space
            .reserve(
                &Request::new(8)
                    .align(32)
                    .window(Iova::new(33), Iova::new(63)),
                &mut random
            )
            .is_err()
    );
    let all = Request::new(1).window(Iova::new(63), Iova::new(63));
    let taken = space.reserve(&all, &mut random).is_ok();
    assert_eq!(taken, space.reserve(&all, Lowest).is_err());
}

#[test]
fn an_aligned_run_is_found_among_gaps_misaligned_by_one() {
    type Aligned = Custom<Runs<8>, Checked, Tally>;
    let mut space = Space::<Aligned, _>::with_config(extent(0, 1 << 20), 1, Vec::new()).unwrap();
    for at in 0..4000u64 {
        // Free are 2..=31 of each 64, and 1..=32 at 3000: nowhere 16 from a multiple of 32.
        let cut = u64::from(at != 3000);
        let _ = space.reserve_at(extent(at * 64, 1 + cut)).unwrap();
        let _ = space
            .reserve_at(extent(at * 64 + 33 - cut, 31 + cut))
            .unwrap();
    }
    let before = space.counters().visits();
    let request = Request::new(16).align(32).guard(Guard::NONE);
    let grant = space.reserve(&request, Lowest);
    let visits = space.counters().visits() - before;
    assert_eq!(grant.unwrap().extent().start(), Iova::new(256_000));
    assert!(visits <= 4 * 13 + 16, "{visits} nodes");
}

fn broken<C: super::Config, S: Storage<C>>(space: &Space<C, S>) -> BrokenSpace {
    space.check().expect_err("an invariant is broken")
}

#[test]
fn check_names_each_invariant_that_is_broken() {
    let fresh = || {
        let mut space = VecSpace::new(extent(0, 1 << 20), 4096, Vec::new()).unwrap();
        let low = space.reserve_at(extent(0x1000, 0x1000)).unwrap();
        let _ = space.reserve_at(extent(0x4000, 0x2000)).unwrap();
        space.release(low).unwrap();
        let _ = space.reserve_at(extent(0x8000, 0x1000)).unwrap();
        let gone = space.reserve_at(extent(0xa000, 0x1000)).unwrap();
        space.release(gone).unwrap();
        space.check().unwrap();
        space
    };
    let mut space = fresh();
    space.bounds.last = 7;
    assert_eq!(
        broken(&space),
        BrokenSpace::Outside(space.tree.last().unwrap())
    );

    let mut space = fresh();
    let last = space.tree.last().unwrap();
    space.tree.update(last, |item| item.start = 5);
    assert_eq!(
        broken(&space),
        BrokenSpace::Overlap(space.tree.last().unwrap())
    );

    let mut space = fresh();
    let free = space
        .tree
        .nodes()
        .ids()
        .find(|at| !space.tree.is_linked(*at))
        .unwrap();
    space.spare.count = 0;
    assert_eq!(broken(&space), BrokenSpace::Lost(free));
    space.spare.count = 1;
    space.check().unwrap();
    space.spare.next = space.tree.last().unwrap().index() as u64;
    assert_eq!(
        broken(&space),
        BrokenSpace::Lost(space.tree.last().unwrap())
    );

    let mut space = fresh();
    let ends = space.ends.map(|[first, _]| [first; 2]);
    space.ends = ends;
    assert_eq!(broken(&space), BrokenSpace::Ends(ends));

    let mut nodes = [SpaceNode::<Standard>::new(Reserved { start: 0, last: 0 })];
    let mut space = Space::new(extent(0, 1 << 20), 4096, &mut nodes[..]).unwrap();
    assert_eq!(space.spare.count, 1);
    let at = space.link(
        super::search::query::Gap { first: 9, last: 3 },
        None,
        super::Kind::Granted,
    );
    assert_eq!(broken(&space), BrokenSpace::Overlap(at.unwrap()));
}

#[test]
fn a_remainder_that_was_reserved_once_is_not_reserved_after_a_later_panic() {
    let mut space = VecSpace::new(extent(0, 16), 1, Vec::new()).unwrap();
    let _ = space.reserve_at(extent(2, 8)).unwrap();
    space.release_range(extent(4, 2), |_| ()).unwrap();
    assert!(!space.is_interrupted, "no change is left to repair");
    space.release_range(extent(6, 4), |_| ()).unwrap();
    // A panic in another change sets this.
    space.is_interrupted = true;
    space.recover();
    space.check().unwrap();
    let _ = space.reserve_at(extent(4, 12)).unwrap();
}

#[test]
fn nodes_that_are_there_are_enough_where_none_can_be_added() {
    let mut nodes = [SpaceNode::<Standard>::new(Reserved { start: 0, last: 0 }); 2];
    let mut space = Space::new(extent(0, 1 << 20), 4096, &mut nodes[..]).unwrap();
    assert_eq!(space.prepare(2), Ok(()));
    assert!(space.prepare(3).is_err());
    let _ = space.reserve(&Request::new(1), Lowest).unwrap();
    assert_eq!(space.prepare(1), Ok(()));
    assert!(space.prepare(2).is_err());
}

#[test]
fn a_stale_grant_releases_no_extent_of_another_kind() {
    let mut space = VecSpace::new(extent(0, 1 << 20), 4096, Vec::new()).unwrap();
    let stale = space.reserve_at(extent(0x1000, 0x1000)).unwrap();
    space.release_at(stale.extent()).unwrap();
    let gap = super::search::query::Gap { first: 1, last: 1 };
    let at = space.link(gap, None, super::Kind::Fixed).unwrap();
    assert_eq!(
        at.index(),
        stale.index(),
        "it has the node that the grant had"
    );
    assert!(!space.holds(&stale));
    assert!(space.release(stale).is_err());
    assert_eq!(space.len(), 1);
}

#[test]
fn a_grant_is_good_in_the_domain_of_its_space_and_behind_it() {
    let mut space = VecSpace::new(extent(0, 1 << 20), 4096, Vec::new()).unwrap();
    let [before, kept] = [(); 2].map(|()| space.reserve(&Request::new(1), Lowest).unwrap());
    let domain = Domain::new(space, NoTlb, OneCpu, 1).unwrap();
    domain.release_flushed(before).unwrap();
    let after = domain.reserve(&Request::new(1), Lowest).unwrap();
    domain.check().unwrap();
    let mut space = domain.into_space();
    assert_eq!(space.len(), 2);
    for grant in [kept, after] {
        space.release(grant).unwrap();
    }
    assert!(space.is_empty());
}

#[test]
fn a_later_domain_of_a_space_refuses_the_tokens_and_seals_of_an_earlier_one() {
    let space = VecSpace::new(extent(0, 1 << 20), 4096, Vec::new()).unwrap();
    let page = Request::new(1);
    let domain = Domain::new(space, NoTlb, OneCpu, 2).unwrap();
    let [one, two] = [(); 2].map(|()| domain.reserve(&page, Lowest).unwrap());
    let [token, other] = [one, two].map(|grant| domain.release(grant).unwrap());
    let sealed = domain.seal();
    let domain = Domain::new(domain.into_space(), NoTlb, OneCpu, 1).unwrap();
    let token = domain.redeem(token).unwrap_err().0;
    assert!(domain.quarantine(token).is_err());
    assert!(domain.redeem_sealed(sealed).is_err());
    assert_eq!(domain.outstanding(), 0);
    domain.check().unwrap();
    // Nobody can redeem them any more; their addresses can be released in the space.
    let mut space = domain.into_space();
    assert_eq!(space.len(), 2);
    space.release_at(other.extent()).unwrap();
}

#[test]
fn an_earlier_domains_grant_that_was_released_by_its_address_is_refused() {
    let space = VecSpace::new(extent(0, 1 << 20), 4096, Vec::new()).unwrap();
    let domain = Domain::new(space, NoTlb, OneCpu, 1).unwrap();
    let [stale, kept] = [(); 2].map(|()| domain.reserve(&Request::new(1), Lowest).unwrap());
    let mut space = domain.into_space();
    space.release_at(stale.extent()).unwrap();
    // The second domain has no magazines: an extent of a class goes to the tree.
    let domain = Domain::<_, Classless>::with_config(space, NoTlb, OneCpu, 1).unwrap();
    let stale = domain.release_flushed(stale).unwrap_err().0;
    let stale = domain.release_later(stale).unwrap_err().0;
    assert!(domain.release(stale).is_err());
    domain.release_flushed(kept).unwrap();
    domain.check().unwrap();
    assert_eq!(domain.cached(), 0);
    assert!(domain.into_space().is_empty());
}

/// A domain's configuration without magazines.
struct Classless;

impl DomainConfig for Classless {
    type Space = Standard;
    type Lock = SpinLock;
    type Cpu = OneCpu;
    type Counters = Off;
    const CLASSES: usize = 0;
}

#[test]
fn an_exclusion_leaves_the_addresses_below_it_and_above_it() {
    let mut space = VecSpace::new(extent(0, 64), 1, Vec::new()).unwrap();
    let request = Request::new(8).exclude(Iova::new(9), Iova::new(50));
    let starts = [(); 2].map(|()| space.reserve(&request, Highest).unwrap().extent().start());
    assert_eq!(starts, [56, 2].map(Iova::new));
    assert!(space.reserve(&request, Highest).is_err());
}

#[test]
fn counting_places_counts_the_nodes_that_it_visits() {
    let mut space = Space::<Drawn, _>::with_config(extent(0, 64), 1, Vec::new()).unwrap();
    let _ = space.reserve_at(extent(20, 4)).unwrap();
    let before = space.counters().visits();
    let window = Request::new(1).window(Iova::new(30), Iova::new(40));
    let _ = space.reserve(&window, Random::new(bits(1))).unwrap();
    // For the places below the window, for those up to its end, and on the way to the drawn one.
    assert_eq!(space.counters().visits() - before, 3);
}

#[test]
fn a_gap_of_more_than_half_of_64_bits_is_measured_to_the_granule() {
    let all = Extent::from_last(Iova::new(0), Iova::new(u64::MAX)).unwrap();
    let mut space = VecSpace::new(all, 1, Vec::new()).unwrap();
    assert_eq!(space.largest(), u64::MAX);
    let _ = space.reserve_at(extent(10, 1)).unwrap();
    let _ = space.reserve_at(extent(u64::MAX - 5, 1)).unwrap();
    assert_eq!(space.largest(), u64::MAX - 6 - 10);
}

/// A space whose cut of an extent a panic has interrupted: 20 to 29 are to be reserved again.
fn interrupted() -> VecSpace {
    let mut space = VecSpace::new(extent(0, 64), 1, Vec::new()).unwrap();
    let _ = space.reserve_at(extent(10, 1)).unwrap();
    let rest = super::search::query::Gap {
        first: 20,
        last: 29,
    };
    space.is_interrupted = true;
    space.rest = Some((rest, super::Kind::Unclaimed));
    space
}

#[test]
fn a_repair_is_done_once_and_forgets_what_it_had_to_reserve() {
    let mut space = interrupted();
    space.recover();
    assert!(!space.is_interrupted);
    assert_eq!(space.len(), 2);
    space.release_at(extent(20, 10)).unwrap();
    space.is_interrupted = true;
    space.recover();
    assert_eq!(space.len(), 1);
    space.check().unwrap();
}

#[test]
fn a_change_after_a_panic_sees_the_remainder_of_what_was_being_cut() {
    let mut space = interrupted();
    let refused = space.reserve_at(extent(22, 2));
    assert!(matches!(refused, Err(super::ReserveAtError::Occupied(_))));
    space.check().unwrap();
    let mut space = interrupted();
    let mut filled = Vec::new();
    space
        .fill(extent(15, 20), |grant| filled.push(grant.extent()))
        .unwrap();
    assert_eq!(filled, [extent(15, 5), extent(30, 5)]);
    space.check().unwrap();
    let mut space = interrupted();
    assert!(space.reserve_fixed(extent(18, 8), |_| ()).is_err());
    assert!(space.claim(extent(20, 10)).is_ok());
    let mut space = interrupted();
    assert_eq!(space.release_range(extent(0, 64), |_| ()).unwrap(), 2);
    space.check().unwrap();
}
