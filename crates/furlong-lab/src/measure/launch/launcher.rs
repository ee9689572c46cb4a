//! Runs one command through the launcher and reports its resource usage.
//!
//! The launcher is a program of a few kilobytes, embedded in furlong (its source is beside `src/`,
//! in `launcher/`). It runs from memory, once per sample. The command thus inherits nothing of
//! furlong's memory, signal settings or terminal, and `wait4` reports on the command alone.

use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fmt, process, thread};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, OFlags, fcntl_getfl, fcntl_setfl, memfd_create};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use tempfile::TempPath;

use super::finished::{Finished, RECORD_BYTES, Record, What};
use crate::error::cause;

/// The launcher's executable; empty if it was not built.
const IMAGE: &[u8] = include_bytes!(env!("FURLONG_LAUNCHER"));

/// Bytes that are kept of the command's standard error.
const ERROR_TAIL_BYTES: usize = 4096;

/// A command with everything that it needs to run.
#[derive(Clone, Debug)]
pub struct Task {
    /// The program's file.
    pub program: PathBuf,
    /// Its arguments, its own name first.
    pub arguments: Vec<OsString>,
    /// Folder in which it runs, if not furlong's own.
    pub folder: Option<PathBuf>,
    /// All of its environment.
    pub environment: Vec<(OsString, OsString)>,
    /// File that is its standard input.
    pub input: PathBuf,
    /// Destination of its standard output.
    pub output: Output,
    /// Time after which it is killed, with all its descendants.
    pub limit: Option<Duration>,
    /// Layout of its memory.
    pub layout: Layout,
}

impl Task {
    /// Returns a task for a program with arguments; the program's name is put before them. It
    /// inherits furlong's environment, reads nothing, its output is discarded, and it has no time
    /// limit.
    pub fn new(program: impl Into<PathBuf>, arguments: &[&str]) -> Self {
        let program = program.into();
        let name = program.clone().into_os_string();
        let rest = arguments.iter().map(OsString::from);
        Self {
            arguments: std::iter::once(name).chain(rest).collect(),
            program,
            folder: None,
            environment: env::vars_os().collect(),
            input: "/dev/null".into(),
            output: Output::Discard,
            limit: None,
            layout: Layout::Random,
        }
    }
}

/// Destination of a command's standard output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Output {
    /// Discarded.
    #[default]
    Discard,
    /// Read through a pipe and discarded. The reader runs beside the command.
    Pipe,
    /// A file that is created or truncated.
    File(PathBuf),
    /// furlong's own standard output, and its standard error for the command's.
    Inherit,
}

/// Memory layout of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The system's default: with address-space randomisation, a different layout each time.
    Random,
    /// The same layout each time.
    Fixed,
}

/// Reason why a command could not be run at all.
#[derive(Debug)]
pub enum LaunchError {
    /// This furlong was built for a machine whose system calls the launcher does not support.
    Unsupported,
    /// There is no place from which the launcher can be run.
    NoPlace(io::Error),
    /// The launcher could not be started, or ended without a record.
    NoLauncher(io::Error),
    /// The program could not be started.
    NotExecuted(PathBuf, io::Error),
    /// The input could not be opened.
    NoInput(PathBuf, io::Error),
    /// The output could not be created.
    NoOutput(PathBuf, io::Error),
    /// The launcher was interrupted.
    Interrupted,
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported => write!(
                f,
                "this furlong has no launcher for {}: commands can be measured on x86_64 and \
                 aarch64 Linux",
                env::consts::ARCH
            ),
            Self::NoPlace(error) => write!(
                f,
                "the launcher cannot be stored in a temporary directory ({}): set TMPDIR to one \
                 that allows programs",
                cause(error)
            ),
            Self::NoLauncher(error) => write!(f, "the launcher failed: {}", cause(error)),
            Self::NotExecuted(program, error) if error.raw_os_error() == Some(8) => write!(
                f,
                "{} is not in a format that the kernel can run (a script without a `#!` line?): \
                 use --shell",
                program.display()
            ),
            Self::NotExecuted(program, error) => {
                write!(
                    f,
                    "{} cannot be started: {}",
                    program.display(),
                    cause(error)
                )
            }
            Self::NoInput(path, error) | Self::NoOutput(path, error) => {
                write!(f, "{} cannot be opened: {}", path.display(), cause(error))
            }
            Self::Interrupted => f.write_str("the command was interrupted by another process"),
        }
    }
}

impl std::error::Error for LaunchError {}

/// The launcher in a place from which it can be run.
#[derive(Debug)]
pub struct Launcher {
    path: PathBuf,
    place: Place,
}

/// The storage of the launcher's executable.
#[derive(Debug)]
enum Place {
    /// Memory, while this descriptor is open.
    Memory(OwnedFd),
    /// A file, which is removed at the end.
    File(TempPath),
}

