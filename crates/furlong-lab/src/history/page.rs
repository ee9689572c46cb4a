//! The page of a history.

use std::collections::BTreeSet;

use super::machine_history::History;
use super::series::{Point, Series, Step};
use crate::model::result::{Kind, Machine};
use crate::record::store::Listed;
use crate::report::quantity::{Scale, fixed, percent, signed};
use crate::report::sheet::{Grid, Sheet};

/// Bars from the least to the greatest value of a series.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Number of the latest points of a series that are drawn.
const DRAWN: usize = 24;

/// The runs of a machine, one row each.
pub fn runs(listed: &[Listed]) -> Grid {
    let mut grid = Grid::new(&["run", "began", "", "profile", "experiments", "tag", "note"]);
    for run in listed {
        let mut signs = vec![];
        if run.pinned {
            signs.push("pinned");
        }
        if run.status.name() != "finished" {
            signs.push(run.status.name());
        }
        grid.push([
            run.id.clone(),
            minutes(&run.started),
            signs.join(", "),
            run.profile.clone(),
            shortened(&run.experiments.join(" ")),
            run.tag.clone().unwrap_or_default(),
            run.note.clone().unwrap_or_default(),
        ]);
    }
    grid
}

/// Longest text in a column of names, in characters.
const NAMES_CHARS_MAX: usize = 48;

fn shortened(names: &str) -> String {
    match names.char_indices().nth(NAMES_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &names[..end]),
        None => names.to_owned(),
    }
}

/// The whole page.
pub fn page(history: &History) -> Sheet {
    let Machine {
        class,
        host,
        kernel,
        ..
    } = &history.machine;
    let mut sheet = Sheet::new(match class {
        Some(class) => format!("Runs on machines of class {class}"),
        None => format!("Runs on {host} ({kernel})"),
    });
    sheet.table(runs(&history.runs));
    for one in &history.experiments {
        let name = match &one.comparison {
            Some(comparison) => format!("{}: {comparison}", one.name),
            None => one.name.clone(),
        };
        experiment(&mut sheet, &name, &one.question, &one.series);
    }
    sheet
}

/// The series of an experiment: one table, and a sentence for each step.
pub fn experiment(sheet: &mut Sheet, name: &str, question: &str, series: &[Series]) {
    sheet.heading(name);
    sheet.text(question);
    let mut grid = Grid::of("workload|arm|>runs|>first|>latest|plot|>steps");
    let mut notes = vec![];
    for one in series {
        let figure = figures(one);
        let at = |place: usize| figure(one.points[place].value);
        let last = one.points.len() - 1;
        grid.push([
            one.workload.clone(),
            what(one),
            one.points.len().to_string(),
            at(0),
            at(last),
            plot(&one.points),
            one.steps.len().to_string(),
        ]);
        notes.extend(one.steps.iter().map(|step| sentence(one, step)));
        if let Some(noise) = one.noise_pct {
            notes.push(format!(
                "{}: in 95 of 100 runs the baseline differed from itself by at most {}",
                one.workload,
                percent(noise)
            ));
        }
        if one.otherwise > 0 {
            notes.push(format!(
                "{}, {}: {} runs with other parameters are left out",
                one.workload, one.arm, one.otherwise
            ));
        }
    }
    sheet.table(grid);
    let sampled = series.iter().filter(|one| one.about.kind == Kind::Sampled);
    let sampled = sampled.filter(|one| one.points.len() >= 6).count();
    notes.extend(dismissed(series));
    sheet.notes(notes);
    if sampled > 0 {
        sheet.text(format!(
            "A step is a change of level by more than the metric's margin. Fewer than one in a \
             hundred series of independent noise show a step, and more if each run resembles the \
             one before; {sampled} series here are long enough to show one."
        ));
    }
}

/// "checked / eager" for a ratio, otherwise the metric's name.
pub(crate) fn what(series: &Series) -> String {
    match &series.baseline {
        Some(baseline) => format!("{} / {baseline}", series.arm),
        None => format!("{}, {}", series.arm, series.metric),
    }
}

/// The number format of a series.
pub(crate) fn figures(series: &Series) -> impl Fn(f64) -> String {
    let values = series.points.iter().map(|point| point.value);
    let scale = Scale::of(&series.about.unit, values);
    let is_ratio = series.baseline.is_some();
    move |value| match is_ratio {
        true => fixed(value, 3),
        false => scale.show(value),
    }
}

/// A step in words.
pub(crate) fn sentence(series: &Series, step: &Step) -> String {
    let figure = figures(series);
    let point = &series.points[step.at];
    let tag = point.tag.as_ref();
    let tag = tag.map_or_else(String::new, |tag| format!(", tag {tag}"));
    let p = match step.p {
        Some(p) => format!(" (p = {p:.1e} of a t test at the best place)"),
        None => " (exact)".to_owned(),
    };
    format!(
        "{}, {}: {} to {}, {} %, from run {} of {} on ({}{tag}){p}",
        series.workload,
        what(series),
        figure(step.before),
        figure(step.after),
        signed(step.effect_pct, 1),
        point.run,
        minutes(&point.started),
        point.version,
    )
}

/// The runs that the user has judged to change nothing, in words.
pub(crate) fn dismissed(series: &[Series]) -> BTreeSet<String> {
    let points = series.iter().flat_map(|one| &one.points);
    let runs = points.filter(|point| point.is_dismissed);
    runs.map(|point| format!("run {} is marked as no change", point.run))
        .collect()
}

/// The latest points as bars between their least and greatest.
fn plot(points: &[Point]) -> String {
    let shown = &points[points.len().saturating_sub(DRAWN)..];
    let values = shown.iter().map(|point| point.value);
    let (low, high) = values
        .clone()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
    let top = (BARS.len() - 1) as f64;
    let bar = |value: f64| match high > low {
        true => BARS[((value - low) / (high - low) * top).round() as usize % BARS.len()],
        false => BARS[0],
    };
    values.map(bar).collect()
}

/// A time without its seconds.
pub(crate) fn minutes(time: &str) -> String {
    time.get(..16).unwrap_or(time).replacen('T', " ", 1)
}
