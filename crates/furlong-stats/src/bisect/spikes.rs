//! Samples that something else on the machine has spoilt: they count less.
//!
//! Real noise has spikes, which a normal distribution takes for proof. A sample far from what the
//! rest of its block and of its commit says gets its distance as deviation. Medians decide what is
//! far, so one spike does not hide another.

use crate::describe::median;

/// A block: logarithms of a sample of the first commit, and of two of the commit in a place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    /// The commit's place among the measured ones, from 1.
    pub(super) place: usize,
    pub(super) first: f64,
    pub(super) values: [f64; 2],
}

/// Distance, in deviations, from which a sample counts less.
const FAR: f64 = 3.0;

/// Deviations of a normal distribution in a median of its sizes.
const NORMAL: f64 = 1.482_602_218_505_602;

/// The variances of the three samples of each block, in units of a usual sample's.
///
/// # Cost
///
/// O(n log n).
pub(super) fn variances(blocks: &[Block]) -> Vec<[f64; 3]> {
    let deviation = deviation(blocks);
    let places = blocks.iter().map(|block| block.place).max().unwrap_or(0);
    let mut differences = vec![vec![]; places + 1];
    for block in blocks {
        differences[block.place].extend(block.values.map(|value| value - block.first));
    }
    let levels: Vec<f64> = differences.iter().map(|of| median(of)).collect();
    let of = |block: &Block| {
        // Three values of the machine's level, of which the middle one is never a spike.
        let [one, other] = block.values.map(|value| value - levels[block.place]);
        let machine = [block.first, one, other];
        let centre = median(&machine);
        machine.map(|value| {
            let distance = (value - centre).abs();
            match distance > FAR * deviation {
                true => (distance / deviation / FAR).powi(2),
                false => 1.0,
            }
        })
    };
    blocks.iter().map(of).collect()
}

/// The deviation of a usual sample, by the two of a block that are of one build.
fn deviation(blocks: &[Block]) -> f64 {
    let differences = blocks.iter().map(|block| block.values[0] - block.values[1]);
    let sizes: Vec<f64> = differences.map(|one| one.abs() / 2.0_f64.sqrt()).collect();
    let usual = NORMAL * median(&sizes);
    // If most figures repeat exactly, none is far from the others.
    if usual > 0.0 { usual } else { f64::INFINITY }
}
