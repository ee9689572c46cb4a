//! What the documents publish.
#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};

use furlong_lab::model::result::Better;

/// The figures, as a table.
const DOCUMENTS: &str = include_str!("documents.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shelf {
    documents: Vec<Document>,
}

/// One document.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The system that comes from it.
    pub system: String,
    /// What it is about.
    pub title: String,
    /// What kind of text it is, and where it is found.
    pub source: String,
    /// What has to be known about its method.
    pub notes: Vec<String>,
    /// Whether it claims that the change makes runs differ less.
    #[serde(default)]
    pub claims_less_variance: bool,
    /// Operations of a run, where cycles are given for them.
    pub operations: Option<Figure>,
    /// Cycles of a run.
    pub cycles: Option<Figure>,
    /// Operations a second of what should be the same run.
    pub rate_per_s: Option<Figure>,
    /// Its figures.
    pub claims: Vec<Claim>,
}

/// A number and the line of the document that it stands on.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The number.
    pub count: f64,
    /// From 1.
    pub line: u32,
}

/// One figure of a document.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// What was measured, in the document's words.
    pub name: String,
    /// The lines of the document that its figures stand on.
    pub lines: Vec<u32>,
    /// What the document says of it.
    pub published: String,
    /// Which way is good.
    pub better: Better,
    /// What the document gives to judge it by.
    pub evidence: Evidence,
    /// What is like it here.
    pub measured: Option<Counterpart>,
}

/// What a document gives to judge a figure by.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Evidence {
    /// Mean and standard deviation of so many runs each.
    Moments {
        /// Runs of each.
        n: usize,
        /// Before the change.
        base: MeanAndSpread,
        /// With it.
        arm: MeanAndSpread,
    },
    /// Every run.
    Values {
        /// Before the change.
        base: Vec<f64>,
        /// With it.
        arm: Vec<f64>,
    },
    /// Coefficients of variation, and the means or only their relative difference.
    Spreads {
        /// Runs of each.
        n: usize,
        /// Before the change, per cent.
        base_cv_pct: f64,
        /// With it, per cent.
        arm_cv_pct: f64,
        /// Mean before the change.
        base: Option<f64>,
        /// Mean with it.
        arm: Option<f64>,
        /// Difference of the means, per cent.
        diff_pct: Option<f64>,
    },
    /// Two means, and nothing that says how they vary.
    Means {
        /// Before the change.
        base: f64,
        /// With it.
        arm: f64,
    },
    /// Two counts that are the same in every run.
    Counts {
        /// Before the change.
        base: f64,
        /// With it.
        arm: f64,
    },
    /// One run of one thing.
    Once {
        /// What it took.
        seconds: f64,
        /// How much of it was done.
        operations: f64,
    },
}

/// A mean with its standard deviation.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeanAndSpread {
    /// Arithmetic mean.
    pub mean: f64,
    /// With `n - 1`.
    pub stddev: f64,
}

/// What is like a document's figure in the experiments here.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counterpart {
    /// The experiment.
    pub experiment: String,
    /// Its workload.
    pub workload: String,
    /// Its metric.
    pub metric: String,
    /// The arm that stands for what was before the change; `None` where there was no change.
    pub baseline: Option<String>,
    /// The arm that stands for the change.
    pub arm: String,
}

/// The five.
///
/// # Errors
///
/// The table is none, which a test sees.
pub fn documents() -> Result<Vec<Document>, String> {
    let shelf: Shelf = toml::from_str(DOCUMENTS).map_err(|error| error.to_string())?;
    Ok(shelf.documents)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::documents;
    use furlong_lab::model::Plan;

    #[test]
    fn there_are_five_and_every_figure_has_its_line() {
        let five = documents().unwrap();
        let systems: Vec<&str> = five.iter().map(|one| one.system.as_str()).collect();
        assert_eq!(systems, ["iova", "phys", "vmspace", "bounce", "malloc"]);
        for claim in five.iter().flat_map(|one| &one.claims) {
            assert!(!claim.lines.is_empty(), "{}", claim.name);
        }
    }

    #[test]
    fn what_a_figure_is_held_against_exists() {
        let all = crate::all();
        for claim in documents().unwrap().iter().flat_map(|one| &one.claims) {
            let Some(like) = &claim.measured else {
                continue;
            };
            assert!(all.iter().any(|one| one.plan.name == like.experiment));
            // As it is written: without a counter a machine's plan has fewer metrics.
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
            let text = fs::read_to_string(folder.join(&like.experiment).join("plan.toml"));
            let plan = Plan::parse(&text.unwrap()).unwrap();
            let workloads = plan.workloads.iter().any(|one| one.name == like.workload);
            let metrics = plan.metrics.iter().any(|one| one.name == like.metric);
            let mut arms = like.baseline.iter().chain([&like.arm]);
            let arms = arms.all(|arm| plan.arms.contains(arm));
            assert!(workloads && metrics && arms, "{like:?}");
        }
    }
}
