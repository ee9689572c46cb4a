//! Guarantees of the verdict, as checks that a simulation can fail.
#![forbid(unsafe_code)]

use crate::simulation::{Cell, DISTURBANCES, Disturbance, Tally, simulate};

/// The requirement on a share of runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// No more than this.
    AtMost(f64),
    /// This, within three points.
    About(f64),
}

/// Tolerance of [`Bound::About`].
const ABOUT: f64 = 0.03;

impl Bound {
    /// True if a share is within the bound, with a tolerance of `error` for the number of runs.
    #[must_use]
    pub fn holds(self, share: f64, error: f64) -> bool {
        match self {
            Self::AtMost(most) => share <= most + error,
            Self::About(wanted) => (share - wanted).abs() <= ABOUT + error,
        }
    }

    /// Standard error of a share at the bound.
    #[must_use]
    pub fn standard_error(self, runs: u32) -> f64 {
        let (Self::AtMost(share) | Self::About(share)) = self;
        (share * (1.0 - share) / f64::from(runs)).sqrt()
    }
}

/// One guarantee for one kind of run.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    /// The guarantee.
    pub name: &'static str,
    /// The kind of run.
    pub cell: Cell,
    /// The shares to check, with their bounds; several from one simulation.
    pub claims: &'static [Claim],
}

/// One share of a [`Promise`].
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Name of the share in the table.
    pub name: &'static str,
    /// Runs that count.
    pub count: fn(&Tally) -> u32,
    /// Requirement on their share.
    pub bound: Bound,
}

impl Claim {
    const fn rejected(bound: Bound) -> Self {
        let count = |tally: &Tally| tally.rejected;
        Self {
            name: "rejected",
            count,
            bound,
        }
    }

    const fn keep(bound: Bound) -> Self {
        let count = |tally: &Tally| tally.keep;
        Self {
            name: "keep",
            count,
            bound,
        }
    }

    const fn equivalent(bound: Bound) -> Self {
        let count = |tally: &Tally| tally.equivalent;
        Self {
            name: "equivalent",
            count,
            bound,
        }
    }

    const fn decided(bound: Bound) -> Self {
        let count = |tally: &Tally| tally.keep + tally.revert;
        Self {
            name: "keep or revert",
            count,
            bound,
        }
    }
}

const LEVEL_A: &[Claim] = &[Claim::rejected(Bound::AtMost(0.06))];

const LEVEL_B: &[Claim] = &[
    Claim::keep(Bound::AtMost(0.03)),
    Claim::equivalent(Bound::AtMost(0.03)),
];

/// A known limit of level (b) under spikes, visible if the noise is so small that the floor does
/// not matter. A spike in the arm counts whole, and one in the baseline or its control half.
/// Differences are therefore skewed to one side, and t errs on the other in 3.6 % rather than 2.5
/// %.
const LEVEL_B_SKEWED: &[Claim] = &[
    Claim::keep(Bound::AtMost(0.04)),
    Claim::equivalent(Bound::AtMost(0.03)),
];

/// All looks together have the level of a single one. The verdicts are adjusted for the looks, but
/// the 95 % interval of a single look is not.
const LEVEL_A_EARLY: &[Claim] = &[Claim::decided(Bound::AtMost(0.05))];

const LEVEL_C: &[Claim] = &[Claim::decided(Bound::AtMost(0.005))];

const NEVER: &[Claim] = &[Claim::decided(Bound::AtMost(0.0))];

/// Power for a true 3 %: the blocks, and the share of runs with the verdict.
const POWER: [(usize, &[Claim]); 4] = [
    (6, &[Claim::keep(Bound::About(0.65))]),
    (8, &[Claim::keep(Bound::About(0.91))]),
    (10, &[Claim::keep(Bound::About(0.99))]),
    (20, &[Claim::keep(Bound::About(1.0))]),
];

/// Noise so small that the floor stays far below the margin.
const SHARP_CV_PCT: f64 = 0.2;

/// Numbers of blocks with guaranteed levels of error.
pub const BLOCKS: [usize; 3] = [6, 10, 20];

