//! A task on an exclusive node whose output is awaited, for work that decides what comes next.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::slurm::{absent, answer, check};
use crate::error::{Error, cause};
use crate::measure::interrupt::Interrupt;
use crate::session::new_id;

/// Interval between two looks for a signal.
const LOOK: Duration = Duration::from_millis(50);

/// Lines of a complaint.
const COMPLAINTS: usize = 3;

/// Slurm, for such tasks one after the other.
pub struct Awaited {
    /// Name of all of them. No other furlong has it, so that one cancels its own tasks only.
    name: String,
    /// Further options for `srun`.
    options: Vec<String>,
}

/// The end of a task.
pub struct Answer {
    /// Its standard output.
    pub text: String,
    /// Complaints about it: its own, and those of srun.
    pub complaint: String,
}

impl Awaited {
    /// Checks that Slurm answers and would accept such tasks.
    ///
    /// # Errors
    ///
    /// The problem, with a remedy.
    pub fn new(options: &[String]) -> Result<Self, Error> {
        check(options)?;
        Ok(Self {
            name: format!("furlong-{}", new_id()?),
            options: options.to_vec(),
        })
    }

    /// Runs this executable on a node of its own, and waits for its end. A signal cancels it.
    ///
    /// # Errors
    ///
    /// `srun` cannot be started.
    pub fn run(&self, words: &[&str], interrupt: &Interrupt) -> Result<Answer, Error> {
        let mut srun = Command::new("srun");
        srun.args(["--nodes=1", "--ntasks=1", "--exclusive", "--quiet"]);
        srun.arg(format!("--job-name={}", self.name));
        srun.args(&self.options).arg(own_path()?).args(words);
        srun.env("LC_ALL", "C").stdin(Stdio::null());
        srun.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = srun.spawn().map_err(|error| Error::usage(absent(&error)))?;
        let (sender, ended) = mpsc::channel();
        thread::spawn(move || sender.send(child.wait_with_output()));
        let mut cancelled = false;
        let output = loop {
            match ended.recv_timeout(LOOK) {
                Ok(output) => break output,
                Err(RecvTimeoutError::Timeout) if interrupt.signal().is_some() && !cancelled => {
                    cancelled = true;
                    self.cancel();
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::failed("the end of srun was missed"));
                }
            }
        };
        let output =
            output.map_err(|error| Error::failed(format!("srun was lost: {}", cause(&error))))?;
        Ok(Answer {
            text: String::from_utf8_lossy(&output.stdout).into_owned(),
            complaint: complaints(&String::from_utf8_lossy(&output.stderr)),
        })
    }

    /// Cancels the task. If Slurm does not answer, srun itself has the signal too.
    fn cancel(&self) {
        let mut scancel = Command::new("scancel");
        scancel.args(["--quiet", &format!("--name={}", self.name)]);
        let _ = answer(scancel);
    }
}

/// The path of this executable on every node.
fn own_path() -> Result<PathBuf, Error> {
    std::env::current_exe().map_err(|error| {
        let why = cause(&error);
        Error::failed(format!("the path of furlong is not known: {why}"))
    })
}

/// Joins the first lines of a task that failed.
fn complaints(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| line.strip_prefix("srun: error: ").unwrap_or(line));
    let lines = lines.map(str::trim).filter(|line| !line.is_empty());
    lines.take(COMPLAINTS).collect::<Vec<_>>().join("; ")
}
