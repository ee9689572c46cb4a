//! Range operations in cases where other implementations fail: adjacent edges, both ends of the
//! 64-bit range, and arguments that make no sense.
#![forbid(unsafe_code)]

use furlong::addr::{Extent, Iova};
use furlong::check::Check;
use furlong::iova::{
    ClaimError, Custom, Grant, Kind, Lowest, Owned, PartError, RangeError, ReleaseError, Request,
    ReserveAtError, ReserveError, Space, VecSpace,
};
use furlong::rbtree::{Checked, Tally};

const PAGE: u64 = 4096;

fn pages(first: u64, count: u64) -> Extent<Iova> {
    Extent::from_len(Iova::new(first * PAGE), count * PAGE).expect("pages of 64 bits")
}

fn space(pages_count: u64) -> VecSpace {
    VecSpace::new(pages(0, pages_count), PAGE, Vec::new()).expect("whole pages")
}

fn whole() -> Extent<Iova> {
    Extent::from_last(Iova::new(0), Iova::new(u64::MAX)).expect("not reversed")
}

fn reserved(space: &VecSpace) -> Vec<(Extent<Iova>, Kind)> {
    space.check().expect("no invariant is broken");
    space
        .reserved()
        .map(|owned| (owned.extent, owned.kind))
        .collect()
}

fn fill(space: &mut VecSpace, range: Extent<Iova>) -> Vec<Extent<Iova>> {
    let mut grants: Vec<Grant> = Vec::new();
    let count = space.fill(range, |grant| grants.push(grant));
    assert_eq!(count, Ok(grants.len()));
    grants.iter().map(Grant::extent).collect()
}

fn release(space: &mut VecSpace, range: Extent<Iova>) -> Vec<Extent<Iova>> {
    let mut pieces: Vec<Owned> = Vec::new();
    let count = space.release_range(range, |piece| pieces.push(piece));
    assert_eq!(count, Ok(pieces.len()));
    pieces.iter().map(|piece| piece.extent).collect()
}

#[test]
fn a_fixed_region_that_covers_others_is_added_in_pieces() {
    let mut space = space(64);
    for region in [pages(10, 2), pages(20, 1), pages(21, 1)] {
        assert_eq!(space.reserve_fixed(region, drop), Ok(1));
    }
    let mut added = Vec::new();
    let count = space.reserve_fixed(pages(0, 64), |part| added.push(part));
    assert_eq!(count, Ok(3));
    assert_eq!(added, [pages(0, 10), pages(12, 8), pages(22, 42)]);
    assert_eq!(space.len(), 6, "what was there is as it was");
    assert_eq!(space.reserve_fixed(pages(5, 40), drop), Ok(0));
    assert!(space.free().next().is_none());
}

#[test]
fn a_fixed_region_over_a_grant_is_refused() {
    let mut space = space(64);
    assert_eq!(space.reserve_fixed(pages(4, 4), drop), Ok(1));
    let grant = space.reserve_at(pages(10, 2)).expect("it is free");
    let before = reserved(&space);
    for region in [pages(0, 64), pages(9, 2), pages(11, 9), pages(10, 1)] {
        let refused = space.reserve_fixed(region, |_| panic!("something was added"));
        assert_eq!(refused, Err(ReserveAtError::Occupied(grant.extent())));
        assert_eq!(reserved(&space), before);
    }
    // An adjacent extent on either side is no overlap.
    assert_eq!(space.reserve_fixed(pages(8, 2), drop), Ok(1));
    assert_eq!(space.reserve_fixed(pages(12, 1), drop), Ok(1));
}

#[test]
fn a_fixed_region_is_released_by_its_address_alone() {
    let mut space = space(8);
    space.reserve_fixed(pages(2, 2), drop).expect("it is free");
    assert_eq!(release(&mut space, pages(0, 8)), []);
    space.release_unclaimed(|_| panic!("it is no leak"));
    assert_eq!(space.claim(pages(2, 2)), Err(ClaimError::Fixed));
    assert_eq!(
        space.release_at(pages(2, 1)),
        Err(ReleaseError::Partial(pages(2, 2)))
    );
    assert_eq!(space.release_at(pages(2, 2)), Ok(Kind::Fixed));
    assert!(space.is_empty());
}

