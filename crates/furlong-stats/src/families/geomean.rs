//! One ratio for several workloads: the geometric mean, with an interval from the blocks.
//!
//! The workloads are fixed, not a sample of a larger population; the machine varies from block to
//! block. A block's logarithms are therefore first averaged over the workloads, and the interval is
//! that of these averages.

use crate::paired::Paired;

/// Level of the interval.
const LEVEL: f64 = 0.95;

/// A ratio, and the ends of its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geomean {
    /// The mean.
    pub ratio: f64,
    /// Its interval; `None` with fewer than two blocks.
    pub interval: Option<[f64; 2]>,
    /// The blocks used: those in which no workload lacks a value.
    pub blocks: usize,
}

/// The geometric mean over workloads.
///
/// # Shapes
///
/// For each workload, its blocks; for each block, the logarithm of the arm over the baseline, if
/// both exist. `None` if every block lacks one.
pub fn geomean(workloads: &[Vec<Option<f64>>]) -> Option<Geomean> {
    let blocks = workloads.iter().map(Vec::len).min()?;
    let mean_of = |block: usize| -> Option<f64> {
        let logs = workloads.iter().map(|workload| workload[block]);
        let sum: f64 = logs.sum::<Option<f64>>()?;
        Some(sum / workloads.len() as f64)
    };
    let means: Vec<f64> = (0..blocks).filter_map(mean_of).collect();
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    let interval = Paired::of(&means).map(|all| all.interval(LEVEL).map(f64::exp));
    (!means.is_empty()).then(|| Geomean {
        ratio: mean.exp(),
        interval,
        blocks: means.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::geomean;

    fn logs(ratios: &[f64]) -> Vec<Option<f64>> {
        ratios.iter().map(|ratio| Some(ratio.ln())).collect()
    }

    #[test]
    fn ratios_that_undo_each_other_come_to_one() {
        let two = [logs(&[2.0, 2.0, 2.0]), logs(&[0.5, 0.5, 0.5])];
        let mean = geomean(&two).unwrap();
        assert!((mean.ratio - 1.0).abs() < 1e-12);
        assert_eq!((mean.interval, mean.blocks), (Some([mean.ratio; 2]), 3));
    }

    #[test]
    fn the_interval_is_that_of_the_blocks_means() {
        // Means of the logarithms: 0, 0.1 and 0.2; their deviation is 0.1, and t(.975, 2) 4.303.
        let log = |values: [f64; 3]| values.map(Some).to_vec();
        let mean = geomean(&[log([0.0, 0.2, 0.1]), log([0.0, 0.0, 0.3])]).unwrap();
        let half = 4.302_652_73 * 0.1 / 3.0_f64.sqrt();
        let [low, high] = mean.interval.unwrap();
        assert!((low.ln() - (0.1 - half)).abs() < 1e-6, "{low}");
        assert!((high.ln() - (0.1 + half)).abs() < 1e-6, "{high}");
    }

    #[test]
    fn a_block_that_lacks_a_value_does_not_count() {
        let mut holed = logs(&[2.0, 8.0, 2.0]);
        holed[1] = None;
        let mean = geomean(&[holed, logs(&[2.0, 2.0, 2.0])]).unwrap();
        assert!((mean.ratio - 2.0).abs() < 1e-12);
        assert_eq!(mean.blocks, 2);
        assert_eq!(geomean(&[vec![None], logs(&[1.0])]), None);
        assert_eq!(geomean(&[]), None);
        assert_eq!(geomean(&[logs(&[3.0])]).unwrap().interval, None);
    }

    #[test]
    fn workloads_share_the_blocks_of_the_shortest() {
        let mean = geomean(&[logs(&[2.0, 2.0, 50.0]), logs(&[8.0, 8.0])]).unwrap();
        assert!((mean.ratio - 4.0).abs() < 1e-12);
        assert_eq!(mean.blocks, 2);
    }
}
