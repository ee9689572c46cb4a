//! The short form of a result: the answer, and how to sharpen it.
//!
//! A comparison of a few commands is told in at most twelve lines: a row per command, then a
//! sentence per comparison. A family of workloads has ten lines, and any other result a line per
//! comparison.

use super::columns::NAME_MAX;
use super::{Page, Style, family, paint, single, summary};
use crate::model::{Profile, README, command_fact};
use serde_json::Value;

use crate::model::result::{
    ArmResult, Comparison, ExperimentResult, Kind, ResultFile, Summary, Verdict, WorkloadResult,
};
use crate::report::family::Family;
use crate::report::finite::finite;
use crate::report::outline::{self, Named};
use crate::report::quantity::{Scale, counted, percent};
use crate::report::text::{plain, shorten, width};
use crate::report::{causes, geomean, told, wording};
use furlong_stats::comparison::EARLY;
use furlong_stats::stopping::Stopped;
use furlong_stats::verdict::BLOCKS_MIN;

/// Most commands with a row and a sentence each.
const COMMANDS_MAX: usize = 4;

/// Columns of the widest bar.
const BAR_MAX: usize = 24;

/// Columns from which on a bar is worth its place.
const BAR_MIN: usize = 6;

/// The answer of a result. Each line is ended, and none has trailing blanks.
///
/// # Shapes
/// No line is wider than `style.width` (at least 40); the codes of colours do not count. Two
/// commands take at most 12 lines of 60 columns.
pub fn answer(file: &ResultFile, style: &Style) -> String {
    let file = finite(file);
    let mut page = Page::new(style);
    match commands(&file) {
        _ if let Some(all) = Family::of(&file) => family::write(&mut page, &all),
        Some((e, w, primary)) => page.commands(e, w, primary),
        None if file.run.profile == Profile::Tour.name() => page.tour(&file),
        None => page.all(&file),
    }
    page.ended()
}

/// The only workload of a comparison of a few commands.
fn commands(file: &ResultFile) -> Option<(&ExperimentResult, &WorkloadResult, Named<'_>)> {
    let [e] = &file.experiments[..] else {
        return None;
    };
    let [w] = &e.workloads[..] else { return None };
    let few = (1..=COMMANDS_MAX).contains(&w.arms.len());
    let primary = outline::primary(e, w)?;
    (few && e.name == "compare").then_some((e, w, primary))
}

impl Page {
    /// A line per comparison, their number by verdict, and one ratio per arm.
    fn all(&mut self, file: &ResultFile) {
        if let [e] = &file.experiments[..] {
            let name = shorten(&e.name, self.style.width);
            self.raw(&paint::strong(&name, self.style.colour));
        }
        summary::write(self, file, 1);
        for e in &file.experiments {
            for sentence in geomean::sentences(e) {
                self.line(&sentence, 2);
            }
            for reason in silent_arms(e) {
                self.line(&reason, 2);
            }
            // A run that was stopped.
            let left_out = e.left_out.iter();
            let late = left_out.filter(|why| why.ends_with(": not reached"));
            late.for_each(|why| self.line(&plain(why), 2));
        }
        let warnings: usize = file.workloads().map(|w| w.warnings.len()).sum();
        if warnings > 0 {
            let warnings = counted(warnings as u64, "warning");
            self.line(&format!("{warnings}: see the details"), 2);
        }
    }

    /// A question and its answer per system, and the difference of the baselines from themselves.
    fn tour(&mut self, file: &ResultFile) {
        let mut floors: Vec<f64> = vec![];
        for e in &file.experiments {
            self.raw(&paint::strong(&plain(&e.question), self.style.colour));
            for w in &e.workloads {
                self.told(e, w);
                let primary = outline::primary(e, w);
                let control = primary.and_then(|(name, _)| w.control.get(name));
                floors.extend(control.and_then(|control| control.floor_pct));
            }
            self.gap();
        }
        let floor = floors.iter().copied().fold(0.0, f64::max);
        let control = format!(
            "Each baseline ran twice in every block. Their times differ by less than {}.",
            percent(floor)
        );
        self.line(&control, 2);
        self.line("next: `furlong run NAME`, with a name of `furlong list`", 2);
        let compare = "or `furlong compare 'A' 'B'`, with two commands of yours";
        self.line(compare, 2);
    }

    /// The answer of one workload of the tour, with the README's figure.
    fn told(&mut self, e: &ExperimentResult, w: &WorkloadResult) {
        let Some((name, metric)) = outline::primary(e, w) else {
            return;
        };
        let means = means(w, name);
        let scale = Scale::of(&metric.unit, means.iter().flatten().copied());
        let value = |arm: &str| {
            let at = w.arms.iter().position(|one| one.name == arm)?;
            means[at].map(|value| scale.show(value))
        };
        let readme = w.params.get(README).and_then(Value::as_str);
        let readme = readme.map_or(String::new(), |said| format!("; README: {}", plain(said)));
        for c in outline::comparisons(w, name) {
            let pair = [&c.baseline, &c.arm].map(|arm| {
                let value = value(arm).unwrap_or_default();
                format!("{} ({value})", plain(arm))
            });
            let sentence = told::answer(metric, c, pair.each_ref().map(String::as_str));
            let text = format!("{sentence}{readme}");
            self.raw(&paint::answer(&text, c.verdict, &self.style));
        }
        for arm in &w.arms {
            if let Some(reason) = &arm.na {
                self.line(&format!("{}: {}", plain(&arm.name), plain(reason)), 2);
            }
        }
    }

