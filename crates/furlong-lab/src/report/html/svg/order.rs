//! The values in the order in which they were measured: drift, steps and bursts are visible here.
//!
//! Every arm has a panel with the distances from its own median. All panels share both axes: a
//! disturbance of the machine is at the same place in each.

use maud::{Markup, html};

use super::scale::Scale;
use super::{Track, WIDTH, axis, dots, figure, label, line, path, segment, tracks, trend};
use crate::model::result::WorkloadResult;
use crate::report::outline::{self, Named};
use crate::report::quantity::Scale as Unit;
use crate::report::text::shorten;

/// Height of a panel's label.
const LABEL: f64 = 17.0;
/// Height of a panel's plot.
const PLOT: f64 = 44.0;
/// Room for the numbers at the left.
const LEFT: f64 = 44.0;
/// Blocks from which on there is a figure: the table lists fewer values in the same order.
const BLOCKS_FROM: usize = 12;
/// Values of a running median.
const TREND_OVER: usize = 9;

/// One panel.
struct Panel<'a> {
    track: Track<'a>,
    /// Place in the run and distance from the median, in the order of the run.
    points: Vec<(f64, Option<f64>)>,
}

/// Format of distances.
struct Distance {
    unit: Unit,
    relative: bool,
}

/// The figure; `None` if there are few blocks, or no value.
pub(in crate::report::html) fn draw(w: &WorkloadResult, m: Named<'_>) -> Option<Markup> {
    let (name, metric) = m;
    if w.blocks.len() < BLOCKS_FROM {
        return None;
    }
    let unit = Unit::of(
        &metric.unit,
        w.arms.iter().filter_map(|a| outline::typical(a, name)),
    );
    let all = w.arms.iter().flat_map(|arm| outline::values(arm, name));
    let distance = Distance {
        unit,
        relative: all.into_iter().all(|v| v > 0.0),
    };
    let panels = tracks(w, name).into_iter().map(|track| Panel {
        points: points(w, &track, &distance),
        track,
    });
    let panels: Vec<Panel<'_>> = panels.collect();
    let points = || panels.iter().flat_map(|p| &p.points);
    let distances = || points().filter_map(|(_, d)| *d);
    distances().next()?;
    let reach = distances().fold(0.0_f64, |reach, d| reach.max(d.abs()));
    let reach = if reach > 0.0 { reach * 1.08 } else { 1.0 };
    let xs = Scale::over(points().map(|(x, _)| *x), 0.01, LEFT, WIDTH - 4.0)?;
    let ys = Scale::new(-reach, reach, PLOT, 0.0);
    let bottom = f64::from(u32::try_from(panels.len()).ok()?) * (LABEL + PLOT) + 4.0;
    let places = || {
        (0_u32..)
            .map(|i| f64::from(i) * (LABEL + PLOT) + LABEL)
            .zip(&panels)
    };
    let from = xs.at(xs.ends().0);
    let across = |value: f64| -> String {
        let ys = places().map(|(plot, _)| plot + ys.at(value));
        ys.map(|y| segment(from, y, WIDTH, y)).collect()
    };
    let mark = axis::round_below(reach);
    let content = html! {
        (path("zero", &across(0.0)))
        @if let Some((at, text)) = &mark {
            (path("grid", &format!("{}{}", across(*at), across(-at))))
            // All panels have the scale of the first.
            @for (value, sign) in [(*at, "+"), (-at, "−")] {
                (label("tick end", LEFT - 5.0, LABEL + ys.at(value) + 4.0,
                    format!("{sign}{text} {}", distance.symbol()).trim_end()))
            }
        }
        @for (plot, panel) in places() { (panel.draw(plot, &xs, &ys)) }
        (axis::horizontal(&xs, bottom, ""))
        (label("tick", 0.0, bottom + 17.0, "block"))
    };
    let about = format!(
        "{} in the order of the run: the distance of each value from its arm's median.",
        shorten(name, 60)
    );
    Some(figure(bottom + axis::HEIGHT - 12.0, &about, &content))
}

fn points(w: &WorkloadResult, track: &Track<'_>, distance: &Distance) -> Vec<(f64, Option<f64>)> {
    let median = outline::median(&track.values()).unwrap_or(0.0);
    let of = |value: &Option<f64>| value.map(|v| distance.of(v, median));
    let points = track.samples.iter().enumerate();
    let points = points.map(|(i, value)| (place(w, track.runner, i), of(value)));
    let mut points: Vec<_> = points.collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// The block's number and, as its fraction, the turn within the block.
fn place(w: &WorkloadResult, arm: &str, index: usize) -> f64 {
    let block = w.blocks.get(index).map_or(index as f64, |b| f64::from(*b));
    let turn = w.order.get(index).and_then(|order| {
        let turn = order.iter().position(|name| name == arm)?;
        let part = u32::try_from(turn).ok()?;
        Some(f64::from(part) / f64::from(u32::try_from(order.len()).ok()?))
    });
    block + turn.unwrap_or(0.0)
}

impl Distance {
    fn of(&self, value: f64, median: f64) -> f64 {
        if self.relative {
            100.0 * (value / median - 1.0)
        } else {
            self.unit.scaled(value - median)
        }
    }

    fn symbol(&self) -> &str {
        if self.relative { "%" } else { self.unit.axis() }
    }
}

impl Panel<'_> {
    /// Draws the panel with its plot at this height.
    fn draw(&self, plot: f64, xs: &Scale, ys: &Scale) -> Markup {
        let there = self.points.iter().filter_map(|(x, d)| Some((*x, (*d)?)));
        let placed = there.map(|(x, d)| (xs.at(x), plot + ys.at(d)));
        html! {
            g class=(self.track.colour) {
                (label("", LEFT, plot - 4.0, &self.track.name))
                (trend(self.medians(xs, ys, plot)))
                (dots(self.track.dots, placed))
                @for (x, _) in self.points.iter().filter(|(_, d)| d.is_none()) {
                    (missing(xs.at(*x), plot + PLOT - 3.0))
                }
            }
        }
    }

    /// The moving median of the distances.
    fn medians(&self, xs: &Scale, ys: &Scale, plot: f64) -> Vec<(f64, f64)> {
        let there = self.points.iter().filter_map(|(x, d)| Some((*x, (*d)?)));
        let there: Vec<(f64, f64)> = there.collect();
        let median = |window: &[(f64, f64)]| {
            let distances: Vec<f64> = window.iter().map(|(_, d)| *d).collect();
            let median = outline::median(&distances)?;
            Some((xs.at(window[TREND_OVER / 2].0), plot + ys.at(median)))
        };
        there.windows(TREND_OVER).filter_map(median).collect()
    }
}

/// A cross at the place of a failed sample.
fn missing(x: f64, y: f64) -> Markup {
    html! {
        g {
            title { "no value" }
            (line("missing", x - 3.0, y - 3.0, x + 3.0, y + 3.0))
            (line("missing", x - 3.0, y + 3.0, x + 3.0, y - 3.0))
        }
    }
}
