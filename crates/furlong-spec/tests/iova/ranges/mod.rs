//! Range operations compared with a model of cells: overlapping fixed regions, fills, cuts and
//! claims. The spaces lie at 0, in the middle, and at the last byte of the 64-bit range.
#![forbid(unsafe_code)]

mod edges;
mod model;
mod pair;

use furlong::addr::Address;
use furlong::iova::{Boundary, Config, Counts, Custom, Kind, Runs, SavedExtent, Space, Standard};
use furlong::rbtree::{Deferred, Eager};
use furlong_spec::Random;

use model::Run;
use pair::Pair;

/// A run of at most `longest` granules.
fn run(random: &mut Random, granules: u64, longest: u64) -> Run {
    let first = random.below(granules);
    (first, (first + random.below(longest)).min(granules - 1))
}

fn step<C: Config>(pair: &mut Pair<C>, random: &mut Random) {
    let granules = pair.model.granules();
    let short = run(random, granules, 8);
    let long = run(random, granules, granules);
    let owned = pair.model.reserved();
    let known = match owned.len() {
        0 => short,
        n => owned[random.index(n)].0,
    };
    let grant = (!pair.grants.is_empty()).then(|| random.index(pair.grants.len()));
    match random.below(40) {
        0..10 => pair.reserve_at(short),
        10..13 => pair.reserve_fixed(short),
        13 => pair.reserve_fixed(long),
        14..17 => pair.fill(short),
        17 => pair.fill(long),
        18..23 => pair.release_range(short),
        23 => pair.release_range(long),
        24 => pair.release_at(short),
        25..27 => pair.release_at(known),
        27 => pair.claim(short),
        28..32 => pair.claim(known),
        32 if random.below(8) == 0 => pair.release_unclaimed(),
        33..36 => {
            if let Some(at) = grant {
                pair.release(at);
            }
        }
        _ => {
            if let Some(at) = grant {
                let part = match random.below(4) {
                    0 => short,
                    _ => part_of_grant(pair, at, random),
                };
                pair.release_part(at, part);
            }
        }
    }
    pair.compare();
}

fn part_of_grant<C: Config>(pair: &Pair<C>, at: usize, random: &mut Random) -> Run {
    let whole = pair.grants[at].extent();
    let granules = 0..pair.model.granules();
    let inside: Vec<u64> = granules
        .filter(|granule| whole.overlaps(&pair.bytes((*granule, *granule))))
        .collect();
    let first = random.index(inside.len());
    let last = first + random.index(inside.len() - first);
    (inside[first], inside[last])
}

fn agrees_with_the_model<C: Config>(steps: usize) {
    for (granules, granule) in [(12, 4096), (64, 1), (200, 1 << 20)] {
        let top = (u64::MAX / granule).wrapping_add(1).wrapping_sub(granules);
        for base in [0, 1 << 30, top] {
            let seed = base ^ granules;
            let mut random = Random::new(seed);
            let mut pair = Pair::<C>::new(base, granules, granule);
            for _ in 0..steps {
                step(&mut pair, &mut random);
            }
        }
    }
}

#[test]
fn ranges_agree_with_the_model() {
    agrees_with_the_model::<Standard>(6000);
}

#[test]
fn ranges_agree_with_the_model_on_every_arm() {
    agrees_with_the_model::<Custom<u64, Eager>>(1500);
    agrees_with_the_model::<Custom<u64, Deferred>>(1500);
}

#[test]
fn ranges_agree_with_the_model_whatever_is_known_of_gaps() {
    agrees_with_the_model::<Custom<Runs<6>>>(1500);
    agrees_with_the_model::<Custom<Counts<6>>>(1500);
    agrees_with_the_model::<Custom<Boundary<3>>>(1500);
}

/// Every way to reserve parts of `granules` granules.
fn layouts(granules: u64) -> Vec<Vec<(Run, Kind)>> {
    let mut found = vec![vec![]];
    let mut open = vec![(0, vec![])];
    while let Some((from, layout)) = open.pop() {
        for first in from..granules {
            for last in first..granules {
                for kind in [Kind::Granted, Kind::Fixed, Kind::Unclaimed] {
                    let mut longer: Vec<(Run, Kind)> = layout.clone();
                    longer.push(((first, last), kind));
                    found.push(longer.clone());
                    open.push((last + 1, longer));
                }
            }
        }
    }
    found
}

fn laid_out(base: u64, granules: u64, layout: &[(Run, Kind)]) -> Pair<Standard> {
    let mut pair = Pair::new(base, granules, 4096);
    for (run, kind) in layout {
        match kind {
            Kind::Fixed => pair.reserve_fixed(*run),
            Kind::Granted => pair.reserve_at(*run),
            Kind::Unclaimed => continue,
        }
    }
    if layout.iter().any(|(_, kind)| *kind == Kind::Unclaimed) {
        let mut state = pair.space.save().expect("there is memory");
        for (run, _) in layout.iter().filter(|(_, kind)| *kind == Kind::Unclaimed) {
            state.extents.push(SavedExtent {
                start: pair.bytes(*run).start().raw(),
                last: pair.bytes(*run).last().raw(),
                kind: Kind::Unclaimed as u8,
            });
            pair.model.reserve(*run, Kind::Unclaimed);
        }
        state.extents.sort_by_key(|extent| extent.start);
        pair.space = Space::restore(&state, Vec::new()).expect("a good state");
        pair.grants.clear();
        for (run, _) in layout.iter().filter(|(_, kind)| *kind == Kind::Granted) {
            let grant = pair.space.claim(pair.bytes(*run));
            pair.grants.push(grant.expect("nobody holds it"));
        }
    }
    pair.compare();
    pair
}

#[test]
fn every_range_agrees_with_the_model_in_every_small_space() {
    const GRANULES: u64 = 5;
    let verbs: [fn(&mut Pair<Standard>, Run); 4] = [
        Pair::reserve_fixed,
        Pair::fill,
        Pair::release_range,
        Pair::claim,
    ];
    for base in [0, (1 << 52) - GRANULES] {
        for layout in layouts(GRANULES) {
            for first in 0..GRANULES {
                for last in first..GRANULES {
                    for verb in verbs {
                        let mut pair = laid_out(base, GRANULES, &layout);
                        verb(&mut pair, (first, last));
                        pair.compare();
                    }
                }
            }
        }
    }
}
