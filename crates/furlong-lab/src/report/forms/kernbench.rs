//! GNU time's two lines for every run and for their mean, the usual report of kernel builds.
//!
//! The digits are GNU time's: it truncates digits that it does not print, and computes the CPU
//! share from whole milliseconds.
#![forbid(unsafe_code)]

use std::fmt;

use super::super::text::plain;
use crate::model::result::{ArmResult, ResultFile};

/// GNU time's figures of a run, as metric names.
const METRICS: [&str; 8] = [
    "user_s",
    "sys_s",
    "wall_s",
    "maxrss_kib",
    "fs_inputs",
    "fs_outputs",
    "major_faults",
    "minor_faults",
];

/// The figures of [`METRICS`], of one run or the mean of several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Figures([f64; METRICS.len()]);

/// Every command's runs in their order, and their mean.
pub(super) fn render(file: &ResultFile) -> Result<String, String> {
    let mut text = String::new();
    for experiment in &file.experiments {
        if let Some(missing) = METRICS
            .iter()
            .find(|name| !experiment.metrics.contains_key(**name))
        {
            return Err(format!(
                "--format kernbench: `{}` has no {missing}: this format needs a run of `furlong \
                 compare`",
                plain(&experiment.name)
            ));
        }
        for workload in &experiment.workloads {
            if experiment.workloads.len() > 1 {
                text.push_str(&format!("{}\n\n", plain(&workload.name)));
            }
            for arm in &workload.arms {
                text.push_str(&runs(arm));
            }
        }
    }
    Ok(text)
}

/// One command's part.
fn runs(arm: &ArmResult) -> String {
    let blocks = METRICS.map(|metric| arm.samples.get(metric).map_or(0, Vec::len));
    let blocks = blocks.into_iter().max().unwrap_or(0);
    let mut text = format!("{}:\n\n", plain(&arm.name));
    let mut known = vec![];
    for block in 0..blocks {
        match figures(arm, block) {
            Some(figures) => {
                text.push_str(&format!("{figures}\n"));
                known.push(figures);
            }
            None => text.push_str(&format!("run {} failed\n", block + 1)),
        }
    }
    if let Some(mean) = Figures::mean(&known) {
        let runs = if known.len() == 1 { "run" } else { "runs" };
        text.push_str(&format!("\nmean of {} {runs}:\n{mean}\n", known.len()));
    }
    text.push('\n');
    text
}

/// The figures of a block, if it has all of them.
fn figures(arm: &ArmResult, block: usize) -> Option<Figures> {
    let mut figures = Figures::default();
    for (figure, metric) in figures.0.iter_mut().zip(METRICS) {
        *figure = *arm.samples.get(metric)?.get(block)?.as_ref()?;
    }
    Some(figures)
}

impl Figures {
    fn mean(all: &[Self]) -> Option<Self> {
        let mut mean = Self::default();
        for (place, figure) in mean.0.iter_mut().enumerate() {
            *figure = all.iter().map(|one| one.0[place]).sum::<f64>() / all.len() as f64;
        }
        (!all.is_empty()).then_some(mean)
    }
}

/// `21592.22user 2995.71system 3:38.52elapsed 11251%CPU (0avgtext+0avgdata 469212maxresident)k`
/// and `15400inputs+17103904outputs (57804major+606382185minor)pagefaults 0swaps`.
///
/// Linux keeps no averages of text and data and counts no swaps: GNU time prints zeros there.
impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [
            user_s,
            sys_s,
            wall_s,
            maxrss,
            inputs,
            outputs,
            majors,
            minors,
        ] = self.0;
        let [user_ms, sys_ms, wall_ms] = [user_s, sys_s, wall_s].map(milliseconds);
        let share = (user_ms + sys_ms) * 100;
        write!(f, "{}user {}system ", seconds(user_ms), seconds(sys_ms))?;
        write!(f, "{}elapsed ", clock(wall_ms))?;
        match share.checked_div(wall_ms) {
            Some(share) => write!(f, "{share}%CPU ")?,
            None => write!(f, "?%CPU ")?,
        }
        writeln!(f, "(0avgtext+0avgdata {maxrss:.0}maxresident)k")?;
        write!(f, "{inputs:.0}inputs+{outputs:.0}outputs ")?;
        write!(f, "({majors:.0}major+{minors:.0}minor)pagefaults 0swaps")
    }
}

