//! The allocator and the setting that suit a program: it runs once, and what it asked of its
//! allocator is replayed on each candidate.
//!
//! # Words
//! A program's **own** memory is that outside the heap: its files, stacks and mappings. It is the
//! same with any allocator. A candidate's peak is the largest sum of both, from sample to sample.
//!
//! # Files
//! - `forecast`: a candidate's memory over time, from the recording and its replay
//! - `outcome`: the result as `furlong.prescription/1`, and the choice
//! - `page`: the same for a terminal

mod forecast;
mod outcome;
mod page;
#[cfg(test)]
mod tests;

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Stdio;

pub use self::forecast::Forecast;
pub use self::outcome::{Choice, Outcome, SCHEMA};
pub use self::page::page;
use crate::recorder::{Program, malloc};
use crate::replay::{Life, PROBE, Script, parse};
use furlong_experiments::malloc_suite::{Candidate, Pace};
use furlong_lab::error::{Error, cause};
use furlong_lab::measure::launch::finished::Ending;
use furlong_lab::measure::launch::launcher::{Launcher, Task};

/// A recorded program, ready for replays.
#[derive(Debug)]
pub struct Recording {
    /// The steps of its largest process.
    steps: Vec<u8>,
    /// That process.
    life: Life,
    /// Requested sizes at the peak, each with its number of blocks.
    sizes: Vec<[u64; 2]>,
    /// Programs that were recorded.
    programs: usize,
    /// Device and number of the file whose allocator the program uses by itself.
    allocator: Option<[u64; 2]>,
    /// Missing parts of the recording, a sentence each.
    pub missed: Vec<String>,
}

/// Runs a program to its end and records it.
///
/// # Errors
///
/// There is no room for `events` calls beside the temporary files, the program cannot be run, or
/// no call was recorded.
pub fn record(program: &Program, events: u64) -> Result<Recording, Error> {
    let place = env::temp_dir().join("steps");
    let (recorded, status) = malloc::record(program, &place, events, Stdio::null())?;
    let mut text = vec![];
    recorded
        .write(&[], &mut text)
        .map_err(|error| Error::failed(format!("the recording: {}", cause(&error))))?;
    let mut missed = recorded.missed;
    if !status.success() {
        missed.push(format!("the command has failed: {status}"));
    }
    let (script, fault) = parse(&text);
    if let Some(fault) = fault {
        return Err(Error::failed(format!("the recording: {fault}")));
    }
    Recording::of(script, &recorded.allocators, missed).ok_or_else(|| {
        let program = program.name();
        Error::failed(format!(
            "{program}: nothing was recorded: a statically linked or privileged program does not \
             load preloaded libraries, one that brings its own allocator does not call malloc, and \
             under a limit of address space (ulimit -v) no memory is known"
        ))
    })
}

impl Recording {
    /// The largest process of a script; `None` if none was sampled.
    fn of(
        script: Script,
        allocators: &[Option<[u64; 2]>],
        missed: Vec<String>,
    ) -> Option<Recording> {
        let programs = script.lives.len();
        let lives = script.lives.into_iter().enumerate();
        let sampled = lives.filter(|(_, life)| !life.samples.is_empty());
        let (place, mut life) = sampled.max_by_key(|(_, life)| life.peak_bytes)?;
        let steps = &script.steps[life.steps.clone()];
        let peak = life.peak_at.saturating_sub(life.steps.start);
        let sizes = forecast::sizes_at(&steps[..peak.min(steps.len())]);
        let mut steps = steps.to_vec();
        for [size, _] in &sizes {
            let mut probe = [0; 24];
            probe[12] = PROBE;
            probe[16..].copy_from_slice(&size.to_le_bytes());
            steps.extend(probe);
        }
        life.steps = 0..steps.len();
        Some(Recording {
            steps,
            life,
            sizes,
            programs,
            allocator: allocators.get(place).copied().flatten(),
            missed,
        })
    }

    /// The place of the candidate that the program uses by itself, with the setting that it has by
    /// itself; `None` if it is none of them.
    #[must_use]
    pub fn present(&self, candidates: &[Candidate]) -> Option<usize> {
        self.present_with(candidates, |name| env::var(name).ok())
    }

    /// True if something is preloaded, but no candidate. The recording and the replays are without
    /// it.
    #[must_use]
    pub fn is_preload_unknown(&self, candidates: &[Candidate]) -> bool {
        let preloads = env::var("LD_PRELOAD").unwrap_or_default();
        !preloads.trim().is_empty() && preloaded(candidates, &preloads).is_none()
    }

    fn present_with(
        &self,
        candidates: &[Candidate],
        variable: impl Fn(&str) -> Option<String>,
    ) -> Option<usize> {
        // A preloaded allocator comes before that of the program.
        let preloads = variable("LD_PRELOAD").unwrap_or_default();
        let own = match preloaded(candidates, &preloads) {
            Some(candidate) => file(&candidate.file),
            None => self.allocator,
        }?;
        let is_own = |(_, candidate): &(usize, &Candidate)| file(&candidate.file) == Some(own);
        let is_set = |(name, value): (&str, &str)| variable(name).as_deref() == Some(value);
        let all = candidates.iter().enumerate().filter(is_own);
        let (place, _) = all.max_by_key(|(_, candidate)| match candidate.setting {
            None => 1,
            Some(setting) => 2 * u8::from(is_set(setting)),
        })?;
        Some(place)
    }

