//! Options that several verbs share, as plain values with the user's defaults applied.

pub mod settings;

use std::path::PathBuf;

use clap::ValueEnum;
use serde::Deserialize;

use crate::model::result::{ExperimentResult, Verdict};
use crate::record::class::class;
use crate::record::judged::{deciding, regressions};
use crate::record::place::data_dir;
use crate::record::store::Location;
use crate::report::Targets;
use crate::talk::Voice;
pub use settings::Settings;

/// Options of an invocation, except those of the measuring.
pub struct Options<'a> {
    /// The user's defaults.
    pub settings: &'a Settings,
    /// Location of the record.
    pub database: &'a Database,
    /// Destinations of the reports.
    pub targets: Targets,
    /// True if a page is written to the user's data directory.
    pub page: bool,
    /// Verdicts that fail the command.
    pub fail_on: Vec<FailOn>,
    /// Amount of messages.
    pub voice: Voice,
    /// True if all tables are shown, not only the answer.
    pub details: bool,
}

/// Destinations of reports besides the terminal.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Reports")]
pub struct Reports {
    /// Write the result as JSON (`furlong.result/1`); `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write every sample as CSV; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write the report as Markdown; `-` is standard output
    #[arg(long, visible_alias = "markdown", value_name = "FILE")]
    pub md: Option<PathBuf>,
    /// Write the report as one HTML file; `-` is standard output, `none` writes none
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the result as JUnit XML, one test case per arm and workload; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

/// Word that means "no file" in the place of a file.
const NONE: &str = "none";

impl Reports {
    /// Returns the reports that were requested, by options or in the settings.
    pub fn targets(&self, settings: &Settings) -> Targets {
        let first = |given: &Option<PathBuf>, default: &Option<PathBuf>| {
            let path = given.clone().or_else(|| default.clone());
            path.filter(|path| path.as_os_str() != NONE)
        };
        Targets {
            json: first(&self.json, &settings.json),
            csv: first(&self.csv, &settings.csv),
            markdown: first(&self.md, &settings.md),
            html: first(&self.html, &settings.html),
            junit: first(&self.junit, &settings.junit),
            ..Targets::default()
        }
    }

    /// True if the user gave `--html none`.
    pub fn no_html(&self, settings: &Settings) -> bool {
        let path = self.html.as_ref().or(settings.html.as_ref());
        path.is_some_and(|path| path.as_os_str() == NONE)
    }
}

/// Options for the source and the destinations of a result.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Showing {
    /// Location of the record.
    #[command(flatten)]
    pub database: Database,
    /// Amount of messages.
    #[command(flatten)]
    pub talk: Talk,
    /// Show every metric, table and warning, not only the answer
    #[arg(long)]
    pub details: bool,
    /// Destinations of the reports. This comes last, because options after it would be listed under
    /// its heading.
    #[command(flatten)]
    pub reports: Reports,
}

impl Showing {
    /// Combines these options with the settings and `--fail-on`.
    pub fn options<'a>(&'a self, settings: &'a Settings, fail_on: &[FailOn]) -> Options<'a> {
        Options {
            settings,
            database: &self.database,
            targets: self.reports.targets(settings),
            page: !self.reports.no_html(settings) && !self.database.none(settings),
            fail_on: settings.fail_on(fail_on),
            voice: self.talk.voice(settings),
            details: self.details,
        }
    }
}

/// Destinations of a page besides the terminal.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Pages {
    /// Write the figures as JSON, whose field `schema` names its form; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the page as Markdown; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub md: Option<PathBuf>,
    /// Write the page as one HTML file; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// The option that conflicts with those that are fixed when a run begins: a resumed one cannot
/// differ.
pub const RESUME: &str = "resume";

/// Words that are kept with a run.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Marks {
    /// A name to find the run by
    #[arg(long, value_name = "NAME", conflicts_with = RESUME)]
    pub tag: Option<String>,
    /// A remark to keep with the run
    #[arg(long, value_name = "TEXT", conflicts_with = RESUME)]
    pub note: Option<String>,
    /// Count this machine as one of a class, such as the machines of a CI: `history`, `latest`,
    /// `pinned` and `diff` take all of them for one
    #[arg(long, value_name = "NAME", value_parser = class, conflicts_with = RESUME)]
    pub machine_class: Option<String>,
}

