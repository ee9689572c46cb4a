//! The bar: drawn between samples only, never while one is being taken.
#![forbid(unsafe_code)]

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::model::schedule::Agenda;
use crate::talk::{self, Voice};

/// How far a run is, for a person who watches it.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar on stderr, or none where that is no terminal or the user wants quiet.
    #[must_use]
    pub fn new(voice: Voice, agenda: &Agenda) -> Progress {
        if voice == Voice::Quiet || !io::stderr().is_terminal() {
            return Progress::hidden();
        }
        let total = Duration::from_secs_f64(total_s(agenda));
        let bar = ProgressBar::with_draw_target(Some(millis(total)), ProgressDrawTarget::stderr());
        if let Ok(style) =
            ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} % {eta} left")
        {
            bar.set_style(style);
        }
        Progress { bar }
    }

    /// No bar.
    #[must_use]
    pub fn hidden() -> Progress {
        Progress {
            bar: ProgressBar::hidden(),
        }
    }

    /// What runs now.
    pub fn now(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    /// So many seconds of what was expected are done.
    pub fn done(&self, seconds: f64) {
        self.bar.inc(millis(Duration::from_secs_f64(seconds)));
    }

    /// Says something above the bar.
    pub fn say(&self, line: &str) {
        self.bar.suspend(|| talk::say(line));
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// What the blocks of a run will take, in all.
fn total_s(agenda: &Agenda) -> f64 {
    let entries = agenda.experiments.iter();
    let seconds = entries.flat_map(|entry| {
        entry.loads.iter().map(|load| {
            let arms = entry.arms.iter().filter(|arm| load.has(arm)).count();
            let processes = u32::try_from(arms + 1).unwrap_or(u32::MAX);
            f64::from(load.blocks) * f64::from(processes) * load.guess_s()
        })
    });
    seconds.sum()
}
