//! Extents of a domain that are known by their addresses: random operations on a world, and every
//! range over every small layout.

use super::world::{Device, PAGE, PAGES, Seat, State, Tiny, World, pages};
use crate::ranges::layouts;
use furlong::addr::{Extent, Iova};
use furlong::check::Check;
use furlong::iova::{
    ClaimError, Domain, Event, ExtendError, Grant, Highest, Kept, Kind, Lowest, NoTlb, PartError,
    RangeError, ReleaseError, Request, ReserveAtError, Token, VecSpace,
};
use furlong_spec::Random;

fn run(first: u64, last: u64) -> Extent<Iova> {
    Extent::from_len(Iova::new(first * PAGE), (last - first + 1) * PAGE).unwrap()
}

fn any_run(random: &mut Random, longest: u64) -> Extent<Iova> {
    let first = random.below(PAGES as u64);
    run(first, (first + random.below(longest)).min(PAGES as u64 - 1))
}

/// The pieces of an extent below and above a part of it.
fn remainders(extent: Extent<Iova>, part: Extent<Iova>) -> [Option<Extent<Iova>>; 2] {
    let below = extent.start() < part.start();
    let above = part.last() < extent.last();
    [
        below.then(|| Extent::from_end(extent.start(), part.start()).unwrap()),
        above.then(|| Extent::from_last(part.end().unwrap(), extent.last()).unwrap()),
    ]
}

/// Removes one of the values at random.
fn any_of<T>(values: &mut Vec<T>, random: &mut Random) -> Option<T> {
    (!values.is_empty()).then(|| values.swap_remove(random.index(values.len())))
}

/// One operation by address, and what it must do to the record.
pub(crate) fn by_address(world: &mut World, random: &mut Random) {
    match random.below(16) {
        0..4 => {
            if let Some(grant) = any_of(&mut world.grants, random) {
                let extent = grant.extent();
                assert_eq!(world.domain.disown(grant), Ok(extent));
                world.loose.push(extent);
            }
        }
        4 => {
            if let Some(extent) = any_of(&mut world.loose, random) {
                let grant = world.domain.claim(extent).unwrap();
                assert_eq!((grant.extent(), grant.data()), (extent, extent));
                world.grants.push(grant);
            }
        }
        5..8 => release_at(world, random),
        8..10 => release_range(world, random),
        10..13 => release_part(world, random),
        _ => reserve_fixed(world, random),
    }
}

fn release_at(world: &mut World, random: &mut Random) {
    let known = match random.below(4) {
        0 => any_of(&mut world.fixed, random),
        1 => None,
        _ => any_of(&mut world.loose, random),
    };
    let Some(extent) = known else {
        let extent = any_run(random, 4);
        if !world.loose.contains(&extent) && !world.fixed.contains(&extent) {
            assert!(world.domain.release_at(extent).is_err(), "{extent:?}");
        }
        return;
    };
    let token = world.domain.release_at(extent).unwrap();
    assert_eq!(token.extent(), extent);
    assert_eq!(world.domain.release_at(extent), Err(ReleaseError::Granted));
    world.set(extent, |_| true, State::Held);
    world.tokens.push(token);
}

fn release_range(world: &mut World, random: &mut Random) {
    let longest = if random.below(4) == 0 { 60 } else { 6 };
    let range = any_run(random, longest);
    let mut left = Vec::new();
    let mut expected = Vec::new();
    for extent in world.loose.drain(..) {
        let Some(part) = extent.intersection(&range) else {
            left.push(extent);
            continue;
        };
        expected.push(part);
        left.extend(remainders(extent, part).into_iter().flatten());
    }
    world.loose = left;
    expected.sort_by_key(Extent::start);
    let before = world.tokens.len();
    let tokens = &mut world.tokens;
    let count = world
        .domain
        .release_range(range, |token| tokens.push(token));
    let found = world.tokens[before..].iter().map(Token::extent);
    assert_eq!(found.collect::<Vec<_>>(), expected);
    assert_eq!(count, Ok(expected.len()));
}

