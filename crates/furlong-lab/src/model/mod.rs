//! Plain values: plans, experiments, schedules and results. The measuring, storing and reporting
//! modules work on these values; the values depend on none of those modules.
//!
//! # Files
//! - `plan.rs`: `plan.toml`, the declarations made before anything is measured
//! - `experiment.rs`: a plan with its arms; the request to a sample process and its outcome
//! - `schedule.rs`: everything that a run will do
//! - `result.rs`: the result of a run, as it is stored, shown and exchanged
//! - `command_fact.rs`: the commands of a comparison in that result

pub mod command_fact;
pub mod experiment;
pub mod plan;
pub mod result;
pub mod schedule;

pub use experiment::{Arm, ArmFn, Experiment, Failure, Outcome, Request};
pub use plan::{MetricPlan, Plan, Profile, README, TOUR_S, Tour, Workload};
pub use schedule::{Counters, Schedule};