#[test]
fn the_whole_of_64_bits_is_filled_and_released() {
    for granule in [1, PAGE, 1 << 63] {
        let mut space = VecSpace::new(whole(), granule, Vec::new()).expect("whole granules");
        assert_eq!(space.free_in(whole()).collect::<Vec<_>>(), [whole()]);
        assert_eq!(fill(&mut space, whole()), [whole()]);
        assert_eq!(fill(&mut space, whole()), []);
        assert_eq!(space.free_in(whole()).next(), None);
        let full = space.reserve(&Request::new(1), Lowest);
        assert!(matches!(
            full,
            Err(ReserveError::NoSpace { largest: 0, .. })
        ));
        // The first and the last granule are cut off in turn.
        let half = 1u64 << 63;
        let (low, high) = whole().split_at(Iova::new(half)).expect("two halves");
        assert_eq!(release(&mut space, low), [low]);
        assert_eq!(reserved(&space), [(high, Kind::Unclaimed)]);
        assert_eq!(release(&mut space, whole()), [high]);
        assert_eq!(space.reserve_fixed(whole(), drop), Ok(1));
        assert_eq!(space.reserve_fixed(low, drop), Ok(0));
    }
}

#[test]
fn the_first_and_the_last_granule_are_cut_off() {
    let mut space = VecSpace::new(whole(), PAGE, Vec::new()).expect("whole pages");
    assert_eq!(fill(&mut space, whole()).len(), 1);
    let top = (1 << 52) - 1;
    assert_eq!(release(&mut space, pages(0, 1)), [pages(0, 1)]);
    assert_eq!(release(&mut space, pages(top, 1)), [pages(top, 1)]);
    let left = Extent::from_last(Iova::new(PAGE), Iova::new(u64::MAX - PAGE)).expect("not empty");
    assert_eq!(reserved(&space), [(left, Kind::Unclaimed)]);
    assert_eq!(fill(&mut space, whole()), [pages(0, 1), pages(top, 1)]);
    assert!(space.free().next().is_none());
}

/// An upstream loop searches for the first entry that ends at or above the start of the range. It
/// finds the one that ends exactly there, and computes a hole of negative length.
#[test]
fn a_range_that_begins_where_an_extent_ends_is_filled() {
    let mut space = space(16);
    let _ = space.reserve_at(pages(0, 4)).expect("it is free");
    let _ = space.reserve_at(pages(8, 4)).expect("it is free");
    assert_eq!(fill(&mut space, pages(4, 4)), [pages(4, 4)]);
    assert_eq!(fill(&mut space, pages(12, 4)), [pages(12, 4)]);
    assert_eq!(fill(&mut space, pages(0, 16)), []);
}

#[test]
fn a_range_over_several_extents_from_0_is_filled_between_them() {
    let mut space = space(16);
    for first in [2, 3, 8] {
        let _ = space.reserve_at(pages(first, 1)).expect("it is free");
    }
    let parts = [pages(0, 2), pages(4, 4), pages(9, 6)];
    assert_eq!(fill(&mut space, pages(0, 15)), parts);
    assert_eq!(fill(&mut space, pages(0, 16)), [pages(15, 1)]);
}

/// An upstream loop takes the entry that straddles the right end as a whole, and clips the next
/// one.
#[test]
fn an_extent_that_straddles_the_right_end_is_cut_there() {
    let mut space = space(16);
    let _ = space.reserve_at(pages(1, 4)).expect("it is free");
    let _ = space.reserve_at(pages(6, 6)).expect("it is free");
    let _ = space.reserve_at(pages(12, 4)).expect("it is free");
    let pieces = [pages(3, 2), pages(6, 2)];
    assert_eq!(release(&mut space, pages(3, 5)), pieces);
    let left = [
        (pages(1, 2), Kind::Unclaimed),
        (pages(8, 4), Kind::Unclaimed),
        (pages(12, 4), Kind::Granted),
    ];
    assert_eq!(reserved(&space), left);
}

