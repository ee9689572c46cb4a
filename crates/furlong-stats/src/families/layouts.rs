//! The code layout as a random effect: a verdict that holds beyond one order of the functions.
//!
//! The order in which a linker places functions changes a program's speed, although no instruction
//! changes. All blocks of one pair of builds share that accident, so more of them do not average it
//! out. With several layouts the unit of replication is the layout: each gives one mean, and the
//! interval is that of the means. It errs as promised even if an edit shuffles the layouts of the
//! arm independently of the baseline's. The blocks within a layout tell how much of the variance
//! the layouts explain.
//!
//! # Source
//!
//! Mytkowicz and others, ASPLOS 2009; Curtsinger and Berger, ASPLOS 2013. The share is the
//! intraclass correlation of a one-way random-effects model: Searle, Linear Models, 1971.

use std::collections::BTreeMap;

use serde_json::Value;

use super::nodes::differ;
use crate::describe::mean;
use crate::distribution::f_sf;
use crate::value::{ByLayout, WorkloadResult};
use crate::verdict::ALPHA;

/// The parameter of a workload with the number of code layouts that its blocks cycle through.
pub const LAYOUTS: &str = "layouts";

/// Steps of a bisection: each halves the error of a share.
const STEPS: usize = 60;

/// The layout of the block with this number; blocks count from 1 and layouts from 0.
pub fn layout_of(block: u32, layouts: u32) -> u32 {
    block.saturating_sub(1) % layouts.max(1)
}

/// The layout of each block of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layouts {
    of_block: Vec<u32>,
}

impl Layouts {
    /// The layouts of a workload; `None` if it was measured in that of its builds alone.
    pub fn of(workload: &WorkloadResult) -> Option<Self> {
        let number = workload.params.get(LAYOUTS).and_then(Value::as_u64)?;
        let number = u32::try_from(number).ok().filter(|number| *number > 0)?;
        let of_block = workload.blocks.iter();
        Some(Self {
            of_block: of_block.map(|block| layout_of(*block, number)).collect(),
        })
    }

    /// The effects in each layout that has any.
    fn groups(&self, places: &[usize], effects: &[f64]) -> Vec<Vec<f64>> {
        let mut groups: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (place, effect) in places.iter().zip(effects) {
            if let Some(layout) = self.of_block.get(*place) {
                groups.entry(*layout).or_default().push(*effect);
            }
        }
        groups.into_values().collect()
    }

    /// The mean effect of each layout that has blocks.
    ///
    /// # Shapes
    ///
    /// `effects` has one entry per block; `places` has the block's index in the workload.
    pub fn means(&self, places: &[usize], effects: &[f64]) -> Vec<f64> {
        let groups = self.groups(places, effects);
        groups.iter().map(|group| mean(group)).collect()
    }

    /// The share of the variance of a block's effect that the layouts explain, for the arguments of
    /// [`means`](Self::means).
    pub fn explain(&self, places: &[usize], effects: &[f64]) -> ByLayout {
        let groups = self.groups(places, effects);
        let mut found = ByLayout {
            layouts: groups.len(),
            ..ByLayout::default()
        };
        let named: Vec<(&str, Vec<f64>)> = groups.into_iter().map(|group| ("", group)).collect();
        let Some(test) = differ(&named) else {
            return found;
        };
        let sizes = named.iter().map(|(_, group)| group.len() as f64);
        let all: f64 = sizes.clone().sum();
        let squares: f64 = sizes.map(|size| size * size).sum();
        // Blocks per layout; with unequal numbers, the one that keeps the estimate unbiased.
        let each = (all - squares / all) / test.df1;
        let share = (test.f - 1.0) / (test.f - 1.0 + each);
        found.share_pct = Some(100.0 * share.max(0.0));
        // The share at which so great a statistic has this probability.
        let at = |tail: f64| {
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..STEPS {
                let share = f64::midpoint(low, high);
                let scaled = test.f / (1.0 + each * share / (1.0 - share));
                if f_sf(scaled, test.df1, test.df2) < tail {
                    low = share;
                } else {
                    high = share;
                }
            }
            100.0 * low
        };
        found.share95_pct = Some([at(ALPHA / 2.0), at(1.0 - ALPHA / 2.0)]);
        found.p = Some(test.p);
        found
    }
}

#[cfg(test)]
mod tests;
