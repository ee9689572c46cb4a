//! The figures that the documents publish.

use serde::{Deserialize, Serialize};

use furlong_lab::model::result::Better;

/// The figures, as TOML.
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
    /// Its subject.
    pub title: String,
    /// Its kind of text, and its location.
    pub source: String,
    /// Notes on its method.
    pub notes: Vec<String>,
    /// True if it claims that the change reduces variance.
    #[serde(default)]
    pub claims_less_variance: bool,
    /// Operations of a run, if it gives cycles for them.
    pub operations: Option<Figure>,
    /// Cycles of a run.
    pub cycles: Option<Figure>,
    /// Operations per second of a run that should be the same.
    pub rate_per_s: Option<Figure>,
    /// Its figures.
    pub claims: Vec<Claim>,
}

/// A number and its line in the document.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The number.
    pub count: f64,
    /// The line, from 1.
    pub line: u32,
}

/// One figure of a document.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The measured quantity, in the document's words.
    pub name: String,
    /// Lines of the document with its figures.
    pub lines: Vec<u32>,
    /// The document's claim.
    pub published: String,
    /// Direction of improvement.
    pub better: Better,
    /// The document's evidence for it.
    pub evidence: Evidence,
    /// The corresponding measurement here.
    #[serde(rename(serialize = "counterpart"))]
    pub measured: Option<Counterpart>,
}

/// A document's evidence for a figure.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Evidence {
    /// Mean and standard deviation of `n` runs each.
    Moments {
        /// Runs of each.
        n: usize,
        /// Before the change.
        base: MeanAndSpread,
        /// With the change.
        arm: MeanAndSpread,
    },
    /// Every run.
    Values {
        /// Before the change.
        base: Vec<f64>,
        /// With the change.
        arm: Vec<f64>,
    },
    /// Coefficients of variation, and the means or only their relative difference.
    Spreads {
        /// Runs of each.
        n: usize,
        /// Before the change, per cent.
        base_cv_pct: f64,
        /// With the change, per cent.
        arm_cv_pct: f64,
        /// Mean before the change.
        base: Option<f64>,
        /// Mean with the change.
        arm: Option<f64>,
        /// Difference of the means, per cent.
        diff_pct: Option<f64>,
    },
    /// Two means without a measure of their variance.
    Means {
        /// Before the change.
        base: f64,
        /// With the change.
        arm: f64,
    },
    /// Two counts that are the same in every run.
    Counts {
        /// Before the change.
        base: f64,
        /// With the change.
        arm: f64,
    },
    /// A single run.
    Once {
        /// Its duration.
        seconds: f64,
        /// Its operations.
        operations: f64,
    },
}

/// A mean with its standard deviation.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeanAndSpread {
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation, with `n - 1`.
    pub stddev: f64,
}

/// The measurement in these experiments that corresponds to a document's figure.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counterpart {
    /// The experiment.
    pub experiment: String,
    /// Its workload.
    pub workload: String,
    /// Its metric.
    pub metric: String,
    /// The arm that represents the state before the change; `None` if there was no change.
    pub baseline: Option<String>,
    /// The arm that represents the change.
    pub arm: String,
}

/// Parses the five documents.
///
/// # Errors
///
/// The table is not valid; a test checks that.
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
        let all = furlong_experiments::all();
        for claim in documents().unwrap().iter().flat_map(|one| &one.claims) {
            let Some(like) = &claim.measured else {
                continue;
            };
            assert!(all.iter().any(|one| one.plan.name == like.experiment));
            // The plan as written: on a machine without counters it would have fewer metrics.
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