/// The levels of error under every disturbance, for runs of these numbers of blocks.
#[must_use]
pub fn errors(blocks: &[usize]) -> Vec<Promise> {
    let mut errors = vec![];
    for disturbance in DISTURBANCES {
        for blocks in blocks {
            let mut cell = Cell::quiet(*blocks);
            cell.disturbance = disturbance;
            errors.extend(levels(cell));
        }
    }
    errors
}

/// All guarantees.
#[must_use]
pub fn all() -> Vec<Promise> {
    let mut all = errors(&BLOCKS);
    for (blocks, claims) in POWER {
        all.push(Promise::on("power for 3 %", better_by(3.0, blocks), claims));
    }
    let mut cell = better_by(1.0, 10);
    (cell.arms, cell.cv_pct) = (3, SHARP_CV_PCT);
    all.push(Promise::on("(b) three arms", cell, LEVEL_B));
    for blocks in 2..6 {
        for disturbance in [Disturbance::None, Disturbance::Linear] {
            let mut cell = better_by(50.0, blocks);
            (cell.disturbance, cell.cv_pct) = (disturbance, SHARP_CV_PCT);
            all.push(Promise::on("too few blocks", cell, NEVER));
        }
    }
    all.extend(early());
    all
}

/// An existing effect is found.
const FOUND: &[Claim] = &[Claim::keep(Bound::About(1.0))];

/// Most blocks of a run that may end early.
const EARLY_BLOCKS: usize = 30;

/// For runs that end as soon as the verdict is certain: the levels of error, and the guarantee that
/// they still find existing effects.
fn early() -> Vec<Promise> {
    let mut all = vec![];
    for disturbance in [Disturbance::None, Disturbance::Linear] {
        let mut same = Cell::quiet(EARLY_BLOCKS);
        (same.early, same.disturbance) = (true, disturbance);
        let [no_margin, _, sharp, no_effect] = levels(same);
        for (name, promise, claims) in [
            ("early: (a) no effect, margin 0", no_margin, LEVEL_A_EARLY),
            ("early: (b) at the margin, CV 0.2 %", sharp, LEVEL_B),
            ("early: (c) no effect, margin 1 %", no_effect, LEVEL_C),
        ] {
            all.push(Promise::on(name, promise.cell, claims));
        }
    }
    let mut cell = better_by(3.0, EARLY_BLOCKS);
    cell.early = true;
    all.push(Promise::on("early: power for 3 %", cell, FOUND));
    all
}

/// An undisturbed run of an arm that is better by this many per cent.
fn better_by(pct: f64, blocks: usize) -> Cell {
    let mut cell = Cell::quiet(blocks);
    cell.ratio = 1.0 / (1.0 + pct / 100.0);
    cell
}

/// The three levels of error for one kind of run. The second is also tested with noise so small
/// that only the interval decides, not the floor.
fn levels(same: Cell) -> [Promise; 4] {
    let (mut no_margin, mut at_margin) = (same, same);
    no_margin.margin_pct = 0.0;
    at_margin.ratio = 1.0 / (1.0 + same.margin_pct / 100.0);
    let mut sharp = at_margin;
    sharp.cv_pct = SHARP_CV_PCT;
    let sharp_claims = match same.disturbance {
        Disturbance::Spikes => LEVEL_B_SKEWED,
        _ => LEVEL_B,
    };
    [
        Promise::on("(a) no effect, margin 0", no_margin, LEVEL_A),
        Promise::on("(b) effect at the margin", at_margin, LEVEL_B),
        Promise::on("(b) the same, CV 0.2 %", sharp, sharp_claims),
        Promise::on("(c) no effect, margin 1 %", same, LEVEL_C),
    ]
}

impl Promise {
    fn on(name: &'static str, cell: Cell, claims: &'static [Claim]) -> Self {
        Self { name, cell, claims }
    }

    /// Simulates. Every guarantee has its own random numbers.
    #[must_use]
    pub fn simulate(&self, place: usize, runs: u32, seed: u64) -> Tally {
        simulate(&self.cell, runs, seed.wrapping_add(place as u64))
    }
}

#[cfg(test)]
mod tests;
