//! `furlong.toml`: the user's defaults for options, in this directory or one above it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{FailOn, PERCENT_MAX, SECONDS_MAX};
use crate::error::{Error, cause};
use crate::model::Counters;
use crate::model::Profile;
use crate::record::class::class;
use crate::record::store::is_url;

/// Name of the file.
const NAME: &str = "furlong.toml";

/// The defaults, named like their options.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// `--profile`.
    pub profile: Option<Profile>,
    /// `--blocks`.
    pub blocks: Option<u32>,
    /// `--seed`.
    pub seed: Option<u64>,
    /// `--margin`.
    pub margin: Option<f64>,
    /// `--counters`.
    pub counters: Option<Counters>,
    /// `--timeout`.
    pub timeout: Option<f64>,
    /// `--db`.
    pub db: Option<PathBuf>,
    /// `--json`.
    pub json: Option<PathBuf>,
    /// `--csv`.
    pub csv: Option<PathBuf>,
    /// `--md`.
    pub md: Option<PathBuf>,
    /// `--html`.
    pub html: Option<PathBuf>,
    /// `--junit`.
    pub junit: Option<PathBuf>,
    /// `--tag`.
    pub tag: Option<String>,
    /// `--note`.
    pub note: Option<String>,
    /// `--machine-class`.
    pub machine_class: Option<String>,
    /// `--fail-on`.
    pub fail_on: Option<Vec<FailOn>>,
    /// `--quiet`.
    #[serde(default)]
    pub quiet: bool,
}

impl Settings {
    /// Reads the nearest file at or above the working directory.
    ///
    /// # Errors
    ///
    /// Those of [`Settings::find`].
    pub fn of_here() -> Result<Settings, Error> {
        match std::env::current_dir() {
            Ok(dir) => Settings::find(&dir),
            // Without a working directory there is no file to search.
            Err(_) => Ok(Settings::default()),
        }
    }

    /// Reads the nearest file at or above `start`; without a file, all defaults are empty.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has a value that no option has.
    pub fn find(start: &Path) -> Result<Settings, Error> {
        for dir in start.ancestors() {
            let path = dir.join(NAME);
            match fs::read_to_string(&path) {
                Ok(text) => return Settings::parse(&text, &path),
                Err(error) if absent(&error) => {}
                Err(error) => {
                    return Err(Error::usage(format!(
                        "cannot read {}: {}",
                        path.display(),
                        cause(&error)
                    )));
                }
            }
        }
        Ok(Settings::default())
    }

    /// Returns the verdicts that fail a command: the option, else the default here.
    pub fn fail_on(&self, option: &[FailOn]) -> Vec<FailOn> {
        match option {
            [] => self.fail_on.clone().unwrap_or_default(),
            given => given.to_vec(),
        }
    }

    fn parse(text: &str, path: &Path) -> Result<Settings, Error> {
        let wrong = |what: String| Error::usage(format!("{}: {what}", path.display()));
        let mut settings: Settings = toml::from_str(text).map_err(|error| {
            let line = error
                .span()
                .map(|span| text[..span.start].matches('\n').count() + 1);
            let line = line.map_or_else(String::new, |line| format!("line {line}: "));
            wrong(format!("{line}{}", error.message()))
        })?;
        if settings.blocks == Some(0) {
            return Err(wrong("`blocks` must be at least 1".to_owned()));
        }
        if settings
            .margin
            .is_some_and(|pct| !(0.0..=PERCENT_MAX).contains(&pct))
        {
            return Err(wrong(format!(
                "`margin` must be a number from 0 to {PERCENT_MAX}"
            )));
        }
        if settings
            .timeout
            .is_some_and(|s| !(s > 0.0 && s <= SECONDS_MAX))
        {
            return Err(wrong(
                "`timeout` must be a number of seconds above 0".to_owned(),
            ));
        }
        if let Some(Err(what)) = settings.machine_class.as_deref().map(class) {
            return Err(wrong(format!("`machine-class`: {what}")));
        }
        let dir = path.parent().unwrap_or(Path::new(""));
        let Settings {
            db,
            json,
            csv,
            md,
            html,
            junit,
            ..
        } = &mut settings;
        for file in [db, json, csv, md, html, junit].into_iter().flatten() {
            let word = file.to_str();
            if !matches!(word, Some("-" | "none")) && !word.is_some_and(is_url) {
                *file = dir.join(&file);
            }
        }
        Ok(settings)
    }
}

fn absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::Settings;
    use crate::model::Profile;
    fn parsed(text: &str) -> Result<Settings, String> {
        Settings::parse(text, Path::new("/home/me/furlong.toml")).map_err(|error| error.message)
    }

    #[test]
    fn the_nearest_file_above_is_read() {
        let home = tempfile::tempdir().unwrap();
        let deep = home.path().join("a").join("b");
        fs::create_dir_all(&deep).unwrap();
        assert_eq!(Settings::find(&deep).unwrap(), Settings::default());
        fs::write(
            home.path().join("furlong.toml"),
            "profile = 'full'\nblocks = 20\n",
        )
        .unwrap();
        assert_eq!(Settings::find(&deep).unwrap().profile, Some(Profile::Full));
        fs::write(deep.join("furlong.toml"), "profile = 'smoke'").unwrap();
        let nearest = Settings::find(&deep).unwrap();
        assert_eq!(
            (nearest.profile, nearest.blocks),
            (Some(Profile::Smoke), None)
        );
    }

    #[test]
    fn a_path_is_meant_from_where_the_file_is() {
        let settings =
            parsed("db = 'x.db'\njson = '-'\nhtml = 'none'\ncsv = '/tmp/a.csv'").unwrap();
        assert_eq!(settings.db.as_deref(), Some(Path::new("/home/me/x.db")));
        assert_eq!(settings.json.as_deref(), Some(Path::new("-")));
        assert_eq!(settings.html.as_deref(), Some(Path::new("none")));
        assert_eq!(settings.csv.as_deref(), Some(Path::new("/tmp/a.csv")));
        let server = "postgres://lab@db/furlong";
        let settings = parsed(&format!("db = '{server}'")).unwrap();
        assert_eq!(settings.db.as_deref(), Some(Path::new(server)));
    }

    #[test]
    fn what_no_option_says_is_refused_with_its_line() {
        let wrong = parsed("blocks = 3\nprofil = 'full'\n").unwrap_err();
        assert!(
            wrong.starts_with("/home/me/furlong.toml: line 2: "),
            "{wrong}"
        );
        assert!(wrong.contains("profil"), "{wrong}");
        assert!(parsed("profile = 'fast'").unwrap_err().contains("fast"));
        assert!(parsed("blocks = 0").unwrap_err().contains("at least 1"));
        assert!(parsed("margin = nan").unwrap_err().contains("`margin`"));
        assert!(parsed("margin = -1").unwrap_err().contains("`margin`"));
        assert!(parsed("margin = 1001").unwrap_err().contains("1000"));
        assert!(
            parsed("machine-class = 'a b'")
                .unwrap_err()
                .contains("`machine-class`")
        );
        assert!(parsed("timeout = 0").unwrap_err().contains("`timeout`"));
        assert!(parsed("blocks = ").unwrap_err().contains("line 1"));
    }
}
