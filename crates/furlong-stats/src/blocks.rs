//! From samples to differences: the values of a baseline, its control and an arm, block by block.

use super::describe::mean;
use super::verdict::Scale;

/// Values of the blocks in which none of the three is missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Blocks {
    /// Their indices among all blocks.
    pub places: Vec<usize>,
    /// The baseline.
    pub baseline: Vec<f64>,
    /// The baseline again; equal to `baseline` if there was no control.
    pub control: Vec<f64>,
    /// The arm.
    pub arm: Vec<f64>,
}

/// A measured value; one that is not finite counts as missing.
fn there(value: Option<&Option<f64>>) -> Option<f64> {
    value.copied().flatten().filter(|v| v.is_finite())
}

/// The values that are not missing.
pub fn present(samples: &[Option<f64>]) -> Vec<f64> {
    samples.iter().filter_map(|v| there(Some(v))).collect()
}

impl Blocks {
    /// Leaves out every block with a missing value.
    pub fn of(
        baseline: &[Option<f64>],
        control: Option<&[Option<f64>]>,
        arm: &[Option<f64>],
    ) -> Self {
        let mut blocks = Self::default();
        let again = control.unwrap_or(baseline);
        for (i, a) in baseline.iter().enumerate() {
            let values = (there(Some(a)), there(again.get(i)), there(arm.get(i)));
            if let (Some(a), Some(again), Some(b)) = values {
                blocks.places.push(i);
                blocks.baseline.push(a);
                blocks.control.push(again);
                blocks.arm.push(b);
            }
        }
        blocks
    }

    /// Number of blocks.
    pub fn n(&self) -> usize {
        self.arm.len()
    }

    fn all(&self) -> impl Iterator<Item = f64> {
        self.baseline
            .iter()
            .chain(&self.control)
            .chain(&self.arm)
            .copied()
    }

    /// The logarithmic scale if every value is positive, otherwise that of differences.
    pub fn scale(&self) -> Scale {
        if self.all().all(|v| v > 0.0) {
            Scale::Log
        } else {
            Scale::Difference
        }
    }

    /// True if the arms are constants: then there is nothing to test.
    pub fn is_constant(&self) -> bool {
        let constant = |values: &[f64]| values.windows(2).all(|pair| pair[0] == pair[1]);
        constant(&self.baseline) && constant(&self.control) && constant(&self.arm)
    }

    /// Arm minus the mean of baseline and control, one per block.
    pub fn effects(&self) -> Vec<f64> {
        let unit = self.unit();
        self.triples()
            .map(|(a, again, b)| match unit {
                None => b.ln() - f64::midpoint(a.ln(), again.ln()),
                Some(unit) => (b - f64::midpoint(a, again)) / unit,
            })
            .collect()
    }

    /// Control minus baseline, one per block.
    pub fn control_effects(&self) -> Vec<f64> {
        let unit = self.unit();
        self.triples()
            .map(|(a, again, _)| match unit {
                None => again.ln() - a.ln(),
                Some(unit) => (again - a) / unit,
            })
            .collect()
    }

    /// True if the baseline's mean is zero: differences are then relative to the mean of all
    /// absolute values.
    pub fn from_zero(&self) -> bool {
        self.baseline_mean() == 0.0 && self.all().any(|v| v != 0.0)
    }

    /// The least possible effect: if no value is negative, that of an arm at zero.
    pub fn least_effect(&self) -> f64 {
        match self.unit() {
            Some(unit) if self.all().all(|v| v >= 0.0) => -self.baseline_mean() / unit,
            _ => f64::NEG_INFINITY,
        }
    }

    fn triples(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        let pairs = self.baseline.iter().zip(&self.control);
        pairs.zip(&self.arm).map(|((a, again), b)| (*a, *again, *b))
    }

    fn baseline_mean(&self) -> f64 {
        f64::midpoint(mean(&self.baseline), mean(&self.control)).abs()
    }

