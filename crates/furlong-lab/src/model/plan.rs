//! `plan.toml`: the declarations of an experiment, made before anything is measured.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use furlong_stats::value::MARGIN;
use furlong_stats::value::{Better, CONTROL, Kind, Metric};

/// Amount of measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Three blocks of tiny sizes, to see that everything runs. No verdict.
    Smoke,
    /// One workload of each system and one arm beside the baseline, for some seconds.
    Tour,
    /// The workloads marked quick, ten blocks.
    Quick,
    /// Every workload, with the blocks that its plan asks for.
    Full,
}

impl Profile {
    const ALL: [Self; 4] = [Self::Smoke, Self::Tour, Self::Quick, Self::Full];

    /// Returns its name on the command line and in the record.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Smoke => "smoke",
            Profile::Tour => "tour",
            Profile::Quick => "quick",
            Profile::Full => "full",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Contents of `experiments/<name>/plan.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Name, as in `furlong list`.
    pub name: String,
    /// The experiment's question, one sentence.
    pub question: String,
    /// Names of the arms, the baseline first.
    pub arms: Vec<String>,
    /// Metrics, the primary one first.
    pub metrics: Vec<MetricPlan>,
    /// Workloads in the order in which they run.
    pub workloads: Vec<Workload>,
    /// Blocks under `full`; `quick` has 10 and `smoke` 3.
    pub full_blocks: u32,
    /// Wanted seconds of the timed region of a sample, by profile: `quick`, `full`.
    pub batch_s: BTreeMap<String, f64>,
    /// Operations of the pass that counts exact metrics. The number is fixed so that the counts are
    /// the same on every machine; `smoke` has [`SMOKE_EXACT_OPERATIONS`] at most.
    #[serde(default = "exact_operations")]
    pub exact_operations: u64,
    /// Operations of a sample in the document that the experiment comes from (`--seed-sizes`).
    #[serde(default)]
    pub seed_operations: Option<u64>,
    /// Its part in the tour; `None` if it has none.
    #[serde(default)]
    pub tour: Option<Tour>,
}

/// The part of an experiment in the tour.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tour {
    /// The question, in words that anyone understands.
    pub question: String,
    /// The workload.
    pub workload: String,
    /// The baseline and the arm.
    pub arms: [String; 2],
    /// The figure in the README, in its words.
    pub readme: String,
}

impl Tour {
    /// True if the plan has its workload and its arms.
    fn is_part_of(&self, plan: &Plan) -> bool {
        let known = |arm| plan.arms.contains(arm);
        plan.workload(&self.workload).is_some() && self.arms.iter().all(known)
    }
}

/// Name of the fact with the README's figure.
pub const README: &str = "readme";

/// Seconds of a workload in the tour.
pub const TOUR_S: f64 = 8.0;

/// Most blocks of a workload in the tour.
const TOUR_BLOCKS: u32 = 100;

/// Maximum number of operations of an exact pass under `smoke`.
pub const SMOKE_EXACT_OPERATIONS: u64 = 1 << 12;

/// Default seconds of a sample.
const BATCH_S: f64 = 0.2;

/// Default seconds of a sample in the tour.
const TOUR_BATCH_S: f64 = 0.05;

/// Default seconds of a sample under `smoke`.
const SMOKE_BATCH_S: f64 = 0.001;

fn exact_operations() -> u64 {
    1 << 20
}

impl Plan {
    /// Parses a plan and refuses one that contradicts itself.
    ///
    /// # Errors
    ///
    /// The mistake, with its place if the text cannot be parsed.
    pub fn parse(text: &str) -> Result<Plan, String> {
        let plan: Plan = toml::from_str(text).map_err(|error| error.to_string())?;
        plan.check()
            .map_err(|wrong| format!("plan `{}`: {wrong}", plan.name))?;
        Ok(plan)
    }

    /// Parses a plan that is compiled in.
    ///
    /// # Panics
    /// If the plan contradicts itself. A test parses all of them.
    pub fn compiled_in(text: &str) -> Plan {
        Plan::parse(text).unwrap_or_else(|wrong| panic!("{wrong}"))
    }

    /// Returns the number of blocks of each workload under a profile.
    pub fn blocks(&self, profile: Profile) -> u32 {
        match profile {
            Profile::Smoke => 3,
            Profile::Tour => TOUR_BLOCKS,
            Profile::Quick => 10,
            Profile::Full => self.full_blocks,
        }
    }

    /// Returns the wanted seconds of the timed region of a sample.
    pub fn batch_s(&self, profile: Profile) -> f64 {
        let default = match profile {
            Profile::Smoke => SMOKE_BATCH_S,
            Profile::Tour => TOUR_BATCH_S,
            Profile::Quick | Profile::Full => BATCH_S,
        };
        self.batch_s.get(profile.name()).copied().unwrap_or(default)
    }

    /// Returns the operations of a process that counts exact metrics.
    pub fn exact_operations(&self, profile: Profile) -> u64 {
        match profile {
            Profile::Smoke => self.exact_operations.min(SMOKE_EXACT_OPERATIONS),
            Profile::Tour | Profile::Quick | Profile::Full => self.exact_operations,
        }
    }

    /// Returns the workload of that name, as declared.
    pub fn workload(&self, name: &str) -> Option<&Workload> {
        self.workloads.iter().find(|workload| workload.name == name)
    }

    /// Checks that the plan does not contradict itself.
    ///
    /// # Errors
    ///
    /// The first contradiction.
    pub fn check(&self) -> Result<(), String> {
        check_names("arm", self.arms.iter())?;
        check_names("metric", self.metrics.iter().map(|metric| &metric.name))?;
        check_names("workload", self.workloads.iter().map(|load| &load.name))?;
        for workload in &self.workloads {
            let unknown = |name: &&String| self.metrics.iter().all(|metric| metric.name != **name);
            if let Some(name) = workload.metrics.iter().find(unknown) {
                return Err(format!(
                    "workload `{}` has no metric `{name}`",
                    workload.name
                ));
            }
        }
        if self.arms.iter().any(|arm| arm == CONTROL) {
            return Err(format!(
                "`{CONTROL}` is the name of the control: give the arm another name"
            ));
        }
        self.check_batches()?;
        let is_foreign = |tour: &Tour| !tour.is_part_of(self);
        if self.tour.as_ref().is_some_and(is_foreign) {
            return Err("its tour names a workload or an arm that is not declared".to_owned());
        }
        if self.full_blocks == 0 || self.exact_operations == 0 {
            return Err("full_blocks and exact_operations must be at least 1".to_owned());
        }
        let is_idle = |workload: &&Workload| workload.operations == Some(0);
        if let Some(workload) = self.workloads.iter().find(is_idle) {
            return Err(format!(
                "workload `{}` has `operations = 0`: it must be at least 1",
                workload.name
            ));
        }
        Ok(())
    }

    fn check_batches(&self) -> Result<(), String> {
        let known = Profile::ALL.map(Profile::name);
        let mut names = self.batch_s.keys();
        if let Some(name) = names.find(|name| !known.contains(&name.as_str())) {
            return Err(format!("`{name}` in batch_s is not a profile"));
        }
        let whole = self.workloads.iter().filter_map(|one| one.usual_s.as_ref());
        let mut all = self.batch_s.values().chain(whole);
        if !all.all(|seconds| seconds.is_finite() && *seconds > 0.0) {
            return Err("batch_s and usual_s must be more than 0 seconds".to_owned());
        }
        Ok(())
    }
}

fn check_names<'a>(kind: &str, names: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(format!("{kind} `{name}` is declared twice"));
        }
    }
    match seen.is_empty() {
        true => Err(format!("there are no {kind}s")),
        false => Ok(()),
    }
}

/// A metric as declared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricPlan {
    /// Name, as in the result.
    pub name: String,
    /// Unit: `ns`, `1`, `KiB`, ..
    pub unit: String,
    /// The direction of improvement.
    pub better: Better,
    /// Sampled or exact; processes differ in a sampled metric only.
    pub kind: Kind,
    /// Margin, per cent.
    pub margin_pct: f64,
    /// The thing that it counts or times, one sentence.
    pub about: String,
}

impl MetricPlan {
    /// Returns a metric of which less is better.
    pub fn new(name: &str, unit: &str, kind: Kind, margin_pct: f64, about: &str) -> Self {
        Self {
            name: name.to_owned(),
            unit: unit.to_owned(),
            better: Better::Lower,
            kind,
            margin_pct,
            about: about.to_owned(),
        }
    }

    /// Returns it as the record stores it.
    pub fn metric(&self, primary: bool) -> Metric {
        Metric {
            unit: self.unit.clone(),
            better: self.better,
            kind: self.kind,
            primary,
            margin_pct: Some(self.margin_pct),
            about: self.about.clone(),
        }
    }
}

/// A workload as declared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Name, as in the result.
    pub name: String,
    /// The work that it does, one sentence.
    pub about: String,
    /// The work in the experiment's own terms, which it reads with [`Workload::read`]. Records do
    /// not have it.
    #[serde(default, skip_serializing)]
    pub kind: Value,
    /// Runs under the quick profile too.
    #[serde(default)]
    pub quick: bool,
    /// Names of its metrics; empty means all of the plan's. Its primary metric is the first one in
    /// the plan's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<String>,
    /// Operations of a sample, if the number is fixed and not calibrated to the profile's time.
    /// `smoke` does one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
    /// Usual seconds of a process, if it runs a whole program, which no number of operations
    /// shortens. Used only for estimates and limits of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usual_s: Option<f64>,
    /// Parameters under `quick` and `full`. The parameter [`MARGIN`] overrides the margins of its
    /// sampled metrics.
    #[serde(default)]
    pub params: BTreeMap<String, u64>,
    /// Parameters that differ under `smoke` (tiny sizes).
    #[serde(default)]
    pub smoke: BTreeMap<String, u64>,
}

impl Workload {
    /// True if it has this metric of the plan.
    pub fn has(&self, metric: &str) -> bool {
        self.metrics.is_empty() || self.metrics.iter().any(|name| name == metric)
    }

    /// Returns a copy with the parameters of a profile.
    pub fn under(&self, profile: Profile) -> Workload {
        let mut resolved = self.clone();
        let smoke = std::mem::take(&mut resolved.smoke);
        if profile == Profile::Smoke {
            resolved.params.extend(smoke);
            resolved.operations = resolved.operations.map(|_| 1);
        }
        resolved
    }
}

#[cfg(test)]
mod tests {
    use super::{Plan, Profile};

    const GOOD: &str = r#"
        name = "race"
        question = "Which is faster?"
        arms = ["a", "b"]
        full_blocks = 64
        batch_s = { quick = 0.1, full = 0.5 }
        metrics = [{ name = "time_ns_per_op", unit = "ns", better = "lower", kind = "sampled",
                     margin_pct = 1.0, about = "Time." }]
        workloads = [{ name = "plain", about = "Toggles.", quick = true,
                       params = { nodes = 65536, seedless = 1 }, smoke = { nodes = 64 } },
                     { name = "counted", about = "Toggles.", operations = 60 }]
    "#;

    #[test]
    fn smoke_replaces_only_the_parameters_it_names() {
        let plan = Plan::parse(GOOD).unwrap();
        let tiny = plan.workloads[0].under(Profile::Smoke);
        assert_eq!(tiny.params["nodes"], 64);
        assert_eq!(tiny.params["seedless"], 1);
        assert_eq!(
            plan.workloads[0].under(Profile::Full).params["nodes"],
            65536
        );
    }

    #[test]
    fn operations_that_are_declared_are_one_under_smoke() {
        let plan = Plan::parse(GOOD).unwrap();
        let of = |workload: usize, profile| plan.workloads[workload].under(profile).operations;
        assert_eq!(of(1, Profile::Full), Some(60));
        assert_eq!(of(1, Profile::Smoke), Some(1));
        assert_eq!(of(0, Profile::Smoke), None);
    }

    #[test]
    fn a_workload_has_the_metrics_that_it_names_or_all() {
        let mut workload = Plan::parse(GOOD).unwrap().workloads.remove(0);
        assert!(workload.has("time_ns_per_op") && workload.has("instructions"));
        workload.metrics.push("time_ns_per_op".to_owned());
        assert!(workload.has("time_ns_per_op") && !workload.has("instructions"));
    }

    #[test]
    fn each_profile_has_its_blocks_and_its_batch() {
        let plan = Plan::parse(GOOD).unwrap();
        let of = |profile| (plan.blocks(profile), plan.batch_s(profile));
        assert_eq!(of(Profile::Smoke), (3, 0.001));
        assert_eq!(of(Profile::Quick), (10, 0.1));
        assert_eq!(of(Profile::Full), (64, 0.5));
        assert_eq!(plan.exact_operations(Profile::Smoke), 4096);
        assert_eq!(plan.exact_operations(Profile::Quick), 1 << 20);
    }

    #[test]
    fn a_plan_that_contradicts_itself_is_refused_by_name() {
        let wrong = |from: &str, to: &str| {
            assert!(GOOD.contains(from));
            Plan::parse(&GOOD.replace(from, to)).unwrap_err()
        };
        assert!(wrong(r#"["a", "b"]"#, r#"["a", "a"]"#).contains("arm `a` is declared twice"));
        assert!(wrong(r#"["a", "b"]"#, "[]").contains("there are no arms"));
        let said = wrong("quick = true", r#"quick = true, metrics = ["time"]"#);
        assert!(
            said.contains("workload `plain` has no metric `time`"),
            "{said}"
        );
        assert!(wrong(r#"["a", "b"]"#, r#"["a", "control"]"#).contains("`control`"));
        assert!(wrong("quick = 0.1", "quik = 0.1").contains("`quik`"));
        assert!(wrong("quick = 0.1", "quick = -1.0").contains("more than 0"));
        assert!(
            wrong("operations = 60", "operations = 0").contains("`counted` has `operations = 0`")
        );
        assert!(wrong("full_blocks = 64", "full_blocks = 0").contains("at least 1"));
        assert!(wrong("full_blocks", "fool_blocks").contains("fool_blocks"));
    }
}
