//! `furlong record`: records a real program's calls of a system, as a trace that can be replayed.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus, Stdio};
use std::sync::Arc;

use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::recorder::vm::{Means, choose};
use crate::recorder::{Program, heap, malloc};
use furlong_lab::error::{Error, Exit, cause};
use furlong_lab::options::Settings;
use furlong_lab::options::Talk;
use furlong_lab::report::text::plain;
use furlong_lab::talk::Voice;

/// Records a command's calls of a system, as a trace for `furlong replay`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// System to record.
    #[command(subcommand)]
    pub system: System,
}

/// Systems that can be recorded.
#[derive(Debug, clap::Subcommand)]
pub enum System {
    /// Address spaces: mmap, munmap, mprotect, mremap, brk, fork, exec and page faults
    Vm(VmArgs),
    /// Allocations: size, alignment, thread and lifetime of each block
    Malloc(MallocArgs),
}

const MALLOC_EXAMPLES: &str = "\
Examples:
  furlong record malloc --events 1000000 -- ls -l
  furlong record malloc --heap-profile --every 4096 -- ls -l
  furlong replay ls.malloctrace --subject glibc";

/// Options of `record malloc`.
#[derive(Debug, clap::Args)]
#[command(after_help = MALLOC_EXAMPLES)]
pub struct MallocArgs {
    /// The trace [default: the program's name with .malloctrace]; with --heap-profile the flame
    /// graph [default: the program's name with .svg]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Sample the program's allocations instead: a flame graph of the functions that allocate, and
    /// a file for `go tool pprof` of each process
    #[arg(long, conflicts_with = "events")]
    pub heap_profile: bool,
    /// Mean number of bytes between samples of the heap profile
    #[arg(long, value_name = "BYTES", default_value_t = 512 << 10, requires = "heap_profile")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=999_999_999))]
    pub every: u64,
    /// Maximum number of recorded calls, 32 bytes each while the command runs
    #[arg(long, value_name = "N", default_value_t = malloc::EVENTS)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    pub events: u64,
    /// Amount of output.
    #[command(flatten)]
    pub talk: Talk,
    /// The command, and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

const VM_EXAMPLES: &str = "\
Examples:
  furlong record vm -- ls
  furlong record vm --with strace --output ls.vmtrace -- ls -l
  furlong replay ls.vmtrace";

/// Options of `record vm`.
#[derive(Debug, clap::Args)]
#[command(after_help = VM_EXAMPLES)]
pub struct VmArgs {
    /// The trace [default: the program's name with .vmtrace]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Means of recording [default: perf, or strace where perf may not trace]
    #[arg(long, value_name = "MEANS")]
    pub with: Option<Means>,
    /// Amount of output.
    #[command(flatten)]
    pub talk: Talk,
    /// The command, and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

/// Runs the command to its end and writes the trace.
///
/// # Errors
///
/// It cannot be run or watched, or the trace cannot be written.
pub fn run(args: &Args) -> Result<ExitCode, Error> {
    match &args.system {
        System::Vm(args) => vm(args),
        System::Malloc(args) => allocations(args),
    }
}

fn allocations(args: &MallocArgs) -> Result<ExitCode, Error> {
    let settings = Settings::of_here()?;
    let voice = args.talk.voice(&settings);
    let program = Program::new(&args.command)?;
    if args.heap_profile {
        return profile(args, &program, voice);
    }
    let default = || PathBuf::from(format!("{}.malloctrace", program.name()));
    let path = args.output.clone().unwrap_or_else(default);
    let (name, file) = created(&path)?;
    outlive_interrupts()?;
    let (recorded, status) = malloc::record(&program, &path, args.events, Stdio::inherit())?;
    let about = [program.line(), "recorded by a preloaded library".to_owned()];
    recorded
        .write(&about, BufWriter::new(file))
        .map_err(|error| cannot_write(&name, &error))?;
    warn(voice, status, &recorded.missed);
    if recorded.calls == 0 {
        let program = program.name();
        return Err(Error::failed(format!(
            "{program} made no calls: a statically linked or privileged program does not load \
             preloaded libraries"
        )));
    }
    let (calls, programs) = (recorded.calls, recorded.programs());
    voice.note(&format!(
        "{calls} calls of {programs} program{} recorded: furlong replay {name}",
        if programs == 1 { "" } else { "s" }
    ));
    Ok(Exit::Done.into())
}

/// Records a heap profile, and writes its flame graph.
fn profile(args: &MallocArgs, program: &Program, voice: Voice) -> Result<ExitCode, Error> {
    let default = || PathBuf::from(format!("{}.svg", program.name()));
    let path = args.output.clone().unwrap_or_else(default);
    let name = plain(&path.display().to_string());
    // The picture of a former run stays if this one gives none.
    let is_new = !path.exists();
    let mut options = File::options();
    let options = options.write(true).create(true).truncate(false);
    let mut file = options
        .open(&path)
        .map_err(|error| cannot_write(&name, &error))?;
    outlive_interrupts()?;
    let without_new = || {
        if is_new {
            // What is left is an empty file.
            let _ = fs::remove_file(&path);
        }
    };
    let profiled = heap::record(program, &path, args.every).inspect_err(|_| without_new())?;
    warn(voice, profiled.status, &profiled.missed);
    let [allocated, live] = profiled.bytes.map(heap::shown);
    let files: Vec<_> = profiled
        .files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    let Some(first) = files.first() else {
        without_new();
        let (program, every) = (program.name(), args.every);
        if !profiled.missed.is_empty() {
            return Err(Error::failed(format!("{program}: no profile can be read")));
        }
        return Err(Error::failed(format!(
            "{program}: no process has written a profile: one that is killed or calls _exit writes \
             none, one that allocates little has no samples (sample more often than each {every} \
             bytes with --every), and a statically linked or privileged one does not load \
             preloaded libraries"
        )));
    };
    let put = file.set_len(0);
    put.and_then(|()| file.write_all(profiled.picture.as_bytes()))
        .map_err(|error| cannot_write(&name, &error))?;
    let more = match files.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    voice.note(&format!(
        "{allocated} allocated, {live} in use at the end: see {name}, or go tool pprof {}{more}",
        plain(first)
    ));
    Ok(Exit::Done.into())
}

/// Creates the file of a trace. Returns it with its name for messages.
fn created(path: &Path) -> Result<(String, File), Error> {
    let name = plain(&path.display().to_string());
    let file = File::create(path).map_err(|error| cannot_write(&name, &error))?;
    Ok((name, file))
}

fn cannot_write(name: &str, error: &io::Error) -> Error {
    Error::usage(format!("{name}: cannot be written: {}", cause(error)))
}

/// Lets this process outlive Ctrl-C, which ends only the command; its calls until then are kept.
pub(super) fn outlive_interrupts() -> Result<(), Error> {
    let refused = |error| Error::failed(format!("cannot listen for Ctrl-C: {}", cause(&error)));
    flag::register(SIGINT, Arc::default())
        .map(drop)
        .map_err(refused)
}

fn vm(args: &VmArgs) -> Result<ExitCode, Error> {
    let settings = Settings::of_here()?;
    let voice = args.talk.voice(&settings);
    let program = Program::new(&args.command)?;
    let default = || PathBuf::from(format!("{}.vmtrace", program.name()));
    let path = args.output.clone().unwrap_or_else(default);
    let means = means(args.with, voice)?;
    let (name, file) = created(&path)?;
    outlive_interrupts()?;
    let recorded = means.record(&program)?;
    let mut about = vec![program.line(), format!("recorded with {means}")];
    about.extend(means.lacks().map(str::to_owned));
    about.extend(recorded.missed.iter().cloned());
    recorded
        .write(&about, BufWriter::new(file))
        .map_err(|error| cannot_write(&name, &error))?;
    warn(voice, recorded.status, &recorded.missed);
    if let Some(lacks) = means.lacks() {
        voice.note(&format!("{means}: {lacks}"));
    }
    let events = recorded.events.len();
    voice.note(&format!(
        "{events} events recorded with {means}: furlong replay {name}"
    ));
    if recorded.events.is_empty() {
        let program = program.name();
        return Err(Error::failed(format!(
            "{means} recorded nothing of {program}"
        )));
    }
    Ok(Exit::Done.into())
}

/// Selects the means of recording, and warns if it is not the best one.
fn means(wanted: Option<Means>, voice: Voice) -> Result<Means, Error> {
    if let Some(means) = wanted {
        let refused = |unable| Error::failed(format!("{means}: {unable}"));
        return means.try_out().map_err(refused).map(|()| means);
    }
    let (means, unable) = choose()?;
    if let Some(unable) = unable {
        voice.warn(&format!("perf: {unable}"));
    }
    Ok(means)
}

/// Warns of a command that has failed, and of everything that was missed.
fn warn(voice: Voice, status: ExitStatus, missed: &[String]) {
    if !status.success() {
        let ended = match status.code() {
            Some(code) => format!("exit code {code}"),
            None => status.to_string(),
        };
        voice.warn(&format!("the command has failed: {ended}"));
    }
    for missed in missed {
        voice.warn(missed);
    }
}
