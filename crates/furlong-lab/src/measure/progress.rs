//! The progress bar, which is drawn between samples only, never during one.
#![forbid(unsafe_code)]

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::model::schedule::Schedule;
use crate::talk::{self, Voice};

/// Progress of a run, for a person who watches it.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Returns a bar on stderr, or none if stderr is no terminal or the user wants quiet.
    #[must_use]
    pub fn new(voice: Voice, schedule: &Schedule) -> Progress {
        if voice == Voice::Quiet || !io::stderr().is_terminal() {
            return Progress::hidden();
        }
        let total = Duration::from_secs_f64(total_s(schedule));
        let bar = ProgressBar::with_draw_target(Some(millis(total)), ProgressDrawTarget::stderr());
        if let Ok(style) =
            ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} % {eta} left")
        {
            bar.set_style(style);
        }
        Progress { bar }
    }

    /// Returns a hidden bar.
    #[must_use]
    pub fn hidden() -> Progress {
        Progress {
            bar: ProgressBar::hidden(),
        }
    }

    /// Shows the name of the current work.
    pub fn now(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    /// Advances by seconds of the expected time.
    pub fn done(&self, seconds: f64) {
        self.bar.inc(millis(Duration::from_secs_f64(seconds)));
    }

    /// Prints a line above the bar.
    pub fn say(&self, line: &str) {
        self.bar.suspend(|| talk::say(line));
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the expected total time of all blocks of a run.
fn total_s(schedule: &Schedule) -> f64 {
    let entries = schedule.experiments.iter();
    let seconds = entries.flat_map(|entry| {
        entry.workloads.iter().map(|scheduled| {
            let arms = entry.arms.iter().filter(|arm| scheduled.has(arm)).count();
            let processes = u32::try_from(arms + 1).unwrap_or(u32::MAX);
            f64::from(scheduled.blocks) * f64::from(processes) * scheduled.guess_s()
        })
    });
    seconds.sum()
}
