//! The blocks of a range of commits, and the rules of the search.

use std::collections::{BTreeMap, BTreeSet};

use super::belief::Belief;
use super::choice::{Cost, Next, next};
use super::drift::Drift;
use super::spikes::{Block, variances};
use crate::distribution::normal_upper;

/// Pairs of the last commit before anything is concluded.
pub const PILOT: u32 = 6;

/// Pairs of the last commit that are added at once.
const MORE: u32 = 2;

/// Deviations from 0 at which the last commit is taken for changed, and others are measured.
const CHANGED: f64 = 3.5;

/// Two-sided level of the interval that must be within the margin.
const LEVEL: f64 = 0.05;

/// Speeds of the machine's drift, as variances between two blocks in units of a sample's: from none
/// to one at which only the difference within a block counts.
pub(super) const SPEEDS: [f64; 5] = [0.0, 1e-3, 1e-2, 0.1, 1e3];

/// A measured commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Measured {
    /// Its place among the measured ones, from 1.
    pub(super) place: usize,
    pub(super) blocks: u32,
}

/// A search in a range of commits.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// Number of commits; the last one has this number.
    commits: usize,
    margin: f64,
    measured: BTreeMap<usize, Measured>,
    skipped: BTreeSet<usize>,
    pub(super) blocks: Vec<Block>,
}

/// The state of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// More is to be learned by these blocks.
    Open(Next),
    /// One commit is certain enough.
    Found,
    /// The last commit is within the margin of the first.
    Unchanged,
    /// No commit left to measure can tell the others apart.
    Exhausted,
}

impl Search {
    /// A search in `commits` commits, at least 1. A change within `margin`, in logarithms, does not
    /// matter.
    pub fn new(commits: usize, margin: f64) -> Self {
        Self {
            commits,
            margin,
            measured: BTreeMap::new(),
            skipped: BTreeSet::new(),
            blocks: vec![],
        }
    }

    /// Number of commits.
    pub fn commits(&self) -> usize {
        self.commits
    }

    /// Adds a block: logarithms of a sample of the first commit, and of those of one from
    /// `1..=commits`.
    pub fn add(&mut self, commit: usize, first: f64, values: [f64; 2]) {
        let place = self.measured.len() + 1;
        let measured = self.measured.entry(commit);
        let measured = measured.or_insert(Measured { place, blocks: 0 });
        measured.blocks += 1;
        let place = measured.place;
        self.blocks.push(Block {
            place,
            first,
            values,
        });
    }

    /// The levels of all measured commits, under each speed of the drift.
    pub(super) fn drifts(&self) -> [Drift; SPEEDS.len()] {
        let variances = variances(&self.blocks);
        SPEEDS.map(|speed| {
            let mut drift = Drift::new(speed);
            for (block, variances) in self.blocks.iter().zip(&variances) {
                drift.add(block, *variances);
            }
            drift
        })
    }

    /// Leaves out a commit that cannot be measured. It stays a candidate.
    pub fn skip(&mut self, commit: usize) {
        self.skipped.insert(commit);
    }

    /// True if a commit was left out.
    pub fn is_skipped(&self, commit: usize) -> bool {
        self.skipped.contains(&commit)
    }

    /// Number of blocks of a commit.
    pub fn blocks_of(&self, commit: usize) -> u32 {
        self.measured.get(&commit).map_or(0, |one| one.blocks)
    }

    /// Number of all blocks.
    pub fn blocks(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// The measured commits, in their order.
    pub fn measured(&self) -> impl Iterator<Item = usize> {
        self.measured.keys().copied()
    }

    /// Places of the measured commits, in the order of the commits.
    pub(super) fn places(&self) -> Vec<usize> {
        self.measured.values().map(|one| one.place).collect()
    }

    /// The commit with the most blocks; there must be one.
    pub(super) fn most_blocks(&self) -> Measured {
        let all = self.measured.values();
        let most = all.max_by_key(|one| one.blocks);
        *most.expect("a commit is measured")
    }

    /// The probabilities after all blocks so far, and what to do next at this cost.
    pub fn state(&self, cost: Cost) -> (Belief, State) {
        let belief = Belief::of(self);
        let state = self.state_of(&belief, cost);
        (belief, state)
    }

    fn state_of(&self, belief: &Belief, cost: Cost) -> State {
        let last = |blocks| {
            State::Open(Next {
                commit: self.commits,
                blocks,
            })
        };
        let pilot = PILOT.saturating_sub(self.blocks_of(self.commits));
        if pilot > 0 {
            return last(pilot);
        }
        let change = belief.last;
        if change.mean.abs() < CHANGED * change.deviation {
            let within = change.mean.abs() + normal_upper(LEVEL / 2.0) * change.deviation;
            return match within <= self.margin {
                true => State::Unchanged,
                false => last(MORE),
            };
        }
        if let [_] = belief.candidates[..] {
            return State::Found;
        }
        // A set of one span: no other commit of it can be measured.
        let left = belief.candidates.iter().map(|one| one.commit);
        let end = left.clone().max();
        if { left }.all(|commit| Some(commit) == end || self.is_skipped(commit)) {
            return State::Exhausted;
        }
        match next(self, belief, cost) {
            Some(next) => State::Open(next),
            None => State::Exhausted,
        }
    }
}