impl Launcher {
    /// Puts the launcher into memory or, if memory may not be executed, into a temporary file.
    ///
    /// # Errors
    ///
    /// [`LaunchError::Unsupported`] and [`LaunchError::NoPlace`].
    pub fn new() -> Result<Self, LaunchError> {
        if IMAGE.is_empty() {
            return Err(LaunchError::Unsupported);
        }
        let launcher = in_memory().or_else(|_| in_file(&env::temp_dir()));
        launcher.map_err(LaunchError::NoPlace)
    }

    /// Returns the launcher as a program. Without arguments it writes a line to standard error with
    /// one system call, and exits with another.
    pub fn itself(&self) -> PathBuf {
        match &self.place {
            // Another process finds furlong's descriptor through furlong's process number.
            Place::Memory(memory) => {
                let (process, descriptor) = (process::id(), memory.as_raw_fd());
                PathBuf::from(format!("/proc/{process}/fd/{descriptor}"))
            }
            Place::File(file) => file.to_path_buf(),
        }
    }

    /// Runs a command to its end.
    ///
    /// Meanwhile this thread sleeps, except that it reads the command's standard error. The command
    /// is in a session without a terminal and in its own process group; it is killed when this
    /// thread ends, with all its descendants.
    ///
    /// # Shapes
    ///
    /// As soon as `stop` is readable or closed at its other end, the command is killed with all its
    /// descendants; the result is [`LaunchError::Interrupted`].
    ///
    /// # Errors
    ///
    /// The reason why the command could not be started. A command that ran and failed is not an
    /// error here, see [`Finished::ending`].
    pub fn run(&self, task: &Task, stop: Option<&PipeReader>) -> Result<Finished, LaunchError> {
        let (output, printed) = match &task.output {
            Output::Discard => (Stdio::null(), None),
            Output::Inherit => (Stdio::inherit(), None),
            Output::Pipe => {
                let (printed, end) = io::pipe().map_err(LaunchError::NoLauncher)?;
                (end.into(), Some(printed))
            }
            Output::File(path) => {
                let made = File::create(path);
                let made = made.map_err(|error| LaunchError::NoOutput(path.clone(), error))?;
                (made.into(), None)
            }
        };
        let (record, mut tail) = self
            .start(task, output, printed, stop)
            .map_err(LaunchError::NoLauncher)?;
        tail.drain(..tail.len().saturating_sub(ERROR_TAIL_BYTES));
        let failed = |error| Err(LaunchError::NoLauncher(error));
        let Some(record) = Record::decode(&record) else {
            return failed(io::Error::other("it ended without a message"));
        };
        match record.what {
            What::Ended(ending) => Ok(Finished {
                ending,
                usage: record.usage,
                left_behind: record.left_behind,
                error_tail: tail,
            }),
            What::NotExecuted(error) => Err(LaunchError::NotExecuted(task.program.clone(), error)),
            What::NotForked(error) => failed(error),
            What::NoInput(error) => Err(LaunchError::NoInput(task.input.clone(), error)),
            What::Interrupted => Err(LaunchError::Interrupted),
        }
    }

    /// Starts the launcher and reads its record and the end of the command's standard error.
    fn start(
        &self,
        task: &Task,
        output: Stdio,
        printed: Option<PipeReader>,
        stop: Option<&PipeReader>,
    ) -> io::Result<(Vec<u8>, Vec<u8>)> {
        let (mut records, record_end) = io::pipe()?;
        let (errors, error_end) = io::pipe()?;
        let errors_to = match task.output {
            Output::Inherit => Stdio::inherit(),
            _ => error_end.into(),
        };
        let limit_ns = task.limit.map_or(0, |limit| limit.as_nanos().max(1));
        let mut command = Command::new(&self.path);
        command
            .arg(process::id().to_string())
            .arg(u64::try_from(limit_ns).unwrap_or(u64::MAX).to_string())
            .arg(if task.layout == Layout::Fixed {
                "1"
            } else {
                "0"
            })
            .arg(&task.input)
            .arg(&task.program)
            .args(&task.arguments)
            .env_clear()
            .envs(task.environment.iter().map(|(name, value)| (name, value)))
            .stdin(record_end)
            .stdout(output)
            .stderr(errors_to);
        if let Some(folder) = &task.folder {
            command.current_dir(folder);
        }
        let child = command.spawn();
        // `command` holds the other ends of the pipes; they must not stay open here.
        drop(command);
        let mut child = child?;
        let launcher = Pid::from_child(&child);
        let errors = Stream::new(errors, ERROR_TAIL_BYTES);
        let printed = printed.map(|printed| Stream::new(printed, 0));
        let read = listen(&mut records, errors, printed, stop, || {
            // The process still exists, because it has not been waited for yet.
            let _ = kill_process(launcher, Signal::TERM);
        });
        child.wait()?;
        read
    }
}

/// Puts the launcher into a file without a name.
fn in_memory() -> io::Result<Launcher> {
    let allowed = MemfdFlags::CLOEXEC | MemfdFlags::EXEC;
    let memory = match memfd_create("furlong-launcher", allowed) {
        // Kernels before 6.3 reject the second flag, and do not need it.
        Err(Errno::INVAL) => memfd_create("furlong-launcher", MemfdFlags::CLOEXEC)?,
        other => other?,
    };
    let mut file = File::from(memory);
    file.write_all(IMAGE)?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    try_out(Launcher {
        path,
        place: Place::Memory(file.into()),
    })
}

