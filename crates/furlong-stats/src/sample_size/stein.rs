//! Stein's two stages: the number of blocks for an interval of a given width.
//!
//! Stopping as soon as the interval is narrow enough favours runs that seem quiet by chance, and
//! covers the truth too seldom. Here a pilot fixes the number, and the interval uses its spread.

use crate::distribution::t_upper;
use crate::paired::Paired;

/// Blocks of the pilot.
pub const PILOT_BLOCKS: usize = 10;

/// Total blocks, with the pilot's, for an interval of this half width at a level such as 0.95.
/// Never fewer than the pilot's; `u32::MAX` if no number is enough.
pub fn blocks(pilot: &Paired, half_width: f64, level: f64) -> u32 {
    let quantile = t_upper((1.0 - level) / 2.0, pilot.df());
    let wanted = (quantile * pilot.stddev / half_width).powi(2).ceil();
    // The cast saturates at u32: a width of zero requires infinitely many. Without a spread either,
    // the number is NaN, and the pilot's blocks are enough.
    wanted.max(pilot.n as f64) as u32
}

/// Interval of the mean of all blocks, with the pilot's spread and degrees of freedom.
pub fn interval(pilot: &Paired, mean: f64, blocks: usize, level: f64) -> [f64; 2] {
    let quantile = t_upper((1.0 - level) / 2.0, pilot.df());
    let half = quantile * pilot.stddev / (blocks as f64).sqrt();
    [mean - half, mean + half]
}

#[cfg(test)]
mod tests {
    use super::{PILOT_BLOCKS, blocks, interval};
    use crate::describe::mean;
    use crate::paired::Paired;
    use crate::random::Random;

    #[test]
    fn blocks_follow_the_formula_and_never_fall_below_the_pilot() {
        let pilot = Paired {
            n: 10,
            mean: 0.0,
            stddev: 0.02,
        };
        let wanted = (2.262_157_162_740_992_f64 * 0.02 / 0.01).powi(2).ceil() as u32;
        assert_eq!(blocks(&pilot, 0.01, 0.95), wanted);
        assert_eq!(blocks(&pilot, 1.0, 0.95), 10);
        assert_eq!(blocks(&pilot, 0.0, 0.95), u32::MAX);
        assert_eq!(
            blocks(
                &Paired {
                    stddev: 0.0,
                    ..pilot
                },
                0.0,
                0.95
            ),
            10
        );
    }

    #[test]
    fn the_interval_is_as_narrow_as_wanted_and_covers_the_truth() {
        let mut random = Random::new(2);
        let (runs, wanted) = (4000, 0.4);
        let mut covered = 0;
        for _ in 0..runs {
            let mut values: Vec<f64> = (0..PILOT_BLOCKS).map(|_| random.normal()).collect();
            let pilot = Paired::of(&values).unwrap();
            let n = blocks(&pilot, wanted, 0.95) as usize;
            values.extend((PILOT_BLOCKS..n).map(|_| random.normal()));
            let [low, high] = interval(&pilot, mean(&values), n, 0.95);
            assert!(high - low <= 2.0 * wanted + 1e-12);
            covered += u32::from(low <= 0.0 && 0.0 <= high);
        }
        let share = f64::from(covered) / f64::from(runs);
        assert!((0.94..0.962).contains(&share), "{share}");
    }
}
