//! Destinations of exports in the formats of hyperfine.

use std::path::PathBuf;

use crate::error::Error;
use crate::model::result::ResultFile;
use crate::report::{RowOrder, Targets, TimeUnit, has_times};

/// Exports of the times of commands.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Exports in hyperfine's formats")]
pub struct Exports {
    /// Write the times of each command as JSON, as hyperfine does; `-` is standard output
    #[arg(long, value_name = "FILE")]
    export_json: Option<PathBuf>,
    /// Write a row of seconds per command as CSV, as hyperfine does; `-` is standard output
    #[arg(long, value_name = "FILE")]
    export_csv: Option<PathBuf>,
    /// Write a table of times as Markdown, as hyperfine does; `-` is standard output
    #[arg(long, value_name = "FILE")]
    export_markdown: Option<PathBuf>,
    /// Order of the rows of --export-markdown: auto and command keep that of the commands
    #[arg(long, value_name = "ORDER", default_value = "auto")]
    sort: RowOrder,
    /// Unit of times on the terminal and in --export-markdown [default: one that fits]
    #[arg(short = 'u', long, value_name = "UNIT")]
    time_unit: Option<TimeUnit>,
}

impl Exports {
    /// Adds these exports to the requested reports.
    pub fn with(&self, targets: Targets) -> Targets {
        Targets {
            export_json: self.export_json.clone(),
            export_csv: self.export_csv.clone(),
            export_markdown: self.export_markdown.clone(),
            sort: self.sort,
            time_unit: self.time_unit,
            ..targets
        }
    }

    /// Refuses a run without times of commands.
    ///
    /// # Errors
    ///
    /// An export was requested, and there is nothing to export.
    pub fn check(&self, result: &ResultFile) -> Result<(), Error> {
        let all = [
            ("--export-json", &self.export_json),
            ("--export-csv", &self.export_csv),
            ("--export-markdown", &self.export_markdown),
        ];
        match all.iter().find(|(_, path)| path.is_some()) {
            Some((option, _)) if !has_times(result) => Err(Error::usage(format!(
                "{option}: run {} has no times of commands: --json writes any run",
                result.run.id
            ))),
            _ => Ok(()),
        }
    }
}
