//! The commit to measure next: the one from which most is learned in a second.

use super::belief::{Belief, Change};
use super::search::Search;

/// Seconds that things take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// A block.
    pub block_s: f64,
    /// A build.
    pub build_s: f64,
}

/// Pairs to measure next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// Number of the commit.
    pub commit: usize,
    /// Number of blocks.
    pub blocks: u32,
}

/// Numbers of blocks to choose from.
const BLOCKS: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// Information, in nats, below which a measurement is not worth its while.
const WORTH: f64 = 0.01;

/// Builds beyond those of a binary search from which each costs more than the one before, and the
/// number of blocks that it costs more. A search that has so many has been misled by noise: blocks
/// of builds that are there correct that as well.
const SPARE: f64 = 4.0;
const DEARER: f64 = 4.0;

/// Parts of a span at which a commit may be built.
const PARTS: [f64; 3] = [0.25, 0.5, 0.75];

/// Points and weights of Gauss and Hermite for the mean over a standard normal.
const NORMAL: [(f64, f64); 5] = [
    (0.0, 0.533_333_333_333_333_3),
    (1.355_626_179_974_266, 0.222_075_922_005_613),
    (-1.355_626_179_974_266, 0.222_075_922_005_613),
    (2.856_970_013_872_806, 0.011_257_411_327_720_7),
    (-2.856_970_013_872_806, 0.011_257_411_327_720_7),
];

/// Chances that the first and the second step are at a commit or before it.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) commit: usize,
    pub(super) one: f64,
    pub(super) two: f64,
}

/// The blocks from which most is learned in a second, if any are worth it.
pub(super) fn next(search: &Search, belief: &Belief, cost: Cost) -> Option<Next> {
    let builds = search.measured().count() as f64;
    let excess = (builds - (search.commits() as f64).log2() - SPARE).max(0.0);
    let new_build_s = cost.build_s + DEARER * excess * cost.block_s;
    let mut best: Option<(f64, Next)> = None;
    for place in places(search, belief) {
        let built = search.blocks_of(place.commit);
        for blocks in BLOCKS {
            let learned = belief.learned(&place, built, blocks);
            if learned < WORTH {
                continue;
            }
            let build_s = if built == 0 { new_build_s } else { 0.0 };
            let rate = learned / (build_s + f64::from(blocks) * cost.block_s);
            let commit = place.commit;
            if best.is_none_or(|(most, _)| rate > most) {
                best = Some((rate, Next { commit, blocks }));
            }
        }
    }
    best.map(|(_, next)| next)
}

/// Commits worth a thought: all measured ones, and some of each span.
fn places(search: &Search, belief: &Belief) -> Vec<Place> {
    let (mut one, mut two) = (0.0, 0.0);
    let mut places = vec![];
    for span in &belief.spans {
        let at = |commit: usize| {
            let part = (commit - span.first + 1) as f64 / span.len();
            Place {
                commit,
                one: one + part * span.one,
                two: two + part * span.two,
            }
        };
        let mut inner = vec![];
        for part in PARTS {
            let wanted = span.first + (part * (span.len() - 1.0)) as usize;
            let commit = nearest(wanted, span.first..span.last, |commit| {
                !search.is_skipped(commit)
            });
            inner.extend(commit.filter(|commit| !inner.contains(commit)));
        }
        places.extend(inner.into_iter().map(at));
        places.push(at(span.last));
        one += span.one;
        two += span.two;
    }
    places
}

/// The commit of a range next to another that can be measured.
fn nearest(
    wanted: usize,
    within: std::ops::Range<usize>,
    fits: impl Fn(usize) -> bool,
) -> Option<usize> {
    within
        .filter(|commit| fits(*commit))
        .min_by_key(|commit| commit.abs_diff(wanted))
}

impl Belief {
    /// The information of blocks of a commit that has `built` blocks, in nats.
    pub(super) fn learned(&self, place: &Place, built: u32, blocks: u32) -> f64 {
        let (noise, build) = (self.block * self.block, self.build * self.build);
        // Part of a level's difference that is not known from the blocks before.
        let (open, effect) = match built {
            0 => (1.0, build),
            _ => {
                let error = noise / f64::from(built);
                let open = error / (build + error);
                (open, build * open)
            }
        };
        let deviation = (effect + noise / f64::from(blocks)).sqrt();
        let of = |chance: f64, change: Change| {
            // Sizes that are not known yet may be larger: a mean of several would hide them.
            let size = change.mean.hypot(change.deviation);
            information(chance, open * size / deviation)
        };
        let second = match self.several > 0.0 {
            true => of(place.two / self.several, self.second),
            false => 0.0,
        };
        of(place.one, self.first) + self.several * second
    }
}

/// The information of a normal value about a fact with this chance, in nats: the fact moves its
/// mean by `distance` deviations.
pub(super) fn information(chance: f64, distance: f64) -> f64 {
    let chance = chance.clamp(1e-9, 1.0 - 1e-9);
    let odds = (chance / (1.0 - chance)).ln();
    let shift = distance * distance / 2.0;
    let mut left = 0.0;
    for (z, weight) in NORMAL {
        left += weight * chance * entropy(odds + shift + distance * z);
        left += weight * (1.0 - chance) * entropy(odds - shift + distance * z);
    }
    (entropy(odds) - left).max(0.0)
}

/// Entropy of a fact with these logarithmic odds, in nats.
pub(super) fn entropy(odds: f64) -> f64 {
    let odds = odds.abs();
    let rare = (-odds).exp();
    rare.ln_1p() + odds * rare / (1.0 + rare)
}
