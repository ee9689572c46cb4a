//! The results of a step, in a file that is written as a whole or not at all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::cause;
use crate::fleet::order::Order;
use crate::fleet::step::Step;
use crate::measure::campaign::End;
use crate::model::result::Machine;
use crate::record::line::Line;
use crate::record::place::write_private;

/// The `schema` of a part.
const SCHEMA: &str = "furlong.part/1";

/// The results of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Always `furlong.part/1`.
    pub schema: String,
    /// The run.
    pub run: String,
    /// The step.
    pub step: Step,
    /// Processes that worked at it, one after the other: a task may be restarted, on another node.
    pub stints: Vec<Stint>,
}

/// One process that worked at a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stint {
    /// Node, by its name in Slurm.
    pub node: String,
    /// Machine of the node.
    pub machine: Machine,
    /// Job and task, if Slurm started it.
    pub job: Option<String>,
    /// Number of times that Slurm had started the task before.
    pub restarts: u32,
    /// Start, RFC 3339.
    pub started: String,
    /// Results.
    pub lines: Vec<Line>,
    /// End; `None` while it works, or if it was killed.
    pub end: Option<End>,
}

impl Part {
    /// Returns a part without stints.
    pub fn new(run: &str, step: Step) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            run: run.to_owned(),
            step,
            stints: vec![],
        }
    }

    /// Reads a step's part; `None` if there is no file yet.
    ///
    /// # Errors
    ///
    /// The reason why the file cannot be used: the rest of a sentence that begins with its path.
    pub fn read(path: &Path, order: &Order, step: Step) -> Result<Option<Self>, String> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("cannot be read ({})", cause(&error))),
        };
        if bytes.is_empty() {
            return Err("is empty".to_owned());
        }
        let part: Self = serde_json::from_slice(&bytes).map_err(|error| {
            if error.is_eof() {
                "is cut off".to_owned()
            } else {
                format!("is damaged ({error})")
            }
        })?;
        part.check(order, step).map(|()| Some(part))
    }

    fn check(&self, order: &Order, step: Step) -> Result<(), String> {
        if self.schema != SCHEMA {
            return Err(format!("is `{}`, not {SCHEMA}", self.schema));
        }
        if self.run != order.run.id {
            return Err(format!("is of run {}", self.run));
        }
        if self.step != step {
            return Err(format!("is a copy of the part of {}", self.step));
        }
        let blank = order.schedule.blank(order.run.clone());
        let belongs = |line: &Line| {
            let of_step = match (line, step) {
                (Line::Block { block, .. }, Step::Block(number)) => block.number == number,
                (Line::Block { .. }, Step::Prepare) => false,
                _ => true,
            };
            of_step && line.fits(&blank)
        };
        if self.lines().all(|(_, line)| belongs(line)) {
            Ok(())
        } else {
            Err(format!("contains samples that do not belong to {step}"))
        }
    }

    /// Returns all results, each with its node.
    pub fn lines(&self) -> impl Iterator<Item = (&str, &Line)> {
        self.stints
            .iter()
            .flat_map(|stint| stint.lines.iter().map(|line| (stint.node.as_str(), line)))
    }

    /// Returns the end of the last stint.
    pub fn end(&self) -> Option<&End> {
        self.stints.last()?.end.as_ref()
    }

    /// True if the step is done.
    pub fn is_whole(&self) -> bool {
        self.end() == Some(&End::Finished)
    }

    /// Writes the part.
    ///
    /// # Errors
    ///
    /// The system's error; the file is unchanged.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let text = serde_json::to_string(self).map_err(io::Error::other)?;
        write_private(path, &text)
    }
}

/// Renames a file that cannot be used, so that it is not read but kept.
///
/// # Errors
///
/// The system's error.
pub(in crate::fleet) fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let free = (1..).map(|copy| path.with_extension(format!("json.aside-{copy}")));
    let aside = free
        .into_iter()
        .find(|path| !path.exists())
        .unwrap_or_else(|| path.with_extension("json.aside"));
    fs::rename(path, &aside)?;
    Ok(aside)
}