#[test]
fn what_a_cut_leaves_is_claimed_or_released_by_its_address() {
    let mut space = space(16);
    let stale = space.reserve_at(pages(4, 8)).expect("it is free");
    let index = stale.index();
    assert_eq!(release(&mut space, pages(6, 2)), [pages(6, 2)]);
    let stale = space.release(stale).expect_err("it was cut").0;
    assert_eq!(stale.extent(), pages(4, 8));
    let low = space.claim(pages(4, 2)).expect("nobody holds it");
    assert_eq!((low.index(), low.data()), (index, pages(4, 2)));
    assert_eq!(space.claim(pages(4, 2)), Err(ClaimError::Granted));
    assert_eq!(
        space.claim(pages(8, 3)),
        Err(ClaimError::Partial(pages(8, 4)))
    );
    assert_eq!(space.claim(pages(6, 1)), Err(ClaimError::NotReserved));
    assert_eq!(space.release_at(pages(8, 4)), Ok(Kind::Unclaimed));
    assert_eq!(space.release(low), Ok(()));
    assert!(space.is_empty());
}

#[test]
fn the_parts_of_a_grant_share_its_data() {
    let mut space = space(64);
    let request = Request::new(5 * PAGE).offset(512);
    let mut reserve = || space.reserve(&request, Lowest).expect("there is room");
    let (first, second, third) = (reserve(), reserve(), reserve());
    assert_eq!(first.extent(), pages(0, 6));
    let kept = space
        .release_part(first, pages(2, 2))
        .expect("it is inside");
    let (below, above) = (
        kept.below.expect("two pages"),
        kept.above.expect("two pages"),
    );
    let data = |start: u64, end: u64| Extent::from_end(Iova::new(start), Iova::new(end));
    assert_eq!(Some(below.data()), data(512, 2 * PAGE));
    assert_eq!(Some(above.data()), data(4 * PAGE, 5 * PAGE + 512));
    assert_eq!(space.release(below), Ok(()));
    assert_eq!(space.release(above), Ok(()));
    let kept = space.release_part(second, pages(6, 6)).expect("all of it");
    assert!(kept.below.is_none() && kept.above.is_none());
    assert_eq!(space.len(), 1);
    assert_eq!(space.release(third), Ok(()));
}

#[test]
fn a_part_of_nothing_gives_the_grant_back() {
    let mut space = space(64);
    let mut other = self::space(64);
    let grant = space.reserve_at(pages(4, 4)).expect("it is free");
    let ragged = Extent::from_len(Iova::new(4 * PAGE), PAGE / 2).expect("not empty");
    let causes = [
        (ragged, PartError::Ragged),
        (pages(3, 2), PartError::NotInside),
        (pages(7, 2), PartError::NotInside),
        (pages(9, 1), PartError::NotInside),
    ];
    let mut grant = grant;
    for (part, cause) in causes {
        let refused = space
            .release_part(grant, part)
            .expect_err("it makes no sense");
        assert_eq!(refused.cause, cause);
        grant = refused.grant;
    }
    let refused = other
        .release_part(grant, pages(4, 1))
        .expect_err("it is another space");
    assert_eq!(refused.cause, PartError::Stale);
    assert_eq!(space.release(refused.grant), Ok(()));
}