    /// True if the program is linked with the candidate. What this allocates before the first call
    /// is then part of the recorded memory outside the heap.
    fn is_linked(&self, candidate: &Candidate) -> bool {
        self.allocator.is_some() && file(&candidate.file) == self.allocator
    }

    /// Processor time of the process that is replayed, in milliseconds.
    #[must_use]
    pub fn busy_ms(&self) -> f64 {
        let last = self.life.samples.last();
        last.map_or(0.0, |[_, _, busy_ns]| *busy_ns as f64 / 1e6)
    }

    /// The pace of the replays whose memory counts: an allocator that returns memory after a delay
    /// has to have the time of the recorded program.
    #[must_use]
    pub fn pace(&self) -> Pace {
        let last = self.life.samples.last();
        match last {
            Some([_, at_ns, _]) if *at_ns > PACED_NS_MAX => Pace::Full,
            _ => Pace::Recorded,
        }
    }

    /// A sentence about the process that is replayed.
    #[must_use]
    pub fn described(&self) -> String {
        let Life { threads, calls, .. } = &self.life;
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        format!(
            "{} program{} recorded; the one with the most memory made {calls} calls on {threads} \
             thread{}",
            self.programs,
            plural(self.programs as u64),
            plural(u64::from(*threads))
        )
    }

    /// Replays the recording on each candidate, and forecasts its memory.
    ///
    /// # Shapes
    ///
    /// The first candidate is the C library's own allocator: what its replay has before the first
    /// call is the replay's and not the program's.
    ///
    /// # Errors
    ///
    /// No temporary file can be written, or the first candidate fails.
    pub fn forecasts(&self, candidates: &[Candidate]) -> Result<Vec<Forecast>, Error> {
        let lost = |error: std::io::Error| {
            Error::usage(format!("cannot create a temporary file: {}", cause(&error)))
        };
        let home = tempfile::tempdir().map_err(lost)?;
        let steps = home.path().join("steps");
        fs::write(&steps, &self.steps).map_err(lost)?;
        let mut base_kib = None;
        let mut forecasts = vec![];
        for candidate in candidates {
            let forecast = self.forecast(candidate, &steps, &mut base_kib);
            if let (Some(why), None) = (&forecast.na, base_kib) {
                return Err(Error::failed(format!("{}: {why}", forecast.name)));
            }
            forecasts.push(forecast);
        }
        Ok(forecasts)
    }

    fn forecast(
        &self,
        candidate: &Candidate,
        steps: &Path,
        base_kib: &mut Option<u64>,
    ) -> Forecast {
        let mut forecast = Forecast {
            name: candidate.name(),
            ..Forecast::default()
        };
        let mut own_base = None;
        let base_kib = match base_kib {
            Some(_) if self.is_linked(candidate) => &mut own_base,
            base_kib => base_kib,
        };
        // The memory is that of the first replay; the time is the shortest.
        for replay in 0..REPLAYS {
            let pace = if replay == 0 { self.pace() } else { Pace::Full };
            match candidate.replay(steps, self.life.threads, self.life.slots, pace) {
                Ok(done) => forecast.take(&done, &self.life.samples, &self.sizes, base_kib),
                Err(failure) => {
                    forecast.na = Some(failure.0);
                    break;
                }
            }
        }
        forecast
    }
}

/// The first candidate that a value of LD_PRELOAD names. A name without a folder is looked up as
/// that of a library.
fn preloaded<'a>(candidates: &'a [Candidate], preloads: &str) -> Option<&'a Candidate> {
    let is_named = |candidate: &Candidate, path: &Path| match path.parent() {
        Some(folder) if folder != Path::new("") => file(path) == file(&candidate.file),
        _ => path.file_name() == candidate.file.file_name(),
    };
    let of_name = |path| {
        candidates
            .iter()
            .find(|candidate| is_named(candidate, path))
    };
    let mut preloads = preloads.split([':', ' ']).map(Path::new);
    preloads.find_map(of_name)
}

/// Device and number of a file.
fn file(path: &Path) -> Option<[u64; 2]> {
    let data = fs::metadata(path).ok()?;
    Some([data.dev(), data.ino()])
}

/// Longest time of a program whose replays take as long.
const PACED_NS_MAX: u64 = 20_000_000_000;

/// Replays of each candidate.
const REPLAYS: usize = 3;

/// The largest resident size of a program that runs with a candidate, in KiB.
///
/// # Errors
///
/// It cannot be run, or it fails with this allocator.
pub fn live_kib(program: &Program, candidate: &Candidate) -> Result<u64, String> {
    let found = program.file().ok_or("the program is gone")?;
    let mut task = Task::new(found, &[]);
    task.arguments.clone_from(&program.words);
    task.environment = candidate.environment();
    // Opened anew, a file is read from its beginning.
    let input = Path::new("/proc/self/fd/0");
    if input.is_file() {
        task.input = input.to_owned();
    }
    let launcher = Launcher::new().map_err(|error| error.to_string())?;
    let finished = launcher
        .run(&task, None)
        .map_err(|error| error.to_string())?;
    match finished.ending {
        Ending::Exited(0) => Ok(finished.usage.maxrss_kib),
        ending => Err(ending.to_string()),
    }
}
