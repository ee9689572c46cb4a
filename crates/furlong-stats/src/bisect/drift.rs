//! Levels of commits beside a machine that drifts: Kalman's filter.
//!
//! The machine's level walks at random between blocks; noise is independent. If it walks fast, only
//! the difference within a block counts. If it does not move, all samples of the first commit count
//! for every other one, and half as many blocks do.

use super::spikes::Block;

/// The levels of commits under one speed of the drift. Variances are in units of a usual sample's.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Drift {
    /// Variance of the machine's steps between blocks.
    speed: f64,
    /// The machine's level, then those of the commits, relative to the first one.
    mean: Vec<f64>,
    covariance: Vec<Vec<f64>>,
    /// Sum of squared surprises over their variances, and of logarithms of those.
    squares: f64,
    logs: f64,
    /// Number of surprises.
    pub(super) free: f64,
}

impl Drift {
    pub(super) fn new(speed: f64) -> Self {
        Self {
            speed,
            mean: vec![],
            covariance: vec![],
            squares: 0.0,
            logs: 0.0,
            free: 0.0,
        }
    }

    /// Adds a block, whose samples have these variances. A new commit takes the next place.
    pub(super) fn add(&mut self, block: &Block, [of_first, of_values @ ..]: [f64; 3]) {
        if self.mean.is_empty() {
            self.mean.push(block.first);
            self.covariance.push(vec![of_first]);
        } else {
            self.covariance[0][0] += self.speed;
            self.update(&[0], block.first, of_first);
        }
        for (value, variance) in block.values.into_iter().zip(of_values) {
            if block.place == self.mean.len() {
                self.append(value, variance);
            } else {
                self.update(&[0, block.place], value, variance);
            }
        }
    }

    /// Takes the level of a new commit from its first value alone.
    fn append(&mut self, value: f64, variance: f64) {
        let of_machine: Vec<f64> = self.covariance[0].iter().map(|one| -one).collect();
        for (row, covariance) in self.covariance.iter_mut().zip(&of_machine) {
            row.push(*covariance);
        }
        let variance = variance - of_machine[0];
        self.covariance.push([of_machine, vec![variance]].concat());
        self.mean.push(value - self.mean[0]);
    }

    /// Adds a value that is the sum of these levels, and noise of a variance.
    fn update(&mut self, levels: &[usize], value: f64, variance: f64) {
        let gain: Vec<f64> = self
            .covariance
            .iter()
            .map(|row| levels.iter().map(|level| row[*level]).sum())
            .collect();
        let variance = variance + levels.iter().map(|level| gain[*level]).sum::<f64>();
        let surprise = value - levels.iter().map(|level| self.mean[*level]).sum::<f64>();
        for (row, own) in self.covariance.iter_mut().zip(&gain) {
            for (cell, other) in row.iter_mut().zip(&gain) {
                *cell -= own * other / variance;
            }
        }
        for (mean, own) in self.mean.iter_mut().zip(&gain) {
            *mean += own * surprise / variance;
        }
        self.squares += surprise * surprise / variance;
        self.logs += variance.ln();
        self.free += 1.0;
    }

    /// The likeliest deviation of a sample.
    pub(super) fn noise(&self) -> f64 {
        (self.squares / self.free.max(1.0)).sqrt()
    }

    /// Logarithm of the evidence for this speed and this deviation of a sample.
    pub(super) fn log(&self, noise: f64) -> f64 {
        -(self.squares / (noise * noise) + self.logs) / 2.0 - self.free * noise.ln()
    }

    /// The level of the commit in this place, from 1.
    pub(super) fn level(&self, place: usize) -> f64 {
        self.mean[place]
    }

    /// The covariance of the levels in two places, in units of a sample's variance.
    pub(super) fn covariance(&self, one: usize, other: usize) -> f64 {
        self.covariance[one][other]
    }
}