fn release_part(world: &mut World, random: &mut Random) {
    let Some(grant) = any_of(&mut world.grants, random) else {
        return;
    };
    let whole = grant.extent();
    let inside = pages(whole);
    let part = match random.below(4) {
        0 => any_run(random, 4),
        _ => {
            let first = inside.start + random.index(inside.len());
            let last = first + random.index(inside.end - first);
            run(first as u64, last as u64)
        }
    };
    match world.domain.release_part(grant, part) {
        Ok((token, Kept { below, above })) => {
            assert_eq!(token.extent(), part);
            let extents = [&below, &above].map(|kept| kept.as_ref().map(Grant::extent));
            assert_eq!(extents, remainders(whole, part));
            world.grants.extend(below.into_iter().chain(above));
            world.tokens.push(token);
        }
        Err(refused) => {
            assert_eq!(refused.cause, PartError::NotInside);
            assert_ne!(whole.intersection(&part), Some(part));
            world.grants.push(refused.grant);
        }
    }
}

fn reserve_fixed(world: &mut World, random: &mut Random) {
    let region = any_run(random, 3);
    let inside = pages(region);
    let count = |state: State| {
        let states = world.device.states.borrow();
        states.iter().filter(|other| **other == state).count()
    };
    if count(State::Fixed) > 6 {
        return;
    }
    let is_held = {
        let states = world.device.states.borrow();
        states[inside.clone()].contains(&State::Held)
    };
    match world.domain.reserve_fixed(region) {
        Ok(added) => {
            assert!(!is_held, "{region:?}");
            let mut open = None;
            let before = world.fixed.len();
            for page in inside.start..=inside.end {
                let is_new =
                    page < inside.end && world.device.states.borrow()[page] != State::Fixed;
                match (is_new, open) {
                    (true, None) => open = Some(page),
                    (false, Some(first)) => {
                        world.fixed.push(run(first as u64, page as u64 - 1));
                        open = None;
                    }
                    _ => {}
                }
            }
            assert_eq!(added, world.fixed.len() - before);
            world.set(region, |state| state != State::Held, State::Fixed);
        }
        Err(error) => {
            assert!(matches!(error, ReserveAtError::Occupied(_)));
            assert!(is_held, "{region:?}");
        }
    }
}

fn domain(pages: u64) -> Domain<Device, Tiny> {
    let space = VecSpace::new(run(0, pages - 1), PAGE, Vec::new()).unwrap();
    let device = World::new().device;
    Domain::with_config(space, device, Seat::default(), 1).unwrap()
}

fn reserved(domain: &Domain<Device, Tiny>) -> Vec<(Extent<Iova>, Kind)> {
    let list = |owned: furlong::iova::Owned| (owned.extent, owned.kind);
    domain.with_space(|space| space.reserved().map(list).collect())
}