/// Whole milliseconds of a time in seconds that the kernel reported in micro- or nanoseconds.
fn milliseconds(seconds: f64) -> u64 {
    // Rounded to nanoseconds first: 0.29 times 1000 is a little less than 290.
    (seconds * 1e9).round() as u64 / 1_000_000
}

/// `21592.22`.
fn seconds(ms: u64) -> String {
    format!("{}.{:02}", ms / 1000, ms % 1000 / 10)
}

/// `3:38.52`; from an hour on `1:03:38`.
fn clock(ms: u64) -> String {
    let (minutes, seconds) = (ms / 60_000, ms / 1000 % 60);
    if minutes >= 60 {
        format!("{}:{:02}:{seconds:02}", minutes / 60, minutes % 60)
    } else {
        format!("{minutes}:{seconds:02}.{:02}", ms % 1000 / 10)
    }
}

#[cfg(test)]
mod tests {
    use super::Figures;

    /// The three runs of a kernel build on a red-black tree, as published. The elapsed times
    /// include the digits that GNU time truncated.
    const PUBLISHED: [(Figures, &str); 3] = [
        (
            Figures([
                21592.22,
                2995.71,
                218.529,
                469212.0,
                15400.0,
                17103904.0,
                57804.0,
                606382185.0,
            ]),
            "21592.22user 2995.71system 3:38.52elapsed 11251%CPU \
             (0avgtext+0avgdata 469212maxresident)k\n\
             15400inputs+17103904outputs (57804major+606382185minor)pagefaults 0swaps",
        ),
        (
            Figures([
                21993.77,
                3031.04,
                217.249,
                473396.0,
                0.0,
                17103912.0,
                109469.0,
                606420309.0,
            ]),
            "21993.77user 3031.04system 3:37.24elapsed 11518%CPU \
             (0avgtext+0avgdata 473396maxresident)k\n\
             0inputs+17103912outputs (109469major+606420309minor)pagefaults 0swaps",
        ),
        (
            Figures([
                21950.81,
                3028.40,
                218.474,
                471032.0,
                0.0,
                17103904.0,
                90825.0,
                606505956.0,
            ]),
            "21950.81user 3028.40system 3:38.47elapsed 11433%CPU \
             (0avgtext+0avgdata 471032maxresident)k\n\
             0inputs+17103904outputs (90825major+606505956minor)pagefaults 0swaps",
        ),
    ];

    #[test]
    fn published_runs_print_as_they_were_published() {
        for (figures, line) in PUBLISHED {
            assert_eq!(figures.to_string(), line);
        }
    }

    #[test]
    fn the_mean_of_runs_is_taken_figure_by_figure() {
        let mean = Figures::mean(&PUBLISHED.map(|(figures, _)| figures)).expect("three runs");
        assert_eq!(
            mean.to_string(),
            "21845.60user 3018.38system 3:38.08elapsed 11401%CPU \
             (0avgtext+0avgdata 471213maxresident)k\n\
             5133inputs+17103907outputs (86033major+606436150minor)pagefaults 0swaps"
        );
        assert_eq!(Figures::mean(&[]), None);
    }

    #[test]
    fn no_time_has_no_share_and_an_hour_loses_its_hundredths() {
        let line = |wall_s| Figures([0.0, 0.0, wall_s, 0.0, 0.0, 0.0, 0.0, 0.0]).to_string();
        assert!(line(0.0).starts_with("0.00user 0.00system 0:00.00elapsed ?%CPU "));
        assert!(line(0.29).contains(" 0:00.29elapsed 0%CPU "));
        assert!(line(59.999).contains(" 0:59.99elapsed "));
        assert!(line(3599.999).contains(" 59:59.99elapsed "));
        assert!(line(3600.0).contains(" 1:00:00elapsed "));
        assert!(line(36_061.5).contains(" 10:01:01elapsed "));
    }
}