    fn commands(&mut self, e: &ExperimentResult, w: &WorkloadResult, primary: Named<'_>) {
        if let Some(arm) = single::arm(w) {
            single::write(self, e, w, arm);
            self.line(single::NOT_COMPARED, 2);
            return;
        }
        self.rows(w, primary);
        let comparisons = outline::comparisons(w, primary.0);
        if comparisons.is_empty() {
            self.line("no verdict: nothing was compared", 2);
            return;
        }
        if let [c] = &comparisons[..] {
            self.others(e, w, c);
        }
        self.gap();
        let names: Vec<&str> = w.arms.iter().map(|arm| arm.name.as_str()).collect();
        let short = told::labels(&names, NAME_MAX.min(self.style.width / 3));
        let label = |name: &str| {
            let place = names.iter().position(|known| *known == name);
            place.map_or("", |place| short[place].as_str())
        };
        for c in &comparisons {
            let pair = [label(&c.baseline), label(&c.arm)];
            let sentence = told::answer(primary.1, c, pair);
            self.raw(&paint::answer(&sentence, c.verdict, &self.style));
            self.causes(w, c, pair);
        }
        for remark in remarks(e, w, &comparisons) {
            self.line(&remark, 2);
        }
    }

    /// The functions behind a difference, if they were counted.
    fn causes(&mut self, w: &WorkloadResult, c: &Comparison, [baseline, arm]: [&str; 2]) {
        let Some(found) = causes::causes(w, &c.arm, [baseline, arm]) else {
            return;
        };
        for line in found.lines() {
            self.raw(&shorten(&line, self.style.width));
        }
    }

    /// `sleep 0.1    102.3 ± 0.4 ms  ████████`.
    fn rows(&mut self, w: &WorkloadResult, (name, metric): Named<'_>) {
        let summaries = w.arms.iter().map(|arm| arm.summary.get(name));
        let means = means(w, name);
        let known = means.iter().flatten().copied();
        let greatest = known.clone().fold(0.0, f64::max);
        let scale = Scale::of(&metric.unit, known.clone());
        let scale = scale.in_time(self.style.time_unit, known);
        let figures = means.iter().zip(summaries);
        let figures: Vec<String> = figures.map(|(mean, s)| figure(*mean, s, &scale)).collect();
        let figures_width = figures.iter().map(|f| width(f)).max().unwrap_or(0);
        let names_max = self.style.width.saturating_sub(figures_width + 2);
        let bar_max = names_max.saturating_sub(longest(w) + 2).min(BAR_MAX);
        let names_width = longest(w).min(names_max);
        let names: Vec<&str> = w.arms.iter().map(|arm| arm.name.as_str()).collect();
        let names = told::labels(&names, names_width);
        for ((arm, mean), figure) in names.iter().zip(means).zip(figures) {
            let mut row = format!(
                "{arm}{}  {}{figure}",
                " ".repeat(names_width.saturating_sub(width(arm))),
                " ".repeat(figures_width - width(&figure))
            );
            if let Some(mean) = mean.filter(|_| bar_max >= BAR_MIN && greatest > 0.0) {
                row.push_str("  ");
                row.push_str(&bar(mean / greatest, bar_max));
            }
            self.raw(&row);
        }
    }

    /// The other metrics that clearly changed.
    fn others(&mut self, e: &ExperimentResult, w: &WorkloadResult, main: &Comparison) {
        // Counts first: they are exact.
        let all = outline::secondary(e, w, Kind::Exact).into_iter();
        let all = all.chain(outline::secondary(e, w, Kind::Sampled));
        let changed = all.filter_map(|(name, _)| {
            let c = outline::comparison(w, &main.arm, name)?;
            let clear = matches!(c.verdict, Verdict::Keep | Verdict::Revert);
            clear.then(|| format!("{} {}", told::called(name), told::amount(c)))
        });
        let changed: Vec<String> = changed.collect();
        // One line has room for some of them.
        let line = |many: usize| {
            let rest = match changed.len() - many {
                0 => String::new(),
                rest => format!(", and {rest} more"),
            };
            format!("also: {}{rest}", changed[..many].join(", "))
        };
        let fitting = (1..=changed.len()).rev().map(line);
        let mut fitting = fitting.filter(|line| width(line) <= self.style.width);
        let shortest = || (!changed.is_empty()).then(|| line(1));
        if let Some(line) = fitting.next().or_else(shortest) {
            self.line(&line, 2);
        }
    }
}

