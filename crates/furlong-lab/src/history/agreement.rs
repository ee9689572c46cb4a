//! Consistency checks for results from other machines, before they are stored.

use crate::model::result::{ExperimentResult, Kind, ResultFile, SCHEMA, WorkloadResult};

/// Refuses a result whose parts contradict each other.
///
/// # Errors
///
/// The first contradiction.
pub fn agrees(result: &ResultFile) -> Result<(), String> {
    if result.schema != SCHEMA {
        return Err(format!("its schema is `{}`, not `{SCHEMA}`", result.schema));
    }
    let id = &result.run.id;
    if id.is_empty() || !id.chars().all(|letter| letter.is_ascii_alphanumeric()) {
        return Err(format!("`{id}` is not a valid name of a run"));
    }
    if result.run.machine.id.is_empty() {
        return Err("it does not name the machine that it was measured on".to_owned());
    }
    if result.run.started.parse::<jiff::Timestamp>().is_err() {
        return Err(format!("`{}` is not a time", result.run.started));
    }
    for experiment in &result.experiments {
        if twice(experiment.workloads.iter().map(|one| &one.name)) {
            return Err(format!("{} has a workload twice", experiment.name));
        }
        for workload in &experiment.workloads {
            of_workload(experiment, workload)
                .map_err(|what| format!("{}, {}: {what}", experiment.name, workload.name))?;
        }
    }
    match twice(result.experiments.iter().map(|one| &one.name)) {
        true => Err("it has an experiment twice".to_owned()),
        false => Ok(()),
    }
}

fn of_workload(experiment: &ExperimentResult, workload: &WorkloadResult) -> Result<(), String> {
    let blocks = workload.blocks.len();
    if !workload.blocks.is_sorted_by(|before, after| before < after) {
        return Err("its blocks are not in order".to_owned());
    }
    if workload.order.len() != blocks {
        return Err(format!(
            "{blocks} blocks and {} orders",
            workload.order.len()
        ));
    }
    if twice(workload.arms.iter().map(|arm| &arm.name)) {
        return Err("it has an arm twice".to_owned());
    }
    for arm in &workload.arms {
        for (name, values) in &arm.samples {
            let metric = experiment.metrics.get(name);
            let metric = metric.ok_or_else(|| format!("`{name}` is not one of its metrics"))?;
            let wanted = match metric.kind {
                Kind::Exact => 1,
                Kind::Sampled => blocks,
            };
            if values.len() != wanted {
                let (arm, found) = (&arm.name, values.len());
                return Err(format!("{arm} has {found} values of {name}, not {wanted}"));
            }
        }
    }
    let mut controls = workload.control.values();
    match controls.any(|control| control.samples.len() > blocks) {
        true => Err("its control has more values than blocks".to_owned()),
        false => Ok(()),
    }
}

fn twice<'a>(names: impl Iterator<Item = &'a String>) -> bool {
    let mut names: Vec<&String> = names.collect();
    names.sort_unstable();
    names.windows(2).any(|pair| pair[0] == pair[1])
}
