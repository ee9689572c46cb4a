//! The missing steps, with the known reasons.

use super::gather::Gather;
use super::slurm_parse::Task;
use super::step::Step;

/// Maximum number of steps that are named; further ones are counted.
const NAMED_MAX: usize = 12;

/// Describes the missing steps; `None` if there are none.
///
/// # Shapes
///
/// `tasks` are from Slurm, each step once; empty if Slurm was not queried.
pub(super) fn missing(gather: &Gather<'_>, tasks: &[Task]) -> Option<String> {
    let undone = gather.undone();
    let blocks = undone.iter().filter(|step| **step != Step::Prepare);
    let count = blocks.clone().count();
    let of = gather.steps.iter().filter(|step| **step != Step::Prepare);
    let mut named: Vec<String> = vec![];
    for step in undone.iter().take(NAMED_MAX) {
        let why = why(gather, *step, tasks.iter().find(|task| task.step == *step));
        named.push(format!("{step} ({why})"));
    }
    if undone.len() > NAMED_MAX {
        named.push(format!("and {} more", undone.len() - NAMED_MAX));
    }
    (!undone.is_empty()).then(|| {
        format!(
            "{count} of {} blocks are missing: {}",
            of.count(),
            named.join(", ")
        )
    })
}

/// Returns the reason why a step is not done: from its part, else from Slurm.
fn why(gather: &Gather<'_>, step: Step, task: Option<&Task>) -> String {
    let state = task.map(|task| {
        let node = task.node.as_ref().map(|node| format!(" on {node}"));
        let state = task.state.to_lowercase().replace('_', " ");
        format!("{state}{}", node.unwrap_or_default())
    });
    match (gather.excuse(step), state) {
        (Some(excuse), Some(state)) => format!("{state}: {excuse}"),
        (Some(said), None) | (None, Some(said)) => said,
        (None, None) => "Slurm knows no task of it".to_owned(),
    }
}