#[test]
fn a_range_that_makes_no_sense_is_refused_by_every_verb() {
    let mut space = VecSpace::new(pages(8, 8), PAGE, Vec::new()).expect("whole pages");
    let _ = space.reserve_at(pages(10, 2)).expect("it is free");
    let before = reserved(&space);
    let ragged = [
        Extent::from_len(Iova::new(10 * PAGE + 1), PAGE),
        Extent::from_len(Iova::new(10 * PAGE), PAGE + 1),
        Extent::from_len(Iova::new(10 * PAGE), 1),
    ];
    for range in ragged.into_iter().flatten() {
        assert_eq!(space.fill(range, drop), Err(RangeError::Ragged(range)));
        assert_eq!(
            space.release_range(range, drop),
            Err(RangeError::Ragged(range))
        );
        assert_eq!(
            space.reserve_fixed(range, drop),
            Err(ReserveAtError::Ragged(range))
        );
        assert_eq!(space.claim(range), Err(ClaimError::Ragged(range)));
    }
    let all = space.extent();
    for range in [
        pages(7, 2),
        pages(15, 2),
        pages(0, 1),
        pages(16, 1),
        whole(),
    ] {
        assert_eq!(space.fill(range, drop), Err(RangeError::Outside(all)));
        assert_eq!(
            space.release_range(range, drop),
            Err(RangeError::Outside(all))
        );
        assert_eq!(
            space.reserve_fixed(range, drop),
            Err(ReserveAtError::Outside(all))
        );
    }
    assert_eq!(reserved(&space), before);
}

#[test]
fn a_look_at_a_range_needs_no_whole_granules_and_no_space_behind_them() {
    let mut space = VecSpace::new(pages(8, 8), PAGE, Vec::new()).expect("whole pages");
    let _ = space.reserve_at(pages(10, 2)).expect("it is free");
    let bytes = |first, last| Extent::from_last(Iova::new(first), Iova::new(last)).expect("bytes");
    let free = |range| space.free_in(range).collect::<Vec<_>>();
    assert_eq!(free(whole()), [pages(8, 2), pages(12, 4)]);
    let (start, end) = (10 * PAGE, 12 * PAGE);
    assert_eq!(
        free(bytes(start - 1, end)),
        [bytes(start - 1, start - 1), bytes(end, end)]
    );
    assert_eq!(free(bytes(start, end - 1)), []);
    assert_eq!(free(pages(0, 8)), []);
    assert_eq!(free(pages(16, 99)), []);
    let owners = |range| space.reserved_in(range).count();
    assert_eq!(owners(whole()), 1);
    assert_eq!(owners(bytes(0, start)), 1);
    assert_eq!(owners(bytes(end - 1, u64::MAX)), 1);
    assert_eq!(
        owners(bytes(0, start - 1)) + owners(bytes(end, u64::MAX)),
        0
    );
}

/// 10,000 pages, each with a free page above it.
fn checkerboard() -> VecSpace<Custom<u64, Checked, Tally>> {
    let all = pages(0, 1 << 20);
    let mut space = Space::with_config(all, PAGE, Vec::new()).expect("whole pages");
    for at in 0..10_000 {
        let _ = space.reserve_at(pages(2 * at, 1)).expect("it is free");
    }
    space
}

#[test]
fn a_verb_about_a_range_looks_at_what_is_in_it_and_on_the_way_there() {
    // The height of the tree, which has seen no removal.
    const HEIGHT: u64 = 20;
    let mut space = checkerboard();
    let mut visits = |verb: &mut dyn FnMut(&mut VecSpace<_>)| {
        let before = space.counters().visits();
        verb(&mut space);
        space.counters().visits() - before
    };
    let range = pages(7000, 600);
    let free_in = visits(&mut |space| assert_eq!(space.free_in(range).count(), 300));
    let reserved_in = visits(&mut |space| assert_eq!(space.reserved_in(range).count(), 300));
    let fill = visits(&mut |space| assert_eq!(space.fill(range, drop), Ok(300)));
    let release = visits(&mut |space| assert_eq!(space.release_range(range, |_| ()), Ok(600)));
    let fixed = visits(&mut |space| assert_eq!(space.reserve_fixed(range, drop), Ok(1)));
    let kept = visits(&mut |space| assert_eq!(space.release_range(range, |_| ()), Ok(0)));
    let once = HEIGHT + 300;
    assert!(
        free_in <= once && reserved_in <= once,
        "{free_in}, {reserved_in} nodes"
    );
    // The parts are counted before they are filled, so there are two passes.
    assert!(fill <= 2 * once, "{fill} nodes");
    assert!(release <= HEIGHT * 600, "{release} nodes");
    assert!(
        fixed <= 3 * HEIGHT && kept <= 2 * HEIGHT,
        "{fixed}, {kept} nodes"
    );
}
