//! Interim looks with a bound on the total error, by Lan and DeMets.
//!
//! Ten looks at 5 % each would find something in far more than 5 % of runs without an effect. Here,
//! each look may spend a part of the error. By O'Brien and Fleming's form the first looks spend
//! almost none, and the last nearly all.

use crate::distribution::{normal_sf, normal_upper};

/// Points of the density of continuing runs; odd, for Simpson's rule.
const POINTS: usize = 601;

/// Range of the density, in deviations; practically no run is beyond it.
const REACH: f64 = 8.5;

/// A plan after some of its looks.
#[derive(Clone, Debug)]
pub struct Sequential {
    alpha: f64,
    /// The error that may have been spent, of all of it, at a share of the information.
    may_spend: fn(f64, f64) -> f64,
    spent: f64,
    information: f64,
    going_on: Option<Density>,
}

/// The density of the sums of continuing runs.
#[derive(Clone, Debug)]
struct Density {
    /// Sums, evenly spaced from least to greatest.
    at: Vec<f64>,
    /// Density times Simpson's weight.
    weight: Vec<f64>,
}

impl Density {
    fn new(reach: f64, density: impl Fn(f64) -> f64) -> Self {
        let step = 2.0 * reach / (POINTS - 1) as f64;
        let at: Vec<f64> = (0..POINTS).map(|i| -reach + step * i as f64).collect();
        let simpson = |i: usize| match i {
            0 => 1.0,
            _ if i == POINTS - 1 => 1.0,
            _ if i % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let places = at.iter().enumerate();
        let weight = places
            .map(|(i, at)| density(*at) * simpson(i) * step / 3.0)
            .collect();
        Self { at, weight }
    }

    fn sum(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.at
            .iter()
            .zip(&self.weight)
            .map(|(at, weight)| weight * of(*at))
            .sum()
    }
}

/// Normal density with this variance.
fn normal_density(x: f64, variance: f64) -> f64 {
    (-x * x / (2.0 * variance)).exp() / (std::f64::consts::TAU * variance).sqrt()
}

impl Sequential {
    /// A plan with error probability `alpha` (0.05) for both sides together, spent by O'Brien and
    /// Fleming's form.
    pub fn new(alpha: f64) -> Self {
        let late =
            |alpha: f64, share: f64| 4.0 * normal_sf(normal_upper(alpha / 4.0) / share.sqrt());
        Self::spending(alpha, late)
    }

    /// The same, spent with the square of the information: the first looks may spend more.
    ///
    /// # Source
    /// Kim and DeMets, Biometrika 1987.
    pub fn squared(alpha: f64) -> Self {
        Self::spending(alpha, |alpha, share| alpha * share * share)
    }

    fn spending(alpha: f64, may_spend: fn(f64, f64) -> f64) -> Self {
        Self {
            alpha,
            may_spend,
            spent: 0.0,
            information: 0.0,
            going_on: None,
        }
    }

    /// The error of all looks together.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The bound of the next look: stop if `|z|` is above it. The plan continues as if the look did
    /// not stop.
    ///
    /// # Shapes
    /// `information` is the current share of the planned blocks, more than at the previous look and
    /// at most 1; otherwise `None`. The `last` look, such as at a time limit, spends all of the
    /// remaining error at any share.
    pub fn look(&mut self, information: f64, last: bool) -> Option<f64> {
        if !(information > self.information && information <= 1.0) {
            return None;
        }
        let spend_to = if last {
            self.alpha
        } else {
            (self.may_spend)(self.alpha, information)
        };
        let spend = spend_to - self.spent;
        let more = information - self.information;
        let deviation = information.sqrt();
        let (mut low, mut high) = (0.0, 40.0);
        for _ in 0..100 {
            let z = f64::midpoint(low, high);
            if self.stops(z * deviation, more) > spend {
                low = z;
            } else {
                high = z;
            }
        }
        let bound = high;
        let reach = bound.min(REACH) * deviation;
        let next = match &self.going_on {
            None => Density::new(reach, |x| normal_density(x, information)),
            Some(before) => {
                Density::new(reach, |x| before.sum(|from| normal_density(x - from, more)))
            }
        };
        (self.going_on, self.information, self.spent) = (Some(next), information, spend_to);
        Some(bound)
    }

