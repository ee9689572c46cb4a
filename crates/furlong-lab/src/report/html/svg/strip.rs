//! Every value of every arm, stacked if there are many, over their quartiles.
#![forbid(unsafe_code)]

use maud::{Markup, html};

use super::scale::Scale;
use super::{WIDTH, axis, figure, label, line, px};
use crate::model::result::WorkloadResult;
use crate::report::html::arms::Look;
use crate::report::html::frame::minus;
use crate::report::outline::{self, Named};
use crate::report::quantity::Scale as Unit;
use crate::report::text::shorten;

/// Height of a row: its label and its dots.
const ROW: f64 = 46.0;
/// Height of the dots within a row.
const DOTS: f64 = 26.0;
/// Distance of two dots that touch.
const DOT: f64 = 4.6;
/// Room at the sides.
const SIDE: f64 = 8.0;

/// One row.
struct Row<'a> {
    name: String,
    look: Look,
    hollow: bool,
    samples: &'a [Option<f64>],
}

/// The figure; `None` if there is no value.
pub(in crate::report::html) fn draw(id: &str, w: &WorkloadResult, m: Named<'_>) -> Option<Markup> {
    beside(id, w, m, &[])
}

/// The figure on an axis that also has room for the values of a neighbouring figure.
pub(crate) fn beside(id: &str, w: &WorkloadResult, m: Named<'_>, others: &[f64]) -> Option<Markup> {
    let (name, metric) = m;
    let rows = rows(w, name);
    let own = || rows.iter().flat_map(|row| row.samples).flatten().copied();
    own().next()?;
    let values = || own().chain(others.iter().copied());
    let unit = Unit::of(&metric.unit, values());
    let factor = |v: f64| unit.scaled(v);
    let scale = Scale::over(values().map(factor), 0.02, SIDE, WIDTH - SIDE)?;
    let bottom = ROW * f64::from(u32::try_from(rows.len()).ok()?) + 4.0;
    let medians: Vec<String> = rows
        .iter()
        .filter_map(|row| Some(format!("{} {}", row.name, unit.show(row.median()?))))
        .collect();
    let content = html! {
        @for (row, top) in rows.iter().zip(tops()) {
            (row.draw(top, &scale, &unit, w))
        }
        (axis::horizontal(&scale, bottom, unit.axis()))
    };
    let title = format!("Distributions of {}", shorten(name, 60));
    let about = format!("Medians: {}.", medians.join(", "));
    Some(figure(
        id,
        bottom + axis::HEIGHT - 12.0,
        &title,
        &about,
        &content,
    ))
}

fn tops() -> impl Iterator<Item = f64> {
    (0_u32..).map(|i| ROW * f64::from(i))
}

fn rows<'a>(w: &'a WorkloadResult, metric: &str) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = vec![];
    for (place, arm) in w.arms.iter().enumerate() {
        if let Some(samples) = arm.samples.get(metric) {
            let name = shorten(&arm.name, 36);
            rows.push(Row {
                name,
                look: Look::of(place),
                hollow: false,
                samples,
            });
        }
    }
    if let Some(control) = w.control.get(metric) {
        let name = "control".to_owned();
        rows.push(Row {
            name,
            look: Look::of(0),
            hollow: true,
            samples: &control.samples,
        });
    }
    rows
}

impl Row<'_> {
    fn values(&self) -> Vec<f64> {
        self.samples.iter().flatten().copied().collect()
    }

    fn median(&self) -> Option<f64> {
        outline::median(&self.values())
    }

    fn draw(&self, top: f64, scale: &Scale, unit: &Unit, w: &WorkloadResult) -> Markup {
        let middle = top + ROW - DOTS / 2.0 - 2.0;
        let values = self.values();
        let at = |q| outline::quantile(&values, q).map(|v| scale.at(unit.scaled(v)));
        let class = if self.hollow {
            "arm dots hollow"
        } else {
            "arm dots"
        };
        let median = self
            .median()
            .map_or("no value".to_owned(), |v| minus(&unit.show(v)));
        html! {
            g class=(self.look.class()) {
                (label("", 0.0, top + 13.0, &self.name))
                (label("soft end", WIDTH, top + 13.0, &median))
                @if let (Some(low), Some(high)) = (at(0.25), at(0.75)) {
                    rect.box x=(px(low)) y=(px(middle - DOTS / 2.0))
                        width=(px((high - low).max(1.0))) height=(px(DOTS)) {}
                }
                g class=(class) {
                    @for dot in self.stack(scale, unit) {
                        use href=(self.look.href()) x=(px(dot.x)) y=(px(middle + dot.offset)) {
                            title { (dot.title(w, unit)) }
                        }
                    }
                }
                @if let Some(x) = at(0.5) {
                    (line("median", x, middle - DOTS / 2.0, x, middle + DOTS / 2.0))
                }
            }
        }
    }

    /// The place of each dot: in columns, outwards from the middle, closer together if there are
    /// many.
    fn stack(&self, scale: &Scale, unit: &Unit) -> Vec<Dot> {
        let mut placed: Vec<(usize, f64, i64)> = vec![];
        for (i, value) in self.samples.iter().enumerate() {
            let Some(value) = *value else { continue };
            let x = scale.at(unit.scaled(value));
            #[expect(clippy::cast_possible_truncation, reason = "a place on the page")]
            placed.push((i, value, (x / DOT).floor() as i64));
        }
        placed.sort_by(|a, b| a.2.cmp(&b.2).then(a.1.total_cmp(&b.1)));
        let mut dots = vec![];
        for column in placed.chunk_by(|a, b| a.2 == b.2) {
            let room = DOTS - DOT;
            let gap = f64::from(u32::try_from(column.len()).unwrap_or(u32::MAX)) - 1.0;
            let step = if gap > 0.0 {
                (room / gap).min(DOT)
            } else {
                0.0
            };
            for ((i, value, _), place) in column.iter().zip(0_u32..) {
                let side = if place.is_multiple_of(2) { 1.0 } else { -1.0 };
                let offset = side * step * f64::from(place.div_ceil(2));
                let x = scale.at(unit.scaled(*value));
                dots.push(Dot {
                    x,
                    offset,
                    index: *i,
                    value: *value,
                });
            }
        }
        dots
    }
}

/// A value in its place.
struct Dot {
    x: f64,
    offset: f64,
    index: usize,
    value: f64,
}

impl Dot {
    fn title(&self, w: &WorkloadResult, unit: &Unit) -> String {
        let value = minus(&unit.show(self.value));
        match w.blocks.get(self.index) {
            Some(block) => format!("block {block}: {value}"),
            None => value,
        }
    }
}
