//! Every value of every arm, stacked if there are many, over their quartiles.

use maud::{Markup, html};

use super::scale::Scale;
use super::{Track, WIDTH, area, axis, dots, figure, label, line, path, tracks};
use crate::model::result::WorkloadResult;
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

/// The figure; `None` if there is no value.
pub(in crate::report::html) fn draw(w: &WorkloadResult, m: Named<'_>) -> Option<Markup> {
    beside(w, m, &[])
}

/// The figure on an axis that also has room for the values of a neighbouring figure.
pub(crate) fn beside(w: &WorkloadResult, m: Named<'_>, others: &[f64]) -> Option<Markup> {
    let (name, metric) = m;
    let rows = tracks(w, name);
    let own = || rows.iter().flat_map(Track::values);
    own().next()?;
    let values = || own().chain(others.iter().copied());
    let unit = Unit::of(&metric.unit, values());
    let factor = |v: f64| unit.scaled(v);
    let scale = Scale::over(values().map(factor), 0.02, SIDE, WIDTH - SIDE)?;
    let bottom = ROW * f64::from(u32::try_from(rows.len()).ok()?) + 4.0;
    let content = html! {
        @for (row, i) in rows.iter().zip(0_u32..) {
            (row.draw(ROW * f64::from(i), &scale, &unit))
        }
        g.soft.end {
            @for (row, i) in rows.iter().zip(0_u32..) {
                @let median = row.median().map(|v| minus(&unit.show(v)));
                @let median = median.as_deref().unwrap_or("no value");
                (label("", WIDTH, ROW * f64::from(i) + 13.0, median))
            }
        }
        (axis::horizontal(&scale, bottom, unit.axis()))
    };
    let about = format!("Every value of {}, by arm.", shorten(name, 60));
    Some(figure(bottom + axis::HEIGHT - 12.0, &about, &content))
}

impl Track<'_> {
    fn median(&self) -> Option<f64> {
        outline::median(&self.values())
    }

    fn draw(&self, top: f64, scale: &Scale, unit: &Unit) -> Markup {
        let middle = top + ROW - DOTS / 2.0 - 2.0;
        let values = self.values();
        let at = |q| outline::quantile(&values, q).map(|v| scale.at(unit.scaled(v)));
        html! {
            g class=(self.colour) {
                (label("", 0.0, top + 13.0, &self.name))
                @if let (Some(low), Some(high)) = (at(0.25), at(0.75)) {
                    @let width = (high - low).max(1.0);
                    (path("box", &area(low, middle - DOTS / 2.0, width, DOTS)))
                }
                (dots(self.dots, self.stack(scale, unit, middle)))
                @if let Some(x) = at(0.5) {
                    (line("median", x, middle - DOTS / 2.0, x, middle + DOTS / 2.0))
                }
            }
        }
    }

    /// The place of each dot: in columns, outwards from the middle, closer together if there are
    /// many.
    fn stack(&self, scale: &Scale, unit: &Unit, middle: f64) -> Vec<(f64, f64)> {
        let values = self.values().into_iter();
        let xs = values.map(|value| scale.at(unit.scaled(value)));
        let mut placed: Vec<(f64, i64)> = xs.map(|x| (x, (x / DOT).floor() as i64)).collect();
        placed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut stacked = vec![];
        for column in placed.chunk_by(|a, b| a.1 == b.1) {
            let gaps = f64::from(u32::try_from(column.len()).unwrap_or(u32::MAX)) - 1.0;
            let step = ((DOTS - DOT) / gaps.max(1.0)).min(DOT);
            for ((x, _), place) in column.iter().zip(0_u32..) {
                let side = if place.is_multiple_of(2) { 1.0 } else { -1.0 };
                stacked.push((*x, middle + side * step * f64::from(place.div_ceil(2))));
            }
        }
        stacked
    }
}