#[test]
fn every_range_of_every_small_domain_releases_exactly_what_was_given_up_in_it() {
    const GRANULES: u64 = 5;
    let mut count = 0;
    for layout in layouts(GRANULES) {
        for first in 0..GRANULES {
            for last in first..GRANULES {
                let domain = domain(GRANULES);
                let mut grants = Vec::new();
                let (mut left, mut expected) = (Vec::new(), Vec::new());
                let range = run(first, last);
                for (first, last, kind) in &layout {
                    let extent = run(*first, *last);
                    if *kind == Kind::Fixed {
                        assert_eq!(domain.reserve_fixed(extent), Ok(1));
                    } else {
                        let grant = domain.reserve_at(extent).unwrap();
                        match kind {
                            Kind::Unclaimed => _ = domain.disown(grant).unwrap(),
                            _ => grants.push(grant),
                        }
                    }
                    match extent
                        .intersection(&range)
                        .filter(|_| *kind == Kind::Unclaimed)
                    {
                        Some(part) => {
                            expected.push(part);
                            let [below, above] = remainders(extent, part);
                            left.extend(below.map(|below| (below, *kind)));
                            left.push((part, Kind::Granted));
                            left.extend(above.map(|above| (above, *kind)));
                        }
                        None => left.push((extent, *kind)),
                    }
                }
                let mut tokens = Vec::new();
                let released = domain.release_range(range, |token| tokens.push(token));
                assert_eq!(released, Ok(expected.len()));
                let found: Vec<_> = tokens.iter().map(Token::extent).collect();
                assert_eq!(found, expected, "{layout:?}, {range:?}");
                assert_eq!(reserved(&domain), left, "{layout:?}, {range:?}");
                domain.check().unwrap();
                let twice = domain.release_range(range, |_| panic!("nothing is left"));
                assert_eq!(twice, Ok(0));
                for token in tokens {
                    domain.redeem(token).unwrap();
                }
                let all = grants
                    .into_iter()
                    .try_for_each(|grant| domain.release_flushed(grant));
                assert_eq!(all, Ok(()));
                domain.drain_all();
                left.retain(|(extent, kind)| *kind != Kind::Granted && !expected.contains(extent));
                assert_eq!(reserved(&domain), left);
                count += 1;
            }
        }
    }
    assert_eq!(count, 31_335);
}

#[test]
fn a_part_waits_for_its_flush_while_the_remainders_are_held() {
    for first in 0..6 {
        for last in first..6 {
            for from in first..=last {
                for to in from..=last {
                    let domain = domain(6);
                    let (whole, part) = (run(first, last), run(from, to));
                    let grant = domain.reserve_at(whole).unwrap();
                    let index = grant.index();
                    let (token, kept) = domain.release_part(grant, part).unwrap();
                    let rest = remainders(whole, part);
                    let Kept { below, above } = kept;
                    let kept = [&below, &above].map(|kept| kept.as_ref().map(Grant::extent));
                    assert_eq!((token.extent(), kept), (part, rest));
                    if let Some(below) = &below {
                        assert_eq!(below.index(), index);
                    }
                    let occupied = Err(ReserveAtError::Occupied(part));
                    assert_eq!(domain.reserve_at(part).map(drop), occupied);
                    domain.redeem(token).unwrap();
                    let again = domain.reserve_at(part).unwrap();
                    domain.check().unwrap();
                    for grant in [Some(again), below, above].into_iter().flatten() {
                        domain.release_flushed(grant).unwrap();
                    }
                    domain.drain_all();
                    assert_eq!(reserved(&domain), []);
                }
            }
        }
    }
}

#[test]
fn an_extent_that_was_not_given_up_is_not_released_by_its_address() {
    let domain = domain(16);
    let page = Request::new(PAGE);
    let held = domain.reserve(&page, Lowest).unwrap();
    let token = domain
        .release(domain.reserve(&page, Lowest).unwrap())
        .unwrap();
    let waits = domain.reserve(&page, Lowest).unwrap();
    let cached = domain.reserve(&page, Lowest).unwrap();
    let extents = [
        held.extent(),
        token.extent(),
        waits.extent(),
        cached.extent(),
    ];
    let _ = domain.release_later(waits).unwrap();
    domain.release_flushed(cached).unwrap();
    assert_eq!((domain.cached(), domain.quarantined()), (1, 1));
    for extent in extents {
        assert_eq!(domain.release_at(extent), Err(ReleaseError::Granted));
        assert_eq!(domain.claim(extent), Err(ClaimError::Granted));
        let ranged = domain.release_range(extent, |_| panic!("{extent:?} is not loose"));
        assert_eq!(ranged, Ok(0));
    }
    assert_eq!(domain.release_at(run(9, 9)), Err(ReleaseError::NotReserved));
    assert_eq!(domain.outstanding(), 2);
    domain.check().unwrap();
}

