//! The order of a fleet, decided before anything is submitted.

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{Error, cause};
use crate::fleet::Dir;
use crate::model::Schedule;
use crate::model::result::Run;
use crate::record::place::write_private;

/// The `schema` of an order.
const SCHEMA: &str = "furlong.fleet/1";

/// Everything that a fleet runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Always `furlong.fleet/1`.
    pub schema: String,
    /// The run that the parts belong to.
    pub run: Run,
    /// Its schedule.
    #[serde(rename = "agenda")]
    pub schedule: Schedule,
    /// Fingerprint of the executable of the tasks.
    pub binary: String,
    /// Location of the record; `None` if none is kept.
    pub db: Option<PathBuf>,
    /// Further options for `sbatch`.
    pub slurm: Vec<String>,
}

impl Order {
    /// Returns an order in the present format.
    pub fn new(run: Run, schedule: Schedule, binary: String) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            run,
            schedule,
            binary,
            db: None,
            slurm: vec![],
        }
    }

    /// Writes the order to its directory.
    ///
    /// # Errors
    ///
    /// It cannot be written, with the reason.
    pub fn write(&self, dir: &Dir) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(self);
        let written = text
            .map_err(std::io::Error::other)
            .and_then(|text| write_private(&dir.order(), &text));
        written.map_err(|error| {
            let path = dir.order();
            Error::failed(format!(
                "{} cannot be written: {}",
                path.display(),
                cause(&error)
            ))
        })
    }

    /// Reads the order of a directory.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is not an order.
    pub fn read(dir: &Dir) -> Result<Self, Error> {
        let path = dir.order();
        let refuse =
            |why: String| Error::usage(format!("{} {why}: begin a new run", path.display()));
        let text = fs::read_to_string(&path)
            .map_err(|error| refuse(format!("cannot be read ({})", cause(&error))))?;
        let order: Self = serde_json::from_str(&text).map_err(|error| {
            refuse(format!(
                "is damaged, or written by another furlong ({error})"
            ))
        })?;
        if order.schema != SCHEMA {
            return Err(refuse(format!("is `{}`, not {SCHEMA}", order.schema)));
        }
        Ok(order)
    }
}
