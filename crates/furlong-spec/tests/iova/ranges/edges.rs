//! Range operations on all of 64 bits, the data of what a cut leaves, and the work of each verb.

use furlong::addr::{Extent, Iova};
use furlong::check::Check;
use furlong::iova::{
    Custom, Grant, Kind, Largest, Lowest, Owned, Request, ReserveError, Space, VecSpace,
};
use furlong::rbtree::{Checked, Tally};

use crate::{PAGE, pages};

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

/// 10,000 pages, each with a free page above it.
fn checkerboard() -> VecSpace<Custom<Largest, Checked, Tally>> {
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
