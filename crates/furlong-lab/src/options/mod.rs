//! Options that several verbs share, as plain values, with the user's defaults applied.
#![forbid(unsafe_code)]

pub mod settings;

use std::path::PathBuf;

use clap::ValueEnum;
use serde::Deserialize;

use crate::record::place::data_dir;
use crate::record::store::Location;
use crate::report::{Form, Targets};
use crate::talk::Voice;
pub use settings::Settings;

/// What an invocation was told about everything but the measuring.
pub struct Options<'a> {
    /// The user's defaults.
    pub settings: &'a Settings,
    /// Where the record is.
    pub database: &'a Database,
    /// What stands on standard output.
    pub form: Form,
    /// Where the reports go.
    pub targets: Targets,
    /// Whether to leave a page in the user's data directory.
    pub page: bool,
    /// Verdicts that fail the command.
    pub fail_on: Vec<FailOn>,
    /// How much is said.
    pub voice: Voice,
}

/// Where reports go besides the terminal.
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
    #[arg(long, value_name = "FILE")]
    pub md: Option<PathBuf>,
    /// Write the report as one HTML file; `-` is standard output, `none` writes none
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the result as JUnit XML, an arm on a workload a test case; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

/// The word for "not at all" in the place of a file.
const NONE: &str = "none";

impl Reports {
    /// The reports that were asked for, here or in the settings.
    #[must_use]
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
        }
    }

    /// Whether the user said `--html none`.
    #[must_use]
    pub fn no_html(&self, settings: &Settings) -> bool {
        let path = self.html.as_ref().or(settings.html.as_ref());
        path.is_some_and(|path| path.as_os_str() == NONE)
    }
}

/// How a result is shown, and where it comes from or goes to.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Showing {
    /// What is printed on standard output [default: table]
    #[arg(long, value_name = "FORM")]
    pub format: Option<Form>,
    /// Where the record is.
    #[command(flatten)]
    pub database: Database,
    /// How much is said.
    #[command(flatten)]
    pub talk: Talk,
    /// Where the reports go; what came after them would stand under their heading.
    #[command(flatten)]
    pub reports: Reports,
}

impl Showing {
    /// What an invocation is told by these options and the settings, and by its `--fail-on`.
    #[must_use]
    pub fn options<'a>(&'a self, settings: &'a Settings, fail_on: &[FailOn]) -> Options<'a> {
        Options {
            settings,
            database: &self.database,
            form: settings.form(self.format),
            targets: self.reports.targets(settings),
            page: !self.reports.no_html(settings) && !self.database.none(settings),
            fail_on: settings.fail_on(fail_on),
            voice: self.talk.voice(settings),
        }
    }
}

/// Where a page goes besides the terminal.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Pages {
    /// Write the figures as JSON (`furlong.history/1`, `furlong.diff/1`, `furlong.seeds/1`); `-` is
    /// standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the page as Markdown; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub md: Option<PathBuf>,
    /// Write the page as one HTML file; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Where the record is.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Database {
    /// The database of runs, a file or the URL of a server (postgres://USER@HOST/NAME); `none`
    /// keeps no record [default: furlong.db in the user's data directory]
    #[arg(long, value_name = "FILE", env = "FURLONG_DB", hide_env_values = true)]
    pub db: Option<PathBuf>,
}

impl Database {
    /// Where it is, here or in the settings; `None` where no record is wanted, or where neither an
    /// option nor a home directory says where it could be.
    #[must_use]
    pub fn location(&self, settings: &Settings) -> Option<Location> {
        match self.db.as_ref().or(settings.db.as_ref()) {
            Some(path) if path.as_os_str() == NONE => None,
            Some(path) => Some(Location::of(path)),
            None => default_database(),
        }
    }

    /// Whether the user said `--db none`.
    #[must_use]
    pub fn none(&self, settings: &Settings) -> bool {
        let path = self.db.as_ref().or(settings.db.as_ref());
        path.is_some_and(|path| path.as_os_str() == NONE)
    }
}

/// How much is said.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Talk {
    /// No progress and no notes
    #[arg(short, long)]
    pub quiet: bool,
}

impl Talk {
    /// Here or in the settings.
    #[must_use]
    pub fn voice(self, settings: &Settings) -> Voice {
        if self.quiet || settings.quiet {
            Voice::Quiet
        } else {
            Voice::Normal
        }
    }
}

/// A verdict that should fail the command (`--fail-on`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailOn {
    /// Some arm is worse in the primary metric.
    Revert,
    /// Some comparison of the primary metric could not be decided.
    Inconclusive,
}

/// A margin of more is one that nothing exceeds: ten times the baseline and more.
pub(crate) const PERCENT_MAX: f64 = 1000.0;

/// A number of per cent from 0 to `PERCENT_MAX`; the sign `%` may be there.
///
/// # Errors
///
/// What a number of per cent looks like.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    match number.parse::<f64>() {
        Ok(value) if (0.0..=PERCENT_MAX).contains(&value) => Ok(value),
        _ => Err(format!(
            "give a number of per cent from 0 to {PERCENT_MAX}, for example 0.5"
        )),
    }
}

/// Nobody waits longer for a sample.
pub(crate) const SECONDS_MAX: f64 = 1e9;

/// A number of seconds that is more than 0.
///
/// # Errors
///
/// What a number of seconds looks like.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.trim().trim_end_matches('s').parse::<f64>() {
        Ok(value) if value > 0.0 && value <= SECONDS_MAX => Ok(value),
        _ => Err("give a number of seconds that is more than 0, for example 30".to_owned()),
    }
}

/// Where the record is when nobody says anything.
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
