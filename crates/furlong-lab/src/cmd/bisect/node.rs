//! Blocks as tasks on nodes of a Slurm cluster. The search itself stays here.

use std::process::ExitCode;

use serde::{Deserialize, Serialize};

use super::pair::{Fault, Measured, Pair, Runner};
use crate::error::{Error, Exit};
use crate::fleet::Awaited;
use crate::measure::interrupt::Interrupt;
use crate::talk::{Voice, data};

/// Times that a task is tried again whose node fails.
const AGAIN: u32 = 2;

/// Blocks of a pair, for a node.
#[derive(Debug, Serialize, Deserialize)]
struct Task {
    pair: Pair,
    first: u32,
    count: u32,
}

/// Measures blocks on a node, of numbers from `first` on. A task that its node has lost is tried
/// again.
///
/// # Errors
///
/// Slurm cannot run it.
pub(super) fn measure(
    slurm: &Awaited,
    pair: &Pair,
    (first, count): (u32, u32),
    interrupt: &Interrupt,
    voice: Voice,
) -> Result<Measured, Error> {
    let task = Task {
        pair: pair.clone(),
        first,
        count,
    };
    let task = serde_json::to_string(&task).map_err(|error| Error::failed(error.to_string()))?;
    let mut again = AGAIN;
    loop {
        let answer = slurm.run(&["task", "--search", &task], interrupt)?;
        let measured = answer.text.lines().next_back();
        let measured = measured.and_then(|line| serde_json::from_str(line).ok());
        if interrupt.signal().is_some() {
            let fault = Some(Fault::Interrupted);
            let measured: Measured = measured.unwrap_or_default();
            return Ok(Measured { fault, ..measured });
        }
        match measured {
            Some(measured) => return Ok(measured),
            None if again > 0 => voice.warn(&format!(
                "a task gave no blocks, and is tried again ({})",
                answer.complaint
            )),
            None => {
                return Err(Error::failed(format!(
                    "srun gives no blocks: {}; furlong, its cache and the checkouts in it must be \
                     on every node by the same path (XDG_CACHE_HOME)",
                    answer.complaint
                )));
            }
        }
        again -= 1;
    }
}

/// Does such a task, and prints what it measured.
///
/// # Errors
///
/// The task cannot be read, or its commands cannot be run here.
pub(in crate::cmd) fn work(task: &str) -> Result<ExitCode, Error> {
    let task: Task = serde_json::from_str(task)
        .map_err(|error| Error::usage(format!("this is no task of a search: {error}")))?;
    let interrupt = Interrupt::listen()?;
    let measured = Runner::new(task.pair, &interrupt)?.measure(task.first, task.count);
    let line =
        serde_json::to_string(&measured).map_err(|error| Error::failed(error.to_string()))?;
    data(&format!("{line}\n"))?;
    Ok(Exit::Done.into())
}