#[test]
fn mistakes_change_nothing() {
    let (ours, other) = (domain(16), domain(16));
    let strange = other.reserve(&Request::new(3 * PAGE), Highest).unwrap();
    let strange = ours.disown(strange).unwrap_err().0;
    let refused = ours.release_part(strange, run(13, 13)).unwrap_err();
    assert_eq!(refused.cause, PartError::Stale);
    let extent = other.disown(refused.grant).unwrap();
    assert_eq!(extent, run(12, 15));
    assert_eq!(
        other.release_at(run(12, 14)),
        Err(ReleaseError::Partial(extent))
    );
    assert_eq!(other.claim(run(12, 14)), Err(ClaimError::Partial(extent)));
    let half = Extent::from_len(Iova::new(12 * PAGE), PAGE / 2).unwrap();
    assert_eq!(other.release_at(half), Err(ReleaseError::Ragged(half)));
    let never = |_| panic!("it is refused");
    assert_eq!(
        other.release_range(half, never),
        Err(RangeError::Ragged(half))
    );
    let outside = Err(RangeError::Outside(run(0, 15)));
    assert_eq!(other.release_range(run(12, 16), never), outside);
    let outside = Err(ReserveAtError::Outside(run(0, 15)));
    assert_eq!(other.reserve_fixed(run(15, 16)), outside);
    let occupied = Err(ReserveAtError::Occupied(extent));
    assert_eq!(other.reserve_fixed(run(10, 13)), occupied);
    assert_eq!(other.extend(half), Err(ExtendError::Ragged(half)));
    assert_eq!(
        other.extend(run(1, 20)),
        Err(ExtendError::Smaller(run(0, 15)))
    );
    assert_eq!(reserved(&other), [(extent, Kind::Unclaimed)]);
    assert_eq!((other.outstanding(), other.check()), (0, Ok(())));
}

#[test]
fn a_full_domain_that_is_extended_grants_again() {
    let space = VecSpace::new(run(8, 15), PAGE, Vec::new()).unwrap();
    let device = World::new().device;
    let domain = Domain::<_, Tiny>::with_config(space, device, Seat::default(), 1).unwrap();
    let all = Request::new(8 * PAGE);
    let full = domain.place(&all, Lowest).unwrap();
    assert!(domain.place(&all, Lowest).is_err());
    domain.extend(run(0, 23)).unwrap();
    let [low, high] = [0, 16].map(|_| domain.place(&all, Lowest).unwrap());
    assert_eq!([low.extent(), high.extent()], [run(0, 7), run(16, 23)]);
    let last = Extent::from_last(Iova::new(0), Iova::new(u64::MAX)).unwrap();
    domain.extend(last).unwrap();
    let top = domain.place(&Request::new(PAGE), Highest).unwrap();
    assert_eq!(top.extent().last(), Iova::new(u64::MAX));
    for grant in [full, low, high, top] {
        domain.release_flushed(grant).unwrap();
    }
    domain.check().unwrap();
}

#[test]
fn a_range_is_released_with_one_lock_for_32_extents() {
    let space = VecSpace::new(run(0, 99), PAGE, Vec::new()).unwrap();
    let domain = Domain::<_, Tiny>::with_config(space, NoTlb, Seat::default(), 1).unwrap();
    for page in 0..96 {
        let grant = domain.reserve_at(run(page, page)).unwrap();
        domain.disown(grant).unwrap();
    }
    let visits = || domain.counters().count_of(Event::TreeVisit);
    let before = visits();
    let mut tokens = Vec::new();
    let released = domain.release_range(run(0, 95), |token| tokens.push(token));
    assert_eq!((released, tokens.len()), (Ok(96), 96));
    // Once for the ends of the range.
    assert_eq!(visits() - before, 1 + 3);
}

#[test]
fn a_number_that_no_cpu_has_stands_for_one_that_is_there() {
    let world = World::new();
    world.seat.0.set(world.domain.cpus());
    let grant = world.domain.reserve(&Request::new(PAGE), Lowest).unwrap();
    world.domain.release_flushed(grant).unwrap();
    world.seat.0.set(0);
    world.domain.drain_cpu(0);
    assert_eq!(world.domain.cached(), 0);
}
