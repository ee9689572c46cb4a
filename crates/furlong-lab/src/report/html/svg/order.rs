//! The values in the order in which they were measured: drift, steps and bursts are visible here.
//!
//! Every arm has a panel with the distances from its own median. All panels share both axes: a
//! disturbance of the machine is at the same place in each.
#![forbid(unsafe_code)]

use std::fmt::Write as _;

use maud::{Markup, html};

use super::scale::Scale;
use super::{WIDTH, axis, figure, label, line, px};
use crate::model::result::{CONTROL, WorkloadResult};
use crate::report::html::arms::Look;
use crate::report::html::frame::minus;
use crate::report::outline::{self, Named};
use crate::report::quantity::{Scale as Unit, signed};
use crate::report::text::shorten;

/// Height of a panel's label.
const LABEL: f64 = 17.0;
/// Height of a panel's plot.
const PLOT: f64 = 44.0;
/// Room for the numbers at the left.
const LEFT: f64 = 44.0;
/// Values from which on the running median is drawn, and the width of its window.
const TREND_FROM: usize = 12;
const TREND_OVER: usize = 9;

/// One panel.
struct Panel {
    name: String,
    look: Look,
    hollow: bool,
    /// Place in the run, distance from the median, and value, in the order of the run.
    points: Vec<(f64, Option<f64>, Option<f64>)>,
}

/// Format of distances.
struct Distance {
    unit: Unit,
    relative: bool,
}

/// The figure; `None` if there is no value.
pub(in crate::report::html) fn draw(id: &str, w: &WorkloadResult, m: Named<'_>) -> Option<Markup> {
    let (name, metric) = m;
    let unit = Unit::of(
        &metric.unit,
        w.arms.iter().filter_map(|a| outline::typical(a, name)),
    );
    let all = w.arms.iter().flat_map(|arm| outline::values(arm, name));
    let distance = Distance {
        unit,
        relative: all.into_iter().all(|v| v > 0.0),
    };
    let panels = panels(w, name, &distance);
    let points = || panels.iter().flat_map(|p| &p.points);
    let reach = points()
        .filter_map(|(_, d, _)| *d)
        .fold(0.0_f64, |reach, d| reach.max(d.abs()));
    if !points().any(|(_, d, _)| d.is_some()) {
        return None;
    }
    let reach = if reach > 0.0 { reach * 1.08 } else { 1.0 };
    let xs = Scale::over(points().map(|(x, _, _)| *x), 0.01, LEFT, WIDTH - 4.0)?;
    let ys = Scale::new(-reach, reach, PLOT, 0.0);
    let bottom = f64::from(u32::try_from(panels.len()).ok()?) * (LABEL + PLOT) + 4.0;
    let content = html! {
        @for (panel, i) in panels.iter().zip(0_u32..) {
            (panel.draw(f64::from(i) * (LABEL + PLOT), &xs, &ys, &distance))
        }
        (axis::horizontal(&xs, bottom, ""))
        (label("tick", 0.0, bottom + 17.0, "block"))
    };
    let title = format!("{} in the order of the run", shorten(name, 60));
    let about = "One panel per arm: the distance of each value from the arm's own median, block by \
                 block. A slope is drift of the machine; a step or a burst is a disturbance.";
    Some(figure(
        id,
        bottom + axis::HEIGHT - 12.0,
        &title,
        about,
        &content,
    ))
}

fn panels(w: &WorkloadResult, metric: &str, distance: &Distance) -> Vec<Panel> {
    let mut panels = vec![];
    for (place, arm) in w.arms.iter().enumerate() {
        if let Some(samples) = arm.samples.get(metric) {
            let points = points(w, &arm.name, samples, distance);
            let name = shorten(&arm.name, 36);
            panels.push(Panel {
                name,
                look: Look::of(place),
                hollow: false,
                points,
            });
        }
    }
    if let Some(control) = w.control.get(metric) {
        let points = points(w, CONTROL, &control.samples, distance);
        let name = "control".to_owned();
        panels.push(Panel {
            name,
            look: Look::of(0),
            hollow: true,
            points,
        });
    }
    panels
}