    /// The divisor of differences; `None` on the logarithmic scale.
    fn unit(&self) -> Option<f64> {
        if self.scale() == Scale::Log {
            return None;
        }
        let of_baseline = self.baseline_mean();
        if of_baseline > 0.0 {
            return Some(of_baseline);
        }
        let sizes: Vec<f64> = self.all().map(f64::abs).collect();
        let of_all = mean(&sizes);
        Some(if of_all > 0.0 { of_all } else { 1.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::{Blocks, present};
    use crate::verdict::Scale;

    fn some(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().map(|v| Some(*v)).collect()
    }

    #[test]
    fn a_block_with_a_missing_value_is_left_out_of_all_three() {
        let a = [Some(1.0), None, Some(3.0), Some(4.0), Some(5.0)];
        let again = [Some(1.5), Some(2.5), Some(f64::NAN), Some(4.5), Some(5.5)];
        let b = [Some(10.0), Some(20.0), Some(30.0), None];
        let blocks = Blocks::of(&a, Some(&again), &b);
        assert_eq!(
            (blocks.n(), blocks.baseline[0], blocks.arm[0]),
            (1, 1.0, 10.0)
        );
        assert_eq!(present(&again), [1.5, 2.5, 4.5, 5.5]);
    }

    #[test]
    fn one_value_that_differs_makes_a_sample_that_varies() {
        let (steady, once) = (some(&[4.0; 3]), some(&[4.0, 4.0, 5.0]));
        assert!(Blocks::of(&steady, Some(&steady), &steady).is_constant());
        assert!(!Blocks::of(&once, Some(&steady), &steady).is_constant());
        assert!(!Blocks::of(&steady, Some(&once), &steady).is_constant());
        assert!(!Blocks::of(&steady, Some(&steady), &once).is_constant());
    }

    #[test]
    fn differences_are_of_logarithms_and_use_the_control() {
        let blocks = Blocks::of(&some(&[2.0]), Some(&some(&[8.0])), &some(&[6.0]));
        assert_eq!(blocks.scale(), Scale::Log);
        assert!((blocks.effects()[0] - 1.5_f64.ln()).abs() < 1e-15);
        assert!((blocks.control_effects()[0] - 4.0_f64.ln()).abs() < 1e-15);
    }

    #[test]
    fn a_zero_turns_to_shares_of_the_baselines_mean() {
        let blocks = Blocks::of(
            &some(&[0.0, 4.0]),
            Some(&some(&[2.0, 2.0])),
            &some(&[3.0, 5.0]),
        );
        assert_eq!(blocks.scale(), Scale::Difference);
        assert_eq!(blocks.effects(), [1.0, 1.0]);
        assert_eq!(blocks.control_effects(), [1.0, -1.0]);
        assert!(!blocks.from_zero());
        assert_eq!(blocks.least_effect(), -1.0);
    }

    #[test]
    fn a_baseline_of_zero_is_compared_over_the_mean_of_all() {
        let zero = some(&[0.0, 0.0]);
        let blocks = Blocks::of(&zero, Some(&zero), &some(&[3.0, 6.0]));
        assert_eq!(blocks.effects(), [2.0, 4.0]);
        assert!(blocks.from_zero());
        assert_eq!(blocks.least_effect(), 0.0);
        let nothing = Blocks::of(&zero, Some(&zero), &zero);
        assert_eq!(nothing.effects(), [0.0, 0.0]);
        assert!(nothing.is_constant() && !nothing.from_zero());
    }

    #[test]
    fn the_unit_of_the_values_changes_no_effect() {
        let zero = some(&[0.0, 0.0]);
        for unit in [1e-6, 1e-3, 1.0, 1e6] {
            let from_zero = Blocks::of(&zero, Some(&zero), &some(&[3.0 * unit, 6.0 * unit]));
            let near = |(found, wanted): (&f64, f64)| (found - wanted).abs() < 1e-12;
            assert!(
                from_zero.effects().iter().zip([2.0, 4.0]).all(near),
                "{unit}"
            );
            let [a, again, b] =
                [[0.0, 4.0], [2.0, 2.0], [3.0, 5.0]].map(|values| some(&values.map(|v| unit * v)));
            let blocks = Blocks::of(&a, Some(&again), &b);
            assert!(blocks.effects().iter().zip([1.0, 1.0]).all(near), "{unit}");
        }
    }
}
