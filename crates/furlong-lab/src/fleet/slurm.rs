//! Calls of Slurm's programs.

use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::Dir;
use super::order::Order;
use super::slurm_parse::{ACCOUNT_FORMAT, QUEUE_FORMAT, Task, complaint, tasks};
use super::step::Step;
use crate::error::{Error, cause};
use crate::talk::{quoted, spans};

/// Slurm, for the tasks of one run.
#[derive(Clone, Debug)]
pub(super) struct Slurm {
    /// Name of the job that prepares.
    prepare: String,
    /// Name of the job whose tasks are the blocks.
    blocks: String,
    /// Further options for `sbatch`.
    options: Vec<String>,
}

impl Slurm {
    /// Returns the Slurm of a run. The jobs are named after the run, so that they can be found
    /// again.
    pub(super) fn new(order: &Order) -> Self {
        let blocks = format!("furlong-{}", order.run.id);
        Self {
            prepare: format!("{blocks}-prepare"),
            blocks,
            options: order.slurm.clone(),
        }
    }

    /// Submits steps. Blocks begin after the preparation has succeeded, if it is among the steps.
    ///
    /// # Shapes
    ///
    /// `steps` are in ascending order.
    pub(super) fn submit(&self, dir: &Dir, steps: &[Step]) -> Result<(), Error> {
        let mut after = None;
        if steps.first() == Some(&Step::Prepare) {
            let how = [format!("--job-name={}", self.prepare)];
            after = Some(self.sbatch(dir, "prepare", "--prepare", &how)?);
        }
        let numbers = steps.iter().filter_map(|step| match step {
            Step::Prepare => None,
            Step::Block(number) => Some(*number),
        });
        let array = array(numbers);
        if array.is_empty() {
            return Ok(());
        }
        let mut how = vec![
            format!("--job-name={}", self.blocks),
            format!("--array={array}"),
        ];
        if let Some(job) = after {
            how.push(format!("--dependency=afterok:{job}"));
            how.push("--kill-on-invalid-dep=yes".to_owned());
        }
        self.sbatch(dir, "block-%a", "--block \"$SLURM_ARRAY_TASK_ID\"", &how)
            .map(drop)
    }

    /// Submits a job and returns its number.
    fn sbatch(&self, dir: &Dir, log: &str, what: &str, how: &[String]) -> Result<String, Error> {
        let shown = |path: &Path| quoted(&path.display().to_string());
        let (program, place) = (shown(&dir.program()), shown(dir.path()));
        let output = dir.log(log);
        let mut sbatch = Command::new("sbatch");
        sbatch.args(["--parsable", "--nodes=1", "--ntasks=1", "--exclusive"]);
        sbatch.args(["--requeue", "--open-mode=append"]);
        sbatch.arg(format!("--output={}", output.display()));
        sbatch.args(how).args(&self.options);
        sbatch.arg(format!("--wrap=exec {program} task {place} {what}"));
        let said = answer(sbatch)
            .map_err(|why| Error::failed(format!("sbatch refuses the tasks: {why}")))?;
        // The name of the cluster may follow a semicolon.
        Ok(said.trim().split(';').next().unwrap_or("").to_owned())
    }

    /// Returns the run's tasks as far as Slurm remembers them, each once, or the reason why it does
    /// not answer.
    pub(super) fn tasks(&self) -> Result<Vec<Task>, String> {
        let names = format!("--name={},{}", self.prepare, self.blocks);
        let mut squeue = Command::new("squeue");
        squeue.args(["--noheader", "--states=all", "--array", &names]);
        squeue.arg(format!("--format={QUEUE_FORMAT}"));
        let said = answer(squeue)?;
        Ok(tasks(&said, &self.prepare, &self.blocks))
    }

    /// Returns the same from the accounting, which has tasks that ended long ago; empty if there is
    /// no accounting.
    pub(super) fn past_tasks(&self) -> Vec<Task> {
        let names = format!("--name={},{}", self.prepare, self.blocks);
        let mut sacct = Command::new("sacct");
        sacct.args(["-X", "--noheader", "--parsable2", &names]);
        sacct.arg(format!("--format={ACCOUNT_FORMAT}"));
        let said = answer(sacct).unwrap_or_default();
        tasks(&said, &self.prepare, &self.blocks)
    }

    /// Cancels the run's tasks that have not ended.
    pub(super) fn cancel(&self) -> Result<(), String> {
        for name in [&self.prepare, &self.blocks] {
            let mut scancel = Command::new("scancel");
            scancel.args(["--quiet", &format!("--name={name}")]);
            answer(scancel)?;
        }
        Ok(())
    }
}

/// Checks that Slurm answers and would accept such tasks, before anything is begun.
///
/// # Errors
///
/// The problem, with a remedy.
pub(super) fn check(options: &[String]) -> Result<(), Error> {
    let mut ping = Command::new("scontrol");
    ping.arg("ping");
    let pinged = run(ping).map_err(|error| Error::usage(absent(&error)))?;
    if !pinged.status.success() {
        let said = String::from_utf8_lossy(&pinged.stdout);
        let why = match said.lines().find(|line| line.contains("DOWN")) {
            Some(line) => line.trim().to_owned(),
            None => complaint(&String::from_utf8_lossy(&pinged.stderr)),
        };
        return Err(Error::usage(format!(
            "Slurm does not answer ({why}): start slurmctld and munged, or set SLURM_CONF to the \
             path of its configuration"
        )));
    }
    let mut test = Command::new("sbatch");
    test.args(["--test-only", "--nodes=1", "--ntasks=1", "--exclusive"]);
    test.args(options).arg("--wrap=true");
    answer(test)
        .map(drop)
        .map_err(|why| Error::usage(format!("sbatch would refuse the tasks: {why}")))
}

/// Runs a program of Slurm and returns its output, or its error message.
pub(super) fn answer(command: Command) -> Result<String, String> {
    let output = run(command).map_err(|error| absent(&error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(complaint(&String::from_utf8_lossy(&output.stderr)))
}

fn run(mut command: Command) -> io::Result<Output> {
    // The output has to be in a fixed format.
    command.env("LC_ALL", "C").stdin(Stdio::null()).output()
}

/// Returns the message for a program of Slurm that cannot be run.
pub(super) fn absent(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::NotFound {
        return "Slurm's programs are not on this machine: install them (on Debian: apt-get install \
                slurm-client), or run it here with --on local"
            .to_owned();
    }
    format!("Slurm's programs cannot be run: {}", cause(error))
}

/// Formats numbers for a Slurm array: `1-3,5`.
fn array(numbers: impl Iterator<Item = u32>) -> String {
    spans(numbers).join(",")
}

#[cfg(test)]
mod tests {
    use super::array;

    #[test]
    fn an_array_is_told_in_spans() {
        assert_eq!(array([1, 2, 3, 5, 7, 8].into_iter()), "1-3,5,7-8");
        assert_eq!(array([4].into_iter()), "4");
        assert_eq!(array([].into_iter()), "");
    }
}
