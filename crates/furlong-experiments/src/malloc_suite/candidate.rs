//! Allocators and their settings, for a program that asks which of them suits it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Named, SUBJECTS, replayed};
use crate::malloc::{Done, environment, variables};
use furlong_lab::model::Failure;

/// A variable of the environment and its value.
type Setting = (&'static str, &'static str);

/// Settings of the suite's allocators that change how much memory they keep.
const SETTINGS: [(&str, Setting); 9] = [
    ("glibc", ("MALLOC_ARENA_MAX", "1")),
    ("glibc", ("MALLOC_TRIM_THRESHOLD_", "65536")),
    ("glibc", ("MALLOC_MMAP_THRESHOLD_", "65536")),
    (
        "jemalloc",
        ("MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0"),
    ),
    ("jemalloc", ("MALLOC_CONF", "narenas:1")),
    ("tcmalloc", ("TCMALLOC_AGGRESSIVE_DECOMMIT", "1")),
    ("mimalloc", ("MIMALLOC_DECOMMIT_DELAY", "0")),
    ("furlong", ("FURLONG_MALLOC_PURGE_DELAY_MS", "0")),
    ("furlong", ("FURLONG_MALLOC_PROFILE", "conservative")),
];

/// Variable that turns an allocator of Python's own off.
const PYTHON: &str = "PYTHONMALLOC";

/// An allocator with a setting or none, which can be preloaded here.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The name of the allocator.
    pub allocator: &'static str,
    /// A variable of the environment and its value.
    pub setting: Option<Setting>,
    /// The file to preload.
    pub file: PathBuf,
}

/// Speed of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Each sample waits for its time in the recording.
    Recorded,
    /// Nothing waits.
    Full,
}

impl Candidate {
    /// The allocator, and its setting as for a shell.
    #[must_use]
    pub fn name(&self) -> String {
        match self.setting {
            None => self.allocator.to_owned(),
            Some((variable, value)) => format!("{} {variable}={value}", self.allocator),
        }
    }

    /// Carries out the steps in a file, which `malloc-work/replay.rs` documents, and samples the
    /// memory. The lines of the result are the samples.
    ///
    /// # Errors
    ///
    /// The program that carries the steps out fails.
    pub fn replay(
        &self,
        steps: &Path,
        threads: u32,
        slots: u32,
        pace: Pace,
    ) -> Result<Done, Failure> {
        let settings = self.setting.into_iter().collect();
        let paced = u32::from(pace == Pace::Recorded);
        replayed(&self.file, settings, steps, [threads, slots, 1, paced])
    }

    /// The environment of a program that runs with it.
    #[must_use]
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut variables = variables(&self.file, self.setting.as_slice());
        // Not a setting of the allocator here, but of what the program asks of it.
        let python = env::var_os(PYTHON).map(|value| (PYTHON.into(), value));
        variables.extend(python);
        environment(variables)
    }
}

/// All candidates, and the allocators that are missing, each with a hint at how to get it.
///
/// # Shapes
///
/// `further` are libraries of the caller's, by name. The first candidate is the C library's own
/// allocator without a setting.
#[must_use]
pub fn candidates(
    further: &[(&'static str, &Path)],
) -> (Vec<Candidate>, Vec<(&'static str, String)>) {
    let (mut found, mut missing) = (vec![], vec![]);
    // A replay does not call `memcpy`, in which alone this library differs from furlong.
    let differs = |subject: &&Named| subject.name != "furlong-checked";
    for subject in SUBJECTS.iter().filter(differs) {
        if let Some(remedy) = subject.missing() {
            missing.push((subject.name, remedy));
            continue;
        }
        let Ok(file) = subject.preload.find() else {
            continue;
        };
        let own = SETTINGS.iter().filter(|(of, _)| *of == subject.name);
        let settings = own.map(|(_, setting)| Some(*setting));
        found.extend(
            std::iter::once(None)
                .chain(settings)
                .map(|setting| Candidate {
                    allocator: subject.name,
                    setting,
                    file: file.clone(),
                }),
        );
    }
    for (name, file) in further.iter().filter(|(_, file)| file.is_file()) {
        found.push(Candidate {
            allocator: name,
            setting: None,
            file: file.to_path_buf(),
        });
    }
    found.sort_by_key(|candidate| candidate.allocator != "glibc");
    (found, missing)
}
