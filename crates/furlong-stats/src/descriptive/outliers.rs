//! Values far from the others. They are shown and never dropped: leaving out unwelcome values would
//! bias the result.

use crate::describe::median_sorted;

/// Distance from the quartiles, in interquartile ranges, of a mild outlier.
const MILD: f64 = 1.5;

/// The same for a severe one.
const SEVERE: f64 = 3.0;

/// Distance of an outlier from the median, in median absolute deviations: ten deviations of a
/// normal distribution.
const MAD_LIMIT: f64 = 14.826;

/// The number of outliers, by three rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outliers {
    /// Beyond 1.5 interquartile ranges, the severe ones included.
    pub mild: usize,
    /// Beyond 3 interquartile ranges.
    pub severe: usize,
    /// Beyond 14.8 median absolute deviations.
    pub by_mad: usize,
}

/// The value below which the share `q` is, by linear interpolation; NaN for no values.
pub fn quantile_sorted(sorted: &[f64], q: f64) -> f64 {
    if sorted.is_empty() {
        return f64::NAN;
    }
    let place = q.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let below = place.floor();
    let (low, high) = (sorted[below as usize], sorted[place.ceil() as usize]);
    low + (high - low) * (place - below)
}

/// Counts the outliers of a sample. There are none if more than half of the values are equal: any
/// other value would be one.
pub fn outliers(values: &[f64]) -> Outliers {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = median_sorted(&sorted);
    let (q1, q3) = (
        quantile_sorted(&sorted, 0.25),
        quantile_sorted(&sorted, 0.75),
    );
    let mut distances: Vec<f64> = sorted.iter().map(|v| (v - middle).abs()).collect();
    distances.sort_by(f64::total_cmp);
    let mad = median_sorted(&distances);
    let beyond = |ranges: f64| {
        let reach = ranges * (q3 - q1);
        sorted
            .iter()
            .filter(|&&v| reach > 0.0 && (v < q1 - reach || v > q3 + reach))
            .count()
    };
    Outliers {
        mild: beyond(MILD),
        severe: beyond(SEVERE),
        by_mad: distances
            .iter()
            .filter(|&&d| mad > 0.0 && d > MAD_LIMIT * mad)
            .count(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Outliers, outliers, quantile_sorted};

    #[test]
    fn neither_order_nor_unit_changes_what_is_far_out() {
        let values = [5.0, 1.0, 30.0, 2.0, 4.0, 3.0, 9.0, 8.0, 7.0, 6.0];
        let mut sorted = values;
        sorted.sort_by(f64::total_cmp);
        assert_eq!(outliers(&values), outliers(&sorted));
        let far = [5.0, 5.1, 4.9, 5.2, 4.8, 5.0, 50.0];
        assert_eq!(outliers(&far).by_mad, 1);
        assert_eq!(outliers(&far.map(|v| 1e-3 * v)), outliers(&far));
    }

    #[test]
    fn quartiles_lie_between_neighbours() {
        let sorted = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(quantile_sorted(&sorted, 0.25), 1.75);
        assert_eq!(quantile_sorted(&sorted, 1.0), 4.0);
        assert!(quantile_sorted(&[], 0.5).is_nan());
    }

    #[test]
    fn each_rule_draws_its_own_line() {
        let mut values: Vec<f64> = (1..=9).map(f64::from).collect();
        assert_eq!(outliers(&values), Outliers::default());
        values.push(15.0);
        assert_eq!(
            outliers(&values),
            Outliers {
                mild: 1,
                severe: 0,
                by_mad: 0
            }
        );
        values[9] = 30.0;
        assert_eq!(
            outliers(&values),
            Outliers {
                mild: 1,
                severe: 1,
                by_mad: 0
            }
        );
        values[9] = 100.0;
        assert_eq!(
            outliers(&values),
            Outliers {
                mild: 1,
                severe: 1,
                by_mad: 1
            }
        );
    }

    #[test]
    fn a_sample_that_hardly_varies_has_none() {
        assert_eq!(
            outliers(&[5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 9.0]),
            Outliers::default()
        );
        assert_eq!(outliers(&[]), Outliers::default());
    }

    #[test]
    fn a_value_at_the_limit_is_no_outlier_in_any_unit() {
        // Quartiles 2 and 6: the limits are -4 and 12, and -10 and 18.
        for (far, mild, severe) in [
            (12.0, 0, 0),
            (12.5, 1, 0),
            (18.0, 1, 0),
            (18.5, 1, 1),
            (-4.0, 0, 0),
            (-4.5, 1, 0),
            (-10.0, 1, 0),
            (-10.5, 1, 1),
        ] {
            let rest = if far > 0.0 { 0.0..8.0 } else { 1.0..9.0 };
            let mut values: Vec<f64> = (0..8).map(|i| rest.start + f64::from(i)).collect();
            values.push(far);
            for unit in [1.0 / 1024.0, 1.0, 1024.0] {
                let values: Vec<f64> = values.iter().map(|v| unit * v).collect();
                let found = outliers(&values);
                assert_eq!((found.mild, found.severe), (mild, severe), "{far} {unit}");
            }
        }
        // The median of distances from 4 is 2.
        for (far, by_mad) in [
            (4.0 + 29.6, 0),
            (4.0 + 29.7, 1),
            (4.0 - 29.6, 0),
            (4.0 - 29.7, 1),
        ] {
            let mut values: Vec<f64> = (0..9).map(f64::from).collect();
            values[if far > 0.0 { 8 } else { 0 }] = far;
            assert_eq!(outliers(&values).by_mad, by_mad, "{far}");
        }
    }
}