/// A mean per arm; the baseline's is over both of its runs. They are geometric, as the sentence
/// compares logarithms: the ratio of two means is the one that it tells. If some value has no
/// logarithm, they are arithmetic. `None` without values.
fn means(w: &WorkloadResult, name: &str) -> Vec<Option<f64>> {
    let again = |arm: &ArmResult| match outline::baseline(w) == Some(&arm.name) {
        true => outline::control_values(w, name),
        false => vec![],
    };
    let values = |arm: &ArmResult| [outline::values(arm, name), again(arm)].concat();
    let values: Vec<Vec<f64>> = w.arms.iter().map(values).collect();
    let have_logarithms = values.iter().flatten().all(|value| *value > 0.0);
    let mean = |values: &Vec<f64>| {
        let of = |sum: f64| sum / values.len() as f64;
        let mean = match have_logarithms {
            true => of(values.iter().map(|value| value.ln()).sum()).exp(),
            false => of(values.iter().sum()),
        };
        (!values.is_empty()).then_some(mean)
    };
    values.iter().map(mean).collect()
}

/// The arms that no workload could compare, each with its reason.
fn silent_arms(e: &ExperimentResult) -> Vec<String> {
    let compared = |name: &str| {
        let mut all = e.workloads.iter().flat_map(|w| &w.comparisons);
        all.any(|c| c.arm == name || c.baseline == name)
    };
    let mut reasons: Vec<String> = vec![];
    for arm in e.workloads.iter().flat_map(|w| &w.arms) {
        let Some(why) = arm.na.as_deref().filter(|_| !compared(&arm.name)) else {
            continue;
        };
        let reason = format!("{}: n/a: {}", plain(&arm.name), plain(why));
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons
}

/// Columns of the longest name.
fn longest(w: &WorkloadResult) -> usize {
    let widths = w.arms.iter().map(|arm| width(&plain(&arm.name)));
    widths.max().unwrap_or(0)
}

/// `102.3 ± 0.4 ms`.
fn figure(mean: Option<f64>, summary: Option<&Summary>, scale: &Scale) -> String {
    let Some(mean) = mean else {
        return "no value".to_owned();
    };
    let stddev = summary.and_then(|s| s.stddev);
    let spread = stddev.map_or(String::new(), |s| format!(" ± {}", scale.number(s)));
    let number = format!("{}{spread}", scale.number(mean));
    format!("{number} {}", scale.symbol()).trim_end().to_owned()
}

/// A bar of this share of the columns, to an eighth of a column.
fn bar(share: f64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    // At most a few hundred.
    let eighths = (share.clamp(0.0, 1.0) * (columns * 8) as f64).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// Sentences after the answer: reasons, and what would sharpen it.
fn remarks(e: &ExperimentResult, w: &WorkloadResult, comparisons: &[&Comparison]) -> Vec<String> {
    let mut remarks: Vec<String> = vec![];
    if let [c] = comparisons
        && let Some(by_layout) = &c.by_layout
    {
        remarks.push(wording::in_layouts(by_layout));
    }
    if let Some([one, other]) = command_fact::duet(&w.params) {
        remarks.push(format!(
            "a duet on processors {one} and {other}: the ratio counts, not the times"
        ));
    }
    let open = comparisons.iter();
    let open = open.filter(|c| c.verdict == Verdict::Inconclusive);
    if let Some(c) = open.max_by_key(|c| c.n_needed) {
        let control = w.control.get(&c.metric);
        let failed = control.is_some_and(|control| control.failed);
        let reason = c.reason.as_deref();
        // The interval shown is then not the one that decided.
        remarks.extend(reason.filter(|reason| *reason == EARLY).map(plain));
        remarks.extend(if failed || c.n < BLOCKS_MIN {
            reason.map(plain)
        } else {
            sharper(c, outline::secondary(e, w, Kind::Exact).is_empty())
        });
    }
    if Stopped::of(w) == Some(Stopped::Verdict) {
        remarks.push("ended when certain; the true difference may be a little smaller".to_owned());
    }
    remarks
}

/// Ways to a verdict: more blocks, and counts if there are none.
fn sharper(c: &Comparison, countable: bool) -> Option<String> {
    let more = |n: &u32| *n as usize > c.n && *n < wording::BLOCKS_CAP;
    let blocks = c.n_needed.filter(more);
    let blocks = blocks.map(|n| {
        let layouts = c.by_layout.and_then(|by_layout| by_layout.needed);
        let (option, n) = layouts.map_or(("blocks", n), |layouts| ("layouts", layouts));
        format!("about {} (--{option} {n})", wording::enough(c, n))
    });
    let counts = countable.then(|| "instruction counts (--counters auto)".to_owned());
    let ways: Vec<String> = blocks.into_iter().chain(counts).collect();
    (!ways.is_empty()).then(|| format!("to decide: {}", ways.join(", or ")))
}
