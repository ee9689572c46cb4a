//! Parses the output of Slurm's programs. It uses explicit columns, never their JSON, whose format
//! changes from version to version.

use super::step::Step;

/// Columns requested from `squeue`.
pub const QUEUE_FORMAT: &str = "%j|%F|%K|%T|%N|%r";

/// Columns requested from `sacct`.
pub const ACCOUNT_FORMAT: &str = "JobName,JobID,State,NodeList";

/// A task in Slurm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Step of the task.
    pub step: Step,
    /// Number of its job; a later job has a greater number.
    pub job: u64,
    /// State: `PENDING`, `RUNNING`, `CANCELLED`, ..
    pub state: String,
    /// Node on which it runs or ran.
    pub node: Option<String>,
    /// Reason of the state, if there is one.
    pub reason: Option<String>,
}

/// States of a task that has ended.
const OVER: &str = "\
    BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED REVOKED \
    TIMEOUT";

impl Task {
    /// True if it runs or will run.
    pub fn is_active(&self) -> bool {
        !OVER.split(' ').any(|over| over == self.state) && !self.is_stuck()
    }

    /// True if it waits for a dependency that can never be satisfied.
    fn is_stuck(&self) -> bool {
        self.reason.as_deref() == Some("DependencyNeverSatisfied")
    }

    /// True if Slurm reports that it did all of its work.
    pub fn is_completed(&self) -> bool {
        self.state == "COMPLETED"
    }
}

/// Parses the output of `squeue` or `sacct`, which differ in their columns. Returns each task of
/// the run once: the one that was submitted last. Other lines are left out.
///
/// # Shapes
///
/// `prepare` and `blocks` are the names of the run's jobs.
pub fn tasks(text: &str, prepare: &str, blocks: &str) -> Vec<Task> {
    let task = |line: &str| {
        let columns: Vec<&str> = line.split('|').collect();
        let (name, (job, index), state, node, reason) = match columns[..] {
            [name, job, index, state, node, reason] => (name, (job, index), state, node, reason),
            [name, id, state, node] => {
                let place = id.split_once('_').unwrap_or((id, ""));
                (name, place, state, node, "")
            }
            _ => return None,
        };
        Some(Task {
            step: step(name, index, prepare, blocks)?,
            job: job.parse().ok()?,
            // `CANCELLED by 0` also names the user.
            state: state.split(' ').next()?.to_owned(),
            node: some(node),
            reason: some(reason),
        })
    };
    let mut tasks: Vec<Task> = text.lines().filter_map(task).collect();
    tasks.sort_by_key(|task| (task.step, task.job));
    tasks.reverse();
    tasks.dedup_by_key(|task| task.step);
    tasks.reverse();
    tasks
}

fn step(name: &str, index: &str, prepare: &str, blocks: &str) -> Option<Step> {
    if name == prepare {
        return Some(Step::Prepare);
    }
    let number = index.parse().ok().filter(|_| name == blocks);
    number.map(Step::Block)
}

/// Returns a column unless it is empty or a placeholder.
fn some(column: &str) -> Option<String> {
    let column = column.trim();
    let nothing = ["", "None", "None assigned", "(null)", "n/a", "N/A"];
    (!nothing.contains(&column)).then(|| column.to_owned())
}

/// Returns the most informative line of the error messages of a program of Slurm.
pub fn complaint(stderr: &str) -> String {
    let lines: Vec<&str> = stderr
        .lines()
        .map(|line| {
            let rest = line
                .split_once(": error: ")
                .or(line.split_once(": fatal: "));
            rest.map_or(line, |(_, rest)| rest).trim()
        })
        .filter(|line| !line.is_empty())
        .collect();
    let about_munge = lines
        .iter()
        .find(|line| line.contains("Did you start munged"));
    about_munge
        .or(lines.first())
        .map_or("it gives no reason", |line| *line)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Task, complaint, tasks};
    use crate::fleet::step::Step;

    /// As Slurm 22.05 prints it.
    const QUEUE: &str = "\
furlong-ab-prepare|2|N/A|COMPLETED|n1|None
furlong-ab|3|4|PENDING||JobArrayTaskLimit
furlong-ab|3|2|CANCELLED|n2|None
furlong-ab|9|2|RUNNING|n3|None
furlong-ab|3|5|PENDING||DependencyNeverSatisfied
furlong-ab|3|[6-9]|PENDING||Resources
another|4|1|RUNNING|n1|None
a line of another kind
";

    fn task(step: Step, job: u64, state: &str, node: Option<&str>, reason: Option<&str>) -> Task {
        Task {
            step,
            job,
            state: state.to_owned(),
            node: node.map(str::to_owned),
            reason: reason.map(str::to_owned),
        }
    }

    #[test]
    fn the_queue_is_read_and_a_task_that_was_submitted_again_counts_once() {
        let found = tasks(QUEUE, "furlong-ab-prepare", "furlong-ab");
        let limit = Some("JobArrayTaskLimit");
        let never = Some("DependencyNeverSatisfied");
        let wanted = [
            task(Step::Prepare, 2, "COMPLETED", Some("n1"), None),
            task(Step::Block(2), 9, "RUNNING", Some("n3"), None),
            task(Step::Block(4), 3, "PENDING", None, limit),
            task(Step::Block(5), 3, "PENDING", None, never),
        ];
        assert_eq!(found, wanted);
        let active: Vec<bool> = found.iter().map(Task::is_active).collect();
        assert_eq!(active, [false, true, true, false]);
    }

    #[test]
    fn the_accounting_is_read_and_who_cancelled_is_left_out() {
        let text = "furlong-ab-prepare|7|FAILED|n1\nfurlong-ab|8_3|CANCELLED by 0|None assigned\n\
                    furlong-ab|8_4|NODE_FAIL|n2\nother|9_1|COMPLETED|n1\n";
        let wanted = [
            task(Step::Prepare, 7, "FAILED", Some("n1"), None),
            task(Step::Block(3), 8, "CANCELLED", None, None),
            task(Step::Block(4), 8, "NODE_FAIL", Some("n2"), None),
        ];
        let found = tasks(text, "furlong-ab-prepare", "furlong-ab");
        assert_eq!(found, wanted);
        assert!(found.iter().all(|task| !task.is_active()));
    }

    #[test]
    fn a_complaint_is_the_line_that_says_most() {
        let refused = "sbatch: error: invalid partition specified: nope\nallocation failure: \
                       Invalid partition name specified\n";
        assert_eq!(complaint(refused), "invalid partition specified: nope");
        let munge = "squeue: error: If munged is up, restart with --num-threads=10\n\
                     squeue: error: Munge encode failed: Failed to access \"/run/x\" (Did you \
                     start munged?)\nslurm_load_jobs error: Protocol authentication error\n";
        assert!(complaint(munge).starts_with("Munge encode failed"));
        assert_eq!(complaint(" \n"), "it gives no reason");
    }
}
