//! Destinations of reports. They are named and tried before a measurement, and written whole or not
//! at all.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::export::{csv, json, junit, markdown, timings};
use super::quantity::TimeUnit;
use super::{RowOrder, html};
use crate::error::{Error, cause};
use crate::model::result::ResultFile;

/// The requested reports; `-` is standard output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// `--json`.
    pub json: Option<PathBuf>,
    /// `--csv`.
    pub csv: Option<PathBuf>,
    /// `--md`.
    pub markdown: Option<PathBuf>,
    /// `--html`.
    pub html: Option<PathBuf>,
    /// `--junit`.
    pub junit: Option<PathBuf>,
    /// Exports of the times of commands.
    pub exports: Exports,
}

/// Exports of the times of commands.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
#[command(next_help_heading = "Exports in hyperfine's formats")]
pub struct Exports {
    /// Write the times of each command as JSON, as hyperfine does; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub export_json: Option<PathBuf>,
    /// Write a row of seconds per command as CSV, as hyperfine does; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub export_csv: Option<PathBuf>,
    /// Write a table of times as Markdown, as hyperfine does; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub export_markdown: Option<PathBuf>,
    /// Order of the rows of --export-markdown: auto and command keep that of the commands
    #[arg(long, value_name = "ORDER", default_value = "auto")]
    pub sort: RowOrder,
    /// Unit of times on the terminal and in --export-markdown [default: one that fits]
    #[arg(short = 'u', long, value_name = "UNIT")]
    pub time_unit: Option<TimeUnit>,
}

impl Exports {
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
            Some((option, _)) if !timings::has_times(result) => Err(Error::usage(format!(
                "{option}: run {} has no times of commands: --json writes any run",
                result.run.id
            ))),
            _ => Ok(()),
        }
    }
}

/// A file named by an option; `-` is standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// The option, with its dashes.
    pub option: &'static str,
    /// The option's value.
    pub path: &'a Path,
}

impl<'a> Target<'a> {
    /// The destination of `--json`, tested, if there is one.
    ///
    /// # Errors
    /// It could not be written.
    pub fn json(path: Option<&'a Path>) -> Result<Option<Self>, Error> {
        let option = "--json";
        let target = path.map(|path| Self { option, path });
        target.iter().try_for_each(Self::check)?;
        Ok(target)
    }

    /// True for standard output: messages must then go elsewhere.
    pub fn is_stdout(&self) -> bool {
        is_stdout(self.path)
    }

    /// Tests as much as is possible without changing anything.
    ///
    /// # Errors
    /// It could not be written.
    pub fn check(&self) -> Result<(), Error> {
        let tried = Place::of(self.path).and_then(|place| place.try_out());
        tried.map_err(|why| Error::usage(self.told(&why)))
    }

    /// Writes all of it or nothing. A closed standard output is not a failure.
    ///
    /// # Errors
    /// It could not be written.
    pub fn put(&self, bytes: &[u8]) -> Result<(), Error> {
        let put = Place::of(self.path).and_then(|place| place.put(bytes));
        put.map_err(|why| Error::failed(self.told(&why)))
    }

    fn told(&self, why: &str) -> String {
        format!("{} {}: {why}", self.option, self.path.display())
    }
}

/// Makes a report of a result.
type Render = fn(&ResultFile, &Exports) -> String;

impl Targets {
    /// Every requested report, with its option and its renderer.
    fn each(&self) -> impl Iterator<Item = (Target<'_>, Render)> {
        [
            (
                "--json",
                &self.json,
                (|file, _| json::render(file)) as Render,
            ),
            ("--csv", &self.csv, |file, _| csv::render(file)),
            ("--md", &self.markdown, |file, _| markdown::render(file)),
            ("--html", &self.html, |file, _| html::render(file)),
            ("--junit", &self.junit, |file, _| junit::render(file)),
            ("--export-json", &self.exports.export_json, |file, _| {
                timings::json(file)
            }),
            ("--export-csv", &self.exports.export_csv, |file, _| {
                timings::csv(file)
            }),
            (
                "--export-markdown",
                &self.exports.export_markdown,
                |file, of| timings::markdown(file, of.sort, of.time_unit),
            ),
        ]
        .into_iter()
        .filter_map(|(option, path, render)| {
            let path = path.as_deref()?;
            Some((Target { option, path }, render))
        })
    }

    /// True if a report goes to standard output: messages must then go elsewhere.
    pub fn uses_stdout(&self) -> bool {
        self.each().any(|(target, _)| target.is_stdout())
    }