    /// Probability that a continuing run has a sum beyond `limit` after `more`.
    fn stops(&self, limit: f64, more: f64) -> f64 {
        // Both sides are alike: the density is even.
        let beyond = |from: f64| 2.0 * normal_sf((limit - from) / more.sqrt());
        self.going_on
            .as_ref()
            .map_or_else(|| beyond(0.0), |before| before.sum(beyond))
    }
}

/// The level of an ordinary t interval that is as strict as a bound. It gives the repeated
/// confidence interval of a look.
pub fn level(bound: f64) -> f64 {
    1.0 - 2.0 * normal_sf(bound)
}

#[cfg(test)]
mod tests {
    use super::{Density, Sequential, level};
    use crate::random::Random;

    fn bounds(looks: u32) -> Vec<f64> {
        bounds_of(Sequential::new(0.05), looks)
    }

    fn bounds_of(mut plan: Sequential, looks: u32) -> Vec<f64> {
        let share = |look: u32| f64::from(look) / f64::from(looks);
        (1..=looks)
            .map(|look| plan.look(share(look), look == looks).unwrap())
            .collect()
    }

    #[test]
    fn bounds_agree_with_published_tables() {
        let tables: [&[f64]; 4] = [
            &[2.9626, 1.9686],
            &[3.7103, 2.5114, 1.9930],
            &[4.3326, 2.9631, 2.3590, 2.0141],
            &[4.8769, 3.3570, 2.6803, 2.2898, 2.0310],
        ];
        for (looks, table) in (2..).zip(tables) {
            for (found, wanted) in bounds(looks).iter().zip(table) {
                assert!(
                    (found - wanted).abs() < 1e-4,
                    "{looks} looks: {found} is not {wanted}"
                );
            }
        }
    }

    #[test]
    fn a_density_is_integrated_as_simpson_does() {
        // Exact for polynomials up to the third degree.
        let density = Density::new(2.0, |x| 1.0 + x + x * x);
        assert!((density.sum(|_| 1.0) - (4.0 + 16.0 / 3.0)).abs() < 1e-12);
        assert!((density.sum(|x| x) - 16.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_single_look_is_the_ordinary_bound() {
        assert!((bounds(1)[0] - 1.959_963_984_540_054).abs() < 1e-9);
        assert!((level(bounds(1)[0]) - 0.95).abs() < 1e-9);
    }

    #[test]
    fn a_time_limit_spends_what_is_left_at_the_look_that_there_is() {
        let mut plan = Sequential::new(0.05);
        assert!(plan.look(0.5, false).unwrap() > 2.9);
        let early = plan.clone().look(0.7, false).unwrap();
        let last = plan.look(0.7, true).unwrap();
        assert!(last < early && last > 1.9599, "{last} {early}");
    }

    #[test]
    fn looking_five_times_errs_in_five_per_cent() {
        for plan in [Sequential::new(0.05), Sequential::squared(0.05)] {
            let share = errs(&bounds_of(plan, 5));
            assert!((share - 0.05).abs() < 0.005, "{share}");
        }
    }

    #[test]
    fn a_squared_plan_spends_early_what_the_usual_one_saves_for_the_end() {
        let [early, late] = [0, 4].map(|look| {
            let usual = bounds(5)[look];
            bounds_of(Sequential::squared(0.05), 5)[look] - usual
        });
        assert!(early < -1.0 && late > 0.05, "{early} {late}");
        // The first look spends 1/25 of the error.
        let first = bounds_of(Sequential::squared(0.05), 5)[0];
        assert!((level(first) - 0.998).abs() < 1e-9);
    }

    /// The share of runs without an effect that stop at one of five looks.
    fn errs(bounds: &[f64]) -> f64 {
        let mut random = Random::new(1);
        let runs = 20_000;
        let mut stopped = 0;
        for _ in 0..runs {
            let mut sum = 0.0;
            stopped += u32::from((1..=5).any(|look| {
                sum += random.normal();
                (sum / f64::from(look).sqrt()).abs() > bounds[look as usize - 1]
            }));
        }
        f64::from(stopped) / f64::from(runs)
    }

    #[test]
    fn information_that_does_not_grow_is_refused() {
        let mut plan = Sequential::new(0.05);
        assert!(plan.look(0.0, false).is_none());
        assert!(plan.look(0.4, false).is_some());
        assert!(plan.look(0.4, false).is_none());
        assert!(plan.look(1.1, true).is_none());
        assert!(plan.look(f64::NAN, true).is_none());
    }
}