/// Puts the launcher into a temporary file that no other user can write.
fn in_file(directory: &Path) -> io::Result<Launcher> {
    let mut file = tempfile::Builder::new()
        .prefix("furlong-launcher-")
        .permissions(Permissions::from_mode(0o700))
        .tempfile_in(directory)?;
    file.write_all(IMAGE)?;
    // A file that is open for writing cannot be executed.
    let file = file.into_temp_path();
    try_out(Launcher {
        path: file.to_path_buf(),
        place: Place::File(file),
    })
}

/// Checks that a launcher can be run: without arguments it prints what it is.
fn try_out(launcher: Launcher) -> io::Result<Launcher> {
    let output = try_program(&launcher.path)?;
    if output.status.code() == Some(2) && output.stderr.starts_with(b"this is furlong's launcher") {
        Ok(launcher)
    } else {
        Err(io::Error::other("the launcher does not run"))
    }
}

/// Runs a program that was just written, without arguments. A child that another thread is starting
/// may still hold the file open for writing; this retries until it no longer does. After that the
/// program can be run.
///
/// # Errors
/// The program cannot be started.
pub fn try_program(path: &Path) -> io::Result<process::Output> {
    let mut tries = 0;
    loop {
        match Command::new(path).stdin(Stdio::null()).output() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && tries < 100 => {
                tries += 1;
                thread::sleep(Duration::from_millis(10));
            }
            other => return other,
        }
    }
}

/// A pipe from the command, of which the last bytes are kept.
struct Stream {
    pipe: PipeReader,
    kept_bytes: usize,
    tail: Vec<u8>,
    ended: bool,
}

impl Stream {
    fn new(pipe: PipeReader, kept_bytes: usize) -> Self {
        Self {
            pipe,
            kept_bytes,
            tail: vec![],
            ended: false,
        }
    }

    fn take(&mut self) -> io::Result<()> {
        self.ended = self.ended || !take(&mut self.pipe, &mut self.tail, self.kept_bytes)?;
        Ok(())
    }
}

/// Reads until the record is complete or the launcher is gone, and what the command prints up to
/// then. Returns the record and the end of the standard error. A process that the command left
/// running may write on after that.
fn listen(
    records: &mut PipeReader,
    errors: Stream,
    printed: Option<Stream>,
    mut stop: Option<&PipeReader>,
    kill: impl Fn(),
) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut streams: Vec<Stream> = [Some(errors), printed].into_iter().flatten().collect();
    let pipes = streams.iter().map(|stream| stream.pipe.as_fd());
    for pipe in pipes.chain([records.as_fd()]) {
        fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)?;
    }
    let mut record = Vec::new();
    loop {
        let (recorded, stopped) = wait(records, &streams, stop)?;
        streams.iter_mut().try_for_each(Stream::take)?;
        if recorded && (!take(records, &mut record, usize::MAX)? || record.len() >= RECORD_BYTES) {
            streams[0].take()?;
            return Ok((record, streams.swap_remove(0).tail));
        }
        if stopped {
            kill();
            stop = None;
        }
    }
}

/// Sleeps until a pipe is readable. Returns whether it is the record, and whether it is `stop`.
fn wait(
    records: &PipeReader,
    streams: &[Stream],
    stop: Option<&PipeReader>,
) -> io::Result<(bool, bool)> {
    let open = streams.iter().filter(|stream| !stream.ended);
    let pipes = [Some(records), stop].into_iter().flatten();
    let pipes = pipes.chain(open.map(|stream| &stream.pipe));
    let mut ends: Vec<PollFd<'_>> = pipes.map(|pipe| PollFd::new(pipe, PollFlags::IN)).collect();
    while let Err(error) = poll(&mut ends, None) {
        if error != Errno::INTR {
            return Err(error.into());
        }
    }
    let ready = |index: usize| !ends[index].revents().is_empty();
    Ok((ready(0), stop.is_some() && ready(1)))
}

/// Reads the current contents of a pipe and keeps little more than the last `kept` bytes; false at
/// its end.
fn take(pipe: &mut PipeReader, into: &mut Vec<u8>, kept: usize) -> io::Result<bool> {
    let mut piece = [0; 65536];
    // The loop is bounded: a writer may be faster, and the record must still be read.
    for _ in 0..16 {
        match pipe.read(&mut piece) {
            Ok(0) => return Ok(false),
            Ok(count) => into.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        into.drain(..into.len().saturating_sub(kept));
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::{Place, Task, in_file};
    use crate::measure::launch::finished::Ending;

    #[test]
    fn a_launcher_in_a_file_runs_and_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let launcher = in_file(directory.path()).unwrap();
        assert!(matches!(launcher.place, Place::File(_)));
        let report = launcher
            .run(&Task::new("/bin/sh", &["-c", "exit 4"]), None)
            .unwrap();
        assert_eq!(report.ending, Ending::Exited(4));
        drop(launcher);
        assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    }
}