    /// Tries every target before anything is measured. Leaves no file behind.
    ///
    /// # Errors
    /// The first target that could not be written, or that is named twice.
    pub fn check(&self) -> Result<(), Error> {
        let mut seen: Vec<(&'static str, PathBuf)> = vec![];
        for (target, _) in self.each() {
            target.check()?;
            let key = Place::of(target.path).map(|place| place.key());
            let key = key.map_err(|why| Error::usage(target.told(&why)))?;
            if let Some((other, _)) = seen.iter().find(|(_, known)| *known == key) {
                let why = format!("{other} goes there already: name another file");
                return Err(Error::usage(target.told(&why)));
            }
            seen.push((target.option, key));
        }
        Ok(())
    }

    /// Writes every report. A file appears whole under its name or stays as it was. A failure does
    /// not stop the other reports. A closed standard output is not a failure.
    ///
    /// # Errors
    /// All targets that could not be written.
    pub fn write(&self, file: &ResultFile) -> Result<(), Error> {
        let put = |(target, render): (Target<'_>, Render)| {
            target.put(render(file, &self.exports).as_bytes())
        };
        let failed: Vec<Error> = self.each().filter_map(|one| put(one).err()).collect();
        let lines: Vec<&str> = failed.iter().map(|error| error.message.as_str()).collect();
        match lines.is_empty() {
            true => Ok(()),
            false => Err(Error::failed(lines.join("; "))),
        }
    }
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-") || path == Path::new("/dev/stdout")
}

/// Kind of destination that a path names.
enum Place {
    Stdout,
    /// A pipe, a device or an open descriptor: written through, not replaced.
    Stream(PathBuf),
    /// A file that exists or not yet, with every link followed.
    File(PathBuf),
}

/// Links that are followed before they count as a cycle.
const LINKS_MAX: usize = 40;

impl Place {
    fn of(path: &Path) -> Result<Self, String> {
        if is_stdout(path) {
            return Ok(Self::Stdout);
        }
        let is_folder = || Err("this is a folder: name a file in it".to_owned());
        let mut path = path.to_owned();
        for _ in 0..LINKS_MAX {
            if path.starts_with("/dev/fd") || path.starts_with("/proc") {
                return Ok(Self::Stream(path));
            }
            match fs::symlink_metadata(&path) {
                Ok(meta) if meta.is_symlink() => {
                    let target = fs::read_link(&path).map_err(|error| unwritable(&error))?;
                    path = folder(&path).join(target);
                }
                Ok(meta) if meta.is_dir() => return is_folder(),
                Ok(meta) if !meta.is_file() => return Ok(Self::Stream(path)),
                Ok(_) => return Ok(Self::File(path)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let folder = folder(&path);
                    return match path.file_name() {
                        None => is_folder(),
                        Some(_) if !folder.is_dir() => Err(format!(
                            "there is no folder {}: make it, or name another file",
                            folder.display()
                        )),
                        Some(_) => Ok(Self::File(path)),
                    };
                }
                Err(error) => return Err(unwritable(&error)),
            }
        }
        Err("its links lead in a circle: name another file".to_owned())
    }

    /// Equal for two paths that would overwrite each other.
    fn key(&self) -> PathBuf {
        match self {
            Self::Stdout => PathBuf::from("-"),
            Self::Stream(path) => path.clone(),
            Self::File(path) => {
                let folder = folder(path);
                let folder = folder.canonicalize().unwrap_or(folder);
                path.file_name()
                    .map_or(folder.clone(), |name| folder.join(name))
            }
        }
    }

    /// Tests as much as is possible without changing anything.
    fn try_out(&self) -> Result<(), String> {
        let tried = match self {
            Self::Stdout => Ok(()),
            // Opening a pipe would wait for its reader.
            Self::Stream(path) => fs::metadata(path).map(drop),
            Self::File(path) => match (beside(path), open_existing(path)) {
                (_, Ok(_)) => Ok(()),
                (Ok(_), Err(error)) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                (Ok(_), Err(error)) | (Err(error), Err(_)) => Err(error),
            },
        };
        tried.map_err(|error| unwritable(&error))
    }

    fn put(&self, bytes: &[u8]) -> Result<(), String> {
        let put = match self {
            Self::Stdout => match write_out(&mut io::stdout().lock(), bytes) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                other => other,
            },
            Self::Stream(path) => {
                open_existing(path).and_then(|mut stream| write_out(&mut stream, bytes))
            }
            Self::File(path) => match beside(path) {
                Ok(beside) => replace(path, beside, bytes),
                Err(error) => overwrite(path, bytes).map_err(|_| error),
            },
        };
        put.map_err(|error| unwritable(&error))
    }
}

fn unwritable(error: &io::Error) -> String {
    let why = cause(error);
    format!("cannot be written ({why}): name a file that can")
}

/// Opens something that exists for writing, without changing it.
fn open_existing(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).open(path)
}

/// The last resort: overwrites a writable file in a folder that allows no new file.
fn overwrite(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
    write_out(&mut file, bytes)
}

fn write_out(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(bytes)?;
    out.flush()
}

/// The folder that holds the path.
fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Makes a file beside the destination. It is removed again unless it replaces that.
fn beside(wanted: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".furlong-")
        .suffix(".tmp")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder(wanted))
}

/// Replaces `wanted`, and keeps its permissions if it exists.
fn replace(wanted: &Path, mut beside: NamedTempFile, bytes: &[u8]) -> io::Result<()> {
    write_out(&mut beside, bytes)?;
    if let Ok(meta) = fs::metadata(wanted) {
        beside.as_file().set_permissions(meta.permissions())?;
    }
    beside.as_file().sync_all()?;
    match beside.persist(wanted) {
        // A file that is a mount point cannot be replaced, only overwritten.
        Err(refused) => overwrite(wanted, bytes).map_err(|_| refused.error),
        Ok(_) => Ok(()),
    }
}
