//! Synthetic ranges of commits with a known step, searched by the real rules.

use std::collections::BTreeMap;

use crate::bisect::{Cost, Search, State};
use crate::distribution::normal_upper;
use crate::promise::Bound;
use crate::random::Random;
use crate::simulation::Disturbance;

/// A kind of range with its truth.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// Its name in the table.
    pub name: &'static str,
    /// Commits.
    pub commits: usize,
    /// Size of the step, in per cent.
    pub step_pct: f64,
    /// Deviation of a sample, in per cent.
    pub cv_pct: f64,
    /// Deviation of a build effect, in per cent.
    pub build_pct: f64,
    /// The machine's disturbance, which begins anew after some samples.
    pub disturbance: Disturbance,
    /// Requirements on shares of the runs.
    pub claims: &'static [(Share, Bound)],
}

/// A figure of all runs that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Runs whose credible set holds the right commit.
    Held,
    /// Runs whose likeliest commit is the right one.
    Likeliest,
    /// Mean samples over those of a binary search by a fixed number.
    Samples,
    /// Mean number of builds.
    Builds,
}

impl Share {
    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Held => "set holds the commit",
            Self::Likeliest => "likeliest is the commit",
            Self::Samples => "samples of a binary search",
            Self::Builds => "builds",
        }
    }
}

/// Sums over runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RangeTally {
    /// Runs.
    pub runs: u32,
    /// Whose credible set holds the right commit.
    pub held: u32,
    /// Whose likeliest commit is the right one.
    pub likeliest: u32,
    /// Commits in all credible sets.
    pub candidates: u64,
    /// Samples, those of the first commit counted.
    pub samples: u64,
    /// Builds, that of the first commit counted.
    pub builds: u64,
    /// Most builds of a run.
    pub builds_max: u64,
    /// Samples of a binary search by a fixed number, of one run.
    pub fixed: u64,
}

impl RangeTally {
    /// A figure that is checked.
    pub fn share(&self, share: Share) -> f64 {
        let runs = f64::from(self.runs);
        match share {
            Share::Held => f64::from(self.held) / runs,
            Share::Likeliest => f64::from(self.likeliest) / runs,
            Share::Samples => self.samples as f64 / runs / self.fixed as f64,
            Share::Builds => self.builds as f64 / runs,
        }
    }
}

/// Seconds of a build, and of a block.
const COST: Cost = Cost {
    block_s: 1.0,
    build_s: 1.0,
};

/// Samples after which the disturbance begins anew.
const SPELL: usize = 500;

/// Pairs after which a run ends.
const BLOCKS_MAX: u32 = 700;

const HELD: (Share, Bound) = (Share::Held, Bound::AtLeast(0.95));

/// The guarantees for a step of 2 % in 1,024 commits.
pub fn ranges() -> Vec<Range> {
    let quiet = Range {
        name: "2 % step",
        commits: 1024,
        step_pct: 2.0,
        cv_pct: 3.0,
        build_pct: 0.0,
        disturbance: Disturbance::None,
        claims: &[
            HELD,
            (Share::Likeliest, Bound::AtLeast(0.95)),
            (Share::Samples, Bound::AtMost(0.3)),
            (Share::Builds, Bound::AtMost(25.0)),
        ],
    };
    let drift = Range {
        disturbance: Disturbance::Linear,
        claims: &[
            HELD,
            (Share::Likeliest, Bound::AtLeast(0.95)),
            (Share::Builds, Bound::AtMost(25.0)),
        ],
        ..quiet
    };
    let builds = Range {
        name: "2 % step, 0.5 % of every build",
        build_pct: 0.5,
        claims: &[HELD],
        ..quiet
    };
    let spikes = Range {
        disturbance: Disturbance::Spikes,
        claims: &[HELD, (Share::Likeliest, Bound::AtLeast(0.95))],
        ..quiet
    };
    vec![quiet, drift, builds, spikes]
}

impl Range {
    /// Simulates it a number of times.
    pub fn simulate(&self, runs: u32, seed: u64) -> RangeTally {
        let mut tally = RangeTally {
            fixed: self.fixed_samples(),
            ..RangeTally::default()
        };
        let mut random = Random::new(seed);
        for _ in 0..runs {
            self.once(&mut random, &mut tally);
        }
        tally
    }

    /// Samples of a binary search that takes as many pairs at every step, knows noise and step, and
    /// compares with their middle: so many that it finds the commit in 95 % of runs.
    pub fn fixed_samples(&self) -> u64 {
        let steps = (self.commits as f64).log2().ceil();
        let error = 1.0 - 0.95_f64.powf(1.0 / steps);
        let noise = self.cv_pct / 100.0 * 2.0_f64.sqrt();
        let middle = (self.step_pct / 100.0).ln_1p() / 2.0;
        let pairs = (normal_upper(error) * noise / middle).powi(2).ceil();
        (2.0 * steps * pairs) as u64
    }

