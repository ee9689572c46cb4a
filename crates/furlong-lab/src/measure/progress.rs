//! The progress bar, which is drawn between samples only, never during one.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::model::schedule::{ENOUGH_RUNS, Schedule, ScheduledWorkload};
use crate::talk::{self, Voice};
use furlong_stats::stopping::Stopping;

/// Progress of a run, for a person who watches it.
pub struct Progress {
    bar: ProgressBar,
    /// Causes that were reported.
    reported: RefCell<HashSet<String>>,
}

impl Progress {
    /// Returns a bar on stderr, or none if stderr is no terminal or the user wants none.
    pub fn new(voice: Voice, schedule: &Schedule) -> Progress {
        if voice != Voice::Normal || !io::stderr().is_terminal() {
            return Progress::hidden();
        }
        let total = Duration::from_secs_f64(expected_s(schedule));
        let bar = ProgressBar::with_draw_target(Some(millis(total)), ProgressDrawTarget::stderr());
        let template = if is_timed(schedule) {
            "{msg}, {elapsed}"
        } else {
            "{msg} {wide_bar} {percent:>3} % {eta} left"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Progress::with(bar)
    }

    /// Returns a hidden bar.
    pub fn hidden() -> Progress {
        Progress::with(ProgressBar::hidden())
    }

    fn with(bar: ProgressBar) -> Progress {
        Progress {
            bar,
            reported: RefCell::default(),
        }
    }

    /// True if nobody sees it.
    pub fn is_hidden(&self) -> bool {
        self.bar.is_hidden()
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

    /// Prints a line above the bar, unless one with this cause was printed.
    pub fn say_once(&self, cause: String, line: &str) {
        if self.reported.borrow_mut().insert(cause) {
            self.say(line);
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// True if the number of blocks follows from the time.
fn is_timed(schedule: &Schedule) -> bool {
    let mut all = schedule.workloads();
    let timed = |one: &ScheduledWorkload| {
        matches!(one.stopping(), Stopping::Answer { .. }) || one.facts.contains_key(ENOUGH_RUNS)
    };
    all.any(timed)
}

/// Returns the expected total time of all blocks of a run, in seconds.
pub(crate) fn expected_s(schedule: &Schedule) -> f64 {
    let entries = schedule.experiments.iter();
    let seconds = entries.flat_map(|entry| {
        entry.workloads.iter().map(|scheduled| {
            if let Stopping::Answer { limit_s } = scheduled.stopping() {
                return limit_s;
            }
            let block_s = entry.processes(scheduled).len() as f64 * scheduled.guess_s();
            let blocks_s = f64::from(scheduled.blocks) * block_s;
            let least_s = f64::from(scheduled.min_blocks()) * block_s;
            // A block that has begun is finished.
            let until_s = scheduled
                .max_time_s()
                .map(|limit_s| limit_s.max(least_s) + block_s);
            until_s.map_or(blocks_s, |until_s| blocks_s.min(until_s))
        })
    });
    seconds.sum()
}