impl Marks {
    /// Returns the words of a new run, from the options or the settings.
    pub fn words(&self, settings: &Settings) -> Marks {
        let first = |given: &Option<String>, default: &Option<String>| {
            given.clone().or_else(|| default.clone())
        };
        Marks {
            tag: first(&self.tag, &settings.tag),
            note: first(&self.note, &settings.note),
            machine_class: first(&self.machine_class, &settings.machine_class),
        }
    }
}

/// Location of the record.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Database {
    /// Database of runs: a file or the URL of a server (postgres://USER@HOST/NAME); `none` keeps no
    /// record [default: furlong.db in the user's data directory]
    #[arg(long, value_name = "FILE", env = "FURLONG_DB", hide_env_values = true)]
    pub db: Option<PathBuf>,
}

impl Database {
    /// Returns its location, from the option or the settings. `None` if no record is wanted, or if
    /// neither an option nor a home directory gives a location.
    pub fn location(&self, settings: &Settings) -> Option<Location> {
        match self.db.as_ref().or(settings.db.as_ref()) {
            Some(path) if path.as_os_str() == NONE => None,
            Some(path) => Some(Location::of(path)),
            None => default_database(),
        }
    }

    /// True if the user gave `--db none`.
    pub fn none(&self, settings: &Settings) -> bool {
        let path = self.db.as_ref().or(settings.db.as_ref());
        path.is_some_and(|path| path.as_os_str() == NONE)
    }
}

/// Amount of messages.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Talk {
    /// Print no progress and no notes
    #[arg(short, long)]
    pub quiet: bool,
}

impl Talk {
    /// Returns the voice, from the option or the settings.
    pub fn voice(self, settings: &Settings) -> Voice {
        if self.quiet || settings.quiet {
            Voice::Quiet
        } else {
            Voice::Normal
        }
    }
}

/// A verdict that fails the command (`--fail-on`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailOn {
    /// Some arm is worse in the primary metric.
    Revert,
    /// Some comparison of the primary metric could not be decided.
    Inconclusive,
    /// Some arm is worse in the primary metric, or takes more instructions and is not better.
    Regression,
}

impl FailOn {
    /// True if this verdict fails the command.
    pub(crate) fn holds(self, verdict: Verdict) -> bool {
        match self {
            Self::Revert | Self::Regression => verdict == Verdict::Revert,
            Self::Inconclusive => verdict == Verdict::Inconclusive,
        }
    }

    /// True if this experiment fails the command.
    pub(crate) fn fails(self, experiment: &ExperimentResult) -> bool {
        match self {
            Self::Regression => regressions(experiment).next().is_some(),
            _ => deciding(experiment).any(|(_, one)| self.holds(one.verdict)),
        }
    }
}

/// Maximum margin, in per cent. Nothing exceeds a larger one, which is more than ten times the
/// baseline.
pub(crate) const PERCENT_MAX: f64 = 1000.0;

/// Parses a percentage from 0 to `PERCENT_MAX`, with or without the sign `%`.
///
/// # Errors
///
/// A description of a valid percentage.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    match number.parse::<f64>() {
        Ok(value) if (0.0..=PERCENT_MAX).contains(&value) => Ok(value),
        _ => Err(format!(
            "give a percentage from 0 to {PERCENT_MAX}, for example 0.5"
        )),
    }
}

/// Maximum timeout in seconds.
pub(crate) const SECONDS_MAX: f64 = 1e9;

/// Parses a number of seconds greater than 0.
///
/// # Errors
///
/// A description of a valid number of seconds.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.trim().trim_end_matches('s').parse::<f64>() {
        Ok(value) if value > 0.0 && value <= SECONDS_MAX => Ok(value),
        _ => Err("give a number of seconds above 0, for example 30".to_owned()),
    }
}

/// Returns the default location of the record.
pub fn default_database() -> Option<Location> {
    data_dir().map(|dir| Location::File(dir.join("furlong.db")))
}

#[cfg(test)]
mod tests {
    use super::{percent, seconds};

    #[test]
    fn per_cent_may_have_its_sign() {
        assert_eq!(percent("0.5"), Ok(0.5));
        assert_eq!(percent("2 %"), Ok(2.0));
        assert_eq!(percent("1000"), Ok(1000.0));
        for wrong in ["", "-1", "nan", "inf", "five", "1%2", "1001", "1e308"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn seconds_are_more_than_none() {
        assert_eq!(seconds("30"), Ok(30.0));
        assert_eq!(seconds("1.5s"), Ok(1.5));
        for wrong in ["", "0", "-1", "nan", "inf", "1e300", "soon"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
