//! Destinations of reports. They are named and tried before a measurement, and written whole or not
//! at all.
#![forbid(unsafe_code)]

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::export::{csv, json, junit, markdown};
use super::html;
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
}

/// A report that cannot be written: a line with the option, the reason and a remedy.
#[derive(Debug)]
pub struct TargetError {
    option: &'static str,
    path: PathBuf,
    reason: Reason,
}

#[derive(Debug)]
enum Reason {
    NoFolder(PathBuf),
    Folder,
    Twice(&'static str),
    Links,
    Io(io::Error),
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            option,
            path,
            reason,
        } = self;
        let path = path.display();
        match reason {
            Reason::NoFolder(folder) => write!(
                f,
                "{option} {path}: there is no folder {}: make it, or name another file",
                folder.display()
            ),
            Reason::Folder => {
                write!(f, "{option} {path}: this is a folder: name a file in it")
            }
            Reason::Twice(other) => {
                write!(
                    f,
                    "{option} {path}: {other} goes there already: name another file"
                )
            }
            Reason::Links => {
                write!(
                    f,
                    "{option} {path}: its links lead in a circle: name another file"
                )
            }
            Reason::Io(error) => write!(
                f,
                "{option} {path}: cannot be written ({}): name a file that can",
                crate::error::cause(error)
            ),
        }
    }
}

impl std::error::Error for TargetError {}

/// A file named by an option; `-` is standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// The option, with its dashes.
    pub option: &'static str,
    /// The option's value.
    pub path: &'a Path,
}

impl Target<'_> {
    /// True for standard output: messages must then go elsewhere.
    #[must_use]
    pub fn is_stdout(&self) -> bool {
        is_stdout(self.path)
    }

    /// Tests as much as is possible without changing anything.
    ///
    /// # Errors
    /// It could not be written.
    pub fn check(&self) -> Result<(), TargetError> {
        let tried = Place::of(self.path).and_then(|place| place.try_out());
        tried.map_err(|reason| self.error(reason))
    }

    /// Writes all of it or nothing. A closed standard output is not a failure.
    ///
    /// # Errors
    /// It could not be written.
    pub fn put(&self, bytes: &[u8]) -> Result<(), TargetError> {
        let put = Place::of(self.path).and_then(|place| place.put(bytes));
        put.map_err(|reason| self.error(reason))
    }

    fn error(&self, reason: Reason) -> TargetError {
        TargetError {
            option: self.option,
            path: self.path.to_owned(),
            reason,
        }
    }
}

/// Makes a report of a result.
type Render = fn(&ResultFile) -> String;

impl Targets {
    /// Every requested report, with its option and its renderer.
    fn each(&self) -> impl Iterator<Item = (Target<'_>, Render)> {
        [
            ("--json", &self.json, json::render as Render),
            ("--csv", &self.csv, csv::render),
            ("--md", &self.markdown, markdown::render),
            ("--html", &self.html, html::render),
            ("--junit", &self.junit, junit::render),
        ]
        .into_iter()
        .filter_map(|(option, path, render)| {
            let path = path.as_deref()?;
            Some((Target { option, path }, render))
        })
    }

    /// True if a report goes to standard output: messages must then go elsewhere.
    #[must_use]
    pub fn uses_stdout(&self) -> bool {
        self.each().any(|(target, _)| target.is_stdout())
    }

