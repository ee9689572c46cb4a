//! Guarantees of the verdict, as checks that a simulation can fail.

use crate::simulation::{Cell, DISTURBANCES, Disturbance, Tally, simulate};
use crate::stopping::{ANSWER_LOOKS, LOOKS};

/// The requirement on a share of runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
    /// This, within three points.
    About(f64),
}

/// Tolerance of [`Bound::About`].
const ABOUT: f64 = 0.03;

impl Bound {
    /// True if a share is within the bound, with a tolerance of `error` for the number of runs.
    pub fn holds(self, share: f64, error: f64) -> bool {
        match self {
            Self::AtMost(most) => share <= most + error,
            Self::AtLeast(least) => share >= least - error,
            Self::About(wanted) => (share - wanted).abs() <= ABOUT + error,
        }
    }

    /// Standard error of a share at the bound.
    pub fn standard_error(self, runs: u32) -> f64 {
        let (Self::AtMost(share) | Self::AtLeast(share) | Self::About(share)) = self;
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
    const fn of(name: &'static str, count: fn(&Tally) -> u32, bound: Bound) -> Self {
        Self { name, count, bound }
    }

    const fn rejected(bound: Bound) -> Self {
        Self::of("rejected", |tally| tally.rejected, bound)
    }

    const fn keep(bound: Bound) -> Self {
        Self::of("keep", |tally| tally.keep, bound)
    }

    const fn equivalent(bound: Bound) -> Self {
        Self::of("equivalent", |tally| tally.equivalent, bound)
    }

    const fn decided(bound: Bound) -> Self {
        Self::of("keep or revert", |tally| tally.keep + tally.revert, bound)
    }
}

const LEVEL_A: &[Claim] = &[Claim::rejected(Bound::AtMost(0.06))];

const LEVEL_B: &[Claim] = &[
    Claim::keep(Bound::AtMost(0.03)),
    Claim::equivalent(Bound::AtMost(0.03)),
];

/// A known limit of level (b) under spikes. A spike in the arm counts whole, and one in the
/// baseline or its control half. Differences are therefore skewed to one side, and t errs on the
/// other in nearly 4 % rather than 2.5 %.
const LEVEL_B_SKEWED: &[Claim] = &[
    Claim::keep(Bound::AtMost(0.04)),
    Claim::equivalent(Bound::AtMost(0.03)),
];

const LEVEL_C: &[Claim] = &[Claim::decided(Bound::AtMost(0.005))];

/// The wider the noise, the less the margin protects identical programs.
const LEVEL_C_NOISY: &[Claim] = &[Claim::decided(Bound::AtMost(0.02))];

const NEVER: &[Claim] = &[Claim::decided(Bound::AtMost(0.0))];

/// Power: a true effect and the noise, both in per cent, and for [`BLOCKS`] the share of runs that
/// find it.
const POWER: [(f64, f64, [&[Claim]; 3]); 4] = [
    (3.0, 1.0, [&found(0.87), &found(0.98), &found(0.99)]),
    (3.0, 2.0, [&found(0.35), &found(0.62), &found(0.92)]),
    (10.0, 5.0, [&found(0.77), &found(0.96), &found(0.99)]),
    (20.0, 10.0, [&found(0.78), &found(0.97), &found(0.99)]),
];

const fn found(share: f64) -> [Claim; 1] {
    [Claim::keep(Bound::About(share))]
}

/// Noise so small that every interval is far narrower than the margin.
const SHARP_CV_PCT: f64 = 0.2;

/// Noise of a machine that is not quiet.
const NOISY_CV_PCT: f64 = 3.0;

/// Numbers of blocks with guaranteed levels of error.
pub const BLOCKS: [usize; 3] = [6, 10, 20];

/// The levels of error under every disturbance, for runs of these numbers of blocks.
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
pub fn all() -> Vec<Promise> {
    let mut all = errors(&BLOCKS);
    for (pct, cv_pct, claims) in POWER {
        for (blocks, claims) in BLOCKS.into_iter().zip(claims) {
            let mut cell = better_by(pct, blocks);
            cell.cv_pct = cv_pct;
            all.push(Promise::on("power", cell, claims));
        }
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
const FOUND: &[Claim] = &[Claim::keep(Bound::AtLeast(0.9))];

/// An existing effect far beyond the margin is found unless the control fails.
const CERTAIN: &[Claim] = &found(0.99);

/// Identical programs are seldom called different, however wide the noise and small the margin.
const SELDOM: &[Claim] = &[Claim::decided(Bound::AtMost(0.01))];

/// Most blocks of a run that may end early.
const EARLY_BLOCKS: usize = 30;

/// Blocks of a comparison for an answer: those in 30 s, if the two commands take half a second.
const ANSWER_BLOCKS: usize = 20;

/// For runs that end as soon as the verdict is certain: the levels of error, and the guarantee that
/// they still find existing effects.
fn early() -> Vec<Promise> {
    let mut all = vec![];
    for disturbance in [Disturbance::None, Disturbance::Linear] {
        let of = |cell: Cell, blocks| Cell {
            looks: Some(if blocks == ANSWER_BLOCKS {
                ANSWER_LOOKS
            } else {
                LOOKS
            }),
            disturbance,
            blocks,
            ..cell
        };
        let same = Cell::quiet(EARLY_BLOCKS);
        let no_margin = Cell {
            margin_pct: 0.0,
            ..same
        };
        let at_margin = Cell {
            cv_pct: SHARP_CV_PCT,
            ..better_by(same.margin_pct, EARLY_BLOCKS)
        };
        for (name, cell, claims) in [
            ("early: (a) no effect, margin 0", no_margin, SELDOM),
            ("early: (b) effect at the margin", at_margin, LEVEL_B),
            ("early: (c) no effect, margin 1 %", same, LEVEL_C),
        ] {
            all.push(Promise::on(name, of(cell, EARLY_BLOCKS), claims));
        }
        for blocks in [ANSWER_BLOCKS, EARLY_BLOCKS] {
            for cv_pct in [NOISY_CV_PCT, 5.0, 10.0] {
                let cell = Cell { cv_pct, ..same };
                let name = "early: (c) no effect, margin 1 %";
                all.push(Promise::on(name, of(cell, blocks), SELDOM));
            }
        }
        for (pct, cv_pct, blocks, claims) in [
            (3.0, 1.0, EARLY_BLOCKS, CERTAIN),
            (5.0, NOISY_CV_PCT, ANSWER_BLOCKS, FOUND),
        ] {
            let cell = Cell {
                cv_pct,
                ..better_by(pct, blocks)
            };
            all.push(Promise::on("early: power", of(cell, blocks), claims));
        }
    }
    all
}

/// An undisturbed run of an arm that is better by this many per cent.
fn better_by(pct: f64, blocks: usize) -> Cell {
    let mut cell = Cell::quiet(blocks);
    cell.ratio = 1.0 / (1.0 + pct / 100.0);
    cell
}

/// The three levels of error for one kind of run, the second and third also with other noise.
fn levels(same: Cell) -> [Promise; 6] {
    let no_margin = Cell {
        margin_pct: 0.0,
        ..same
    };
    let at_margin = |cv_pct| Cell {
        cv_pct,
        ratio: 1.0 / (1.0 + same.margin_pct / 100.0),
        ..same
    };
    let noisy = Cell {
        cv_pct: NOISY_CV_PCT,
        ..same
    };
    let claims = match same.disturbance {
        Disturbance::Spikes => LEVEL_B_SKEWED,
        _ => LEVEL_B,
    };
    let effect = "(b) effect at the margin";
    [
        Promise::on("(a) no effect, margin 0", no_margin, LEVEL_A),
        Promise::on(effect, at_margin(SHARP_CV_PCT), claims),
        Promise::on(effect, at_margin(same.cv_pct), claims),
        Promise::on(effect, at_margin(NOISY_CV_PCT), claims),
        Promise::on("(c) no effect, margin 1 %", same, LEVEL_C),
        Promise::on("(c) no effect, margin 1 %", noisy, LEVEL_C_NOISY),
    ]
}

impl Promise {
    fn on(name: &'static str, cell: Cell, claims: &'static [Claim]) -> Self {
        Self { name, cell, claims }
    }

    /// Simulates. Every guarantee has its own random numbers.
    pub fn simulate(&self, place: usize, runs: u32, seed: u64) -> Tally {
        simulate(&self.cell, runs, seed.wrapping_add(place as u64))
    }
}

#[cfg(test)]
mod tests;