fn points(
    w: &WorkloadResult,
    arm: &str,
    samples: &[Option<f64>],
    distance: &Distance,
) -> Vec<(f64, Option<f64>, Option<f64>)> {
    let values: Vec<f64> = samples.iter().flatten().copied().collect();
    let median = outline::median(&values).unwrap_or(0.0);
    let mut points: Vec<_> = samples
        .iter()
        .enumerate()
        .map(|(i, value)| {
            (
                place(w, arm, i),
                value.map(|v| distance.of(v, median)),
                *value,
            )
        })
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// The block's number and, as its fraction, the turn within the block.
fn place(w: &WorkloadResult, arm: &str, index: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a place on the page")]
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

impl Panel {
    fn draw(&self, top: f64, xs: &Scale, ys: &Scale, distance: &Distance) -> Markup {
        let plot = top + LABEL;
        let (_, high) = ys.ends();
        let mark = axis::round_below(high);
        let class = if self.hollow {
            "arm dots hollow"
        } else {
            "arm dots"
        };
        let from = xs.at(xs.ends().0);
        html! {
            g class=(self.look.class()) {
                (label("", LEFT, top + 13.0, &self.name))
                (line("zero", from, plot + ys.at(0.0), WIDTH, plot + ys.at(0.0)))
                @if let Some((at, text)) = mark {
                    @for (value, sign) in [(at, "+"), (-at, "−")] {
                        @let y = plot + ys.at(value);
                        (line("grid", from, y, WIDTH, y))
                        (label("tick end", LEFT - 5.0, y + 4.0,
                            format!("{sign}{text} {}", distance.symbol()).trim_end()))
                    }
                }
                @if let Some(path) = self.trend(xs, ys, plot) { path.trend d=(path) {} }
                g class=(class) {
                    @for (x, d, value) in &self.points {
                        @if let (Some(d), Some(value)) = (d, value) {
                            use href=(self.look.href()) x=(px(xs.at(*x)))
                                y=(px(plot + ys.at(*d))) {
                                title { (self.title(*x, *d, *value, distance)) }
                            }
                        }
                    }
                }
                @for (x, _, _) in self.points.iter().filter(|(_, d, _)| d.is_none()) {
                    (missing(xs.at(*x), plot + PLOT - 3.0))
                }
            }
        }
    }

    fn title(&self, x: f64, d: f64, value: f64, distance: &Distance) -> String {
        let away = format!("{} {}", signed(d, 2), distance.symbol());
        minus(&format!(
            "block {}: {}, {}",
            x.floor(),
            distance.unit.show(value),
            away.trim_end()
        ))
    }

    /// The running median.
    fn trend(&self, xs: &Scale, ys: &Scale, plot: f64) -> Option<String> {
        let there: Vec<(f64, f64)> = self
            .points
            .iter()
            .filter_map(|(x, d, _)| Some((*x, (*d)?)))
            .collect();
        if there.len() < TREND_FROM {
            return None;
        }
        let mut path = String::new();
        for window in there.windows(TREND_OVER) {
            let middle = outline::median(&window.iter().map(|(_, d)| *d).collect::<Vec<_>>())?;
            let command = if path.is_empty() { 'M' } else { 'L' };
            let (x, y) = (xs.at(window[TREND_OVER / 2].0), plot + ys.at(middle));
            let _ = write!(path, "{command}{},{}", px(x), px(y));
        }
        Some(path)
    }
}

/// A cross at the place of a failed sample.
fn missing(x: f64, y: f64) -> Markup {
    html! {
        g.missing {
            title { "no value" }
            (line("missing", x - 3.0, y - 3.0, x + 3.0, y + 3.0))
            (line("missing", x - 3.0, y + 3.0, x + 3.0, y - 3.0))
        }
    }
}