    /// Tries every target before anything is measured. Leaves no file behind.
    ///
    /// # Errors
    /// The first target that could not be written, or that is named twice.
    pub fn check(&self) -> Result<(), TargetError> {
        let mut seen: Vec<(&'static str, PathBuf)> = vec![];
        for (target, _) in self.each() {
            target.check()?;
            let place = Place::of(target.path).map_err(|reason| target.error(reason))?;
            let key = place.key();
            if let Some((other, _)) = seen.iter().find(|(_, known)| *known == key) {
                return Err(target.error(Reason::Twice(other)));
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
    pub fn write(&self, file: &ResultFile) -> Result<(), Vec<TargetError>> {
        let mut failed = vec![];
        for (target, render) in self.each() {
            failed.extend(target.put(render(file).as_bytes()).err());
        }
        if failed.is_empty() {
            Ok(())
        } else {
            Err(failed)
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
    fn of(path: &Path) -> Result<Self, Reason> {
        if is_stdout(path) {
            return Ok(Self::Stdout);
        }
        let mut path = path.to_owned();
        for _ in 0..LINKS_MAX {
            if path.starts_with("/dev/fd") || path.starts_with("/proc") {
                return Ok(Self::Stream(path));
            }
            match fs::symlink_metadata(&path) {
                Ok(meta) if meta.is_symlink() => {
                    let target = fs::read_link(&path).map_err(Reason::Io)?;
                    path = folder(&path).join(target);
                }
                Ok(meta) if meta.is_dir() => return Err(Reason::Folder),
                Ok(meta) if !meta.is_file() => return Ok(Self::Stream(path)),
                Ok(_) => return Ok(Self::File(path)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return match (folder(&path), path.file_name()) {
                        (_, None) => Err(Reason::Folder),
                        (folder, _) if !folder.is_dir() => Err(Reason::NoFolder(folder)),
                        _ => Ok(Self::File(path)),
                    };
                }
                Err(error) => return Err(Reason::Io(error)),
            }
        }
        Err(Reason::Links)
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
    fn try_out(&self) -> Result<(), Reason> {
        match self {
            Self::Stdout => Ok(()),
            // Opening a pipe would wait for its reader.
            Self::Stream(path) => fs::metadata(path).map(drop).map_err(Reason::Io),
            Self::File(path) => match Beside::create(path) {
                Ok(beside) => {
                    drop(beside);
                    open_existing(path).map_or_else(not_there_is_fine, |_| Ok(()))
                }
                Err(error) => open_existing(path).map(drop).map_err(|_| Reason::Io(error)),
            },
        }
    }

    fn put(&self, bytes: &[u8]) -> Result<(), Reason> {
        match self {
            Self::Stdout => match write_out(&mut io::stdout().lock(), bytes) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                other => other,
            },
            Self::Stream(path) => OpenOptions::new()
                .append(true)
                .open(path)
                .and_then(|mut stream| write_out(&mut stream, bytes)),
            Self::File(path) => match Beside::create(path) {
                Ok(beside) => beside.become_file(path, bytes),
                Err(error) => overwrite(path, bytes).map_err(|_| error),
            },
        }
        .map_err(Reason::Io)
    }
}

fn not_there_is_fine(error: io::Error) -> Result<(), Reason> {
    if error.kind() == io::ErrorKind::NotFound {
        Ok(())
    } else {
        Err(Reason::Io(error))
    }
}

/// Opens an existing file for writing, without changing it.
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

/// A file beside the destination. It is removed again unless it replaces that.
struct Beside {
    file: File,
    path: PathBuf,
}

static NEXT: AtomicU32 = AtomicU32::new(0);

impl Beside {
    fn create(wanted: &Path) -> io::Result<Self> {
        // Relaxed: only uniqueness matters; it publishes no data.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder(wanted).join(format!(".furlong-{}-{number}.tmp", std::process::id()));
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)?;
        Ok(Self { file, path })
    }

    /// Replaces `wanted`, and keeps its permissions if it exists.
    fn become_file(mut self, wanted: &Path, bytes: &[u8]) -> io::Result<()> {
        write_out(&mut self.file, bytes)?;
        if let Ok(meta) = fs::metadata(wanted) {
            self.file.set_permissions(meta.permissions())?;
        }
        self.file.sync_all()?;
        match fs::rename(&self.path, wanted) {
            // A file that is a mount point cannot be replaced, only overwritten.
            Err(error) => overwrite(wanted, bytes).map_err(|_| error),
            done => done,
        }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // Already gone if it was renamed; another failure could not be reported anyway.
        let _ = fs::remove_file(&self.path);
    }
}