    fn once(&self, random: &mut Random, tally: &mut RangeTally) {
        let right = 1 + random.below(self.commits);
        let mut machine = Machine::new(*self, right);
        let mut search = Search::new(self.commits, 0.01);
        let belief = loop {
            let (belief, state) = search.state(COST);
            match state {
                State::Open(next) if search.blocks() < BLOCKS_MAX => {
                    for _ in 0..next.blocks {
                        let [first, values @ ..] = machine.block(next.commit, random);
                        search.add(next.commit, first, values);
                    }
                }
                _ => break belief,
            }
        };
        let holds = |one: &crate::bisect::Candidate| one.commit == right;
        tally.runs += 1;
        tally.held += u32::from(belief.candidates.iter().any(holds));
        tally.likeliest += u32::from(belief.candidates.first().is_some_and(holds));
        tally.candidates += belief.candidates.len() as u64;
        tally.samples += 3 * u64::from(search.blocks());
        let builds = search.measured().count() as u64 + 1;
        tally.builds += builds;
        tally.builds_max = tally.builds_max.max(builds);
    }
}

/// A machine with builds of all commits.
struct Machine {
    range: Range,
    right: usize,
    effects: BTreeMap<usize, f64>,
    noise: Vec<f64>,
}

impl Machine {
    fn new(range: Range, right: usize) -> Self {
        Self {
            range,
            right,
            effects: BTreeMap::new(),
            noise: vec![],
        }
    }

    /// The logarithm of a sample.
    fn sample(&mut self, commit: usize, random: &mut Random) -> f64 {
        if self.noise.is_empty() {
            self.noise = self.range.disturbance.noise(SPELL, random);
            self.noise.reverse();
        }
        let deviation = self.range.build_pct / 100.0;
        let effect = self.effects.entry(commit);
        let effect = *effect.or_insert_with(|| deviation * random.normal());
        let step = match commit >= self.right {
            true => (self.range.step_pct / 100.0).ln_1p(),
            false => 0.0,
        };
        let noise = self.noise.pop().unwrap_or_default() * self.range.cv_pct / 100.0;
        step + effect + noise
    }

    /// A block in a drawn order: the first commit's sample comes first in it.
    fn block(&mut self, commit: usize, random: &mut Random) -> [f64; 3] {
        let mut order = [0, 1, 2];
        random.shuffle(&mut order);
        let mut block = [0.0; 3];
        for place in order {
            let commit = if place == 0 { 0 } else { commit };
            block[place] = self.sample(commit, random);
        }
        block
    }
}

#[cfg(test)]
mod tests {
    use super::{Range, Share, ranges};
    use crate::bisect::PILOT;

    /// Runs; the example has more.
    const RUNS: u32 = 60;

    /// Tolerance in standard errors at the bound: shares of few runs vary.
    const STRAY: f64 = 3.0;

    #[test]
    fn the_commit_is_found_by_fewer_samples_than_a_binary_search_takes() {
        for range in [&ranges()[0], &ranges()[2]] {
            // A larger step needs fewer blocks, here and in the binary search.
            let range = Range {
                step_pct: 5.0,
                ..*range
            };
            let tally = range.simulate(RUNS, 1);
            for (share, bound) in range.claims {
                let error = match share {
                    Share::Held | Share::Likeliest => STRAY * bound.standard_error(RUNS),
                    Share::Samples => 0.1,
                    Share::Builds => 0.0,
                };
                assert!(
                    bound.holds(tally.share(*share), error),
                    "{share:?} {tally:?}"
                );
            }
        }
    }

    #[test]
    fn a_binary_search_by_a_fixed_number_takes_what_its_errors_allow() {
        // 2.57 deviations on either side of the middle, ten times: 122 blocks each.
        assert_eq!(ranges()[0].fixed_samples(), 2 * 10 * 122);
    }

    #[test]
    fn one_commit_is_found_by_the_pilot_with_two_builds() {
        let one = Range {
            commits: 1,
            step_pct: 40.0,
            ..ranges()[0]
        };
        let tally = one.simulate(5, 1);
        assert_eq!([tally.held, tally.likeliest, tally.runs], [5; 3]);
        assert_eq!([tally.builds, tally.builds_max], [10, 2]);
        assert_eq!(tally.samples, 5 * 3 * u64::from(PILOT));
        assert_eq!(tally.candidates, 5);
    }
}
