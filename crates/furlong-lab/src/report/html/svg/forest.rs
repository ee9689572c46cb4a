//! Intervals of the effects against the margin and the noise floor.
#![forbid(unsafe_code)]

use maud::{Markup, html};

use super::scale::Scale;
use super::{WIDTH, axis, figure, label, line, px};
use crate::model::result::{Comparison, WorkloadResult};
use crate::report::html::frame::minus;
use crate::report::outline::{self, Named};
use crate::report::text::shorten;
use crate::report::wording::{self, signed_effect, signed_interval};

/// Height of a row.
const ROW: f64 = 40.0;
/// Room at the sides.
const SIDE: f64 = 8.0;
/// An effect this many times as large as the 90th percentile is drawn as an arrow at the edge, and
/// does not flatten the others.
const FAR: f64 = 8.0;

/// A row: a comparison and its metric.
pub(in crate::report::html) type Entry<'a> = (Named<'a>, &'a Comparison);

/// A scale that contains zero, and every interval and margin.
pub(in crate::report::html) fn scale<'a>(
    comparisons: impl IntoIterator<Item = &'a Comparison>,
    from: f64,
    to: f64,
) -> Option<Scale> {
    let comparisons: Vec<&Comparison> = comparisons.into_iter().collect();
    let edge = edge(comparisons.iter().map(|c| c.effect_pct))?;
    let mut ends = vec![];
    for c in comparisons {
        ends.extend([c.effect_pct, -1.3 * c.margin_pct, 1.3 * c.margin_pct, 0.0]);
        ends.extend(c.ci95_pct.into_iter().flatten());
        ends.extend(c.ci_adj_pct.into_iter().flatten());
    }
    Scale::over(
        ends.into_iter().map(|end| end.clamp(-edge, edge)),
        0.03,
        from,
        to,
    )
}

/// The limit of a scale for these effects; one far from all others does not flatten it.
pub(super) fn edge(effects: impl Iterator<Item = f64>) -> Option<f64> {
    let sizes: Vec<f64> = effects.map(f64::abs).collect();
    let usual = outline::quantile(&sizes, 0.9)?;
    let greatest = sizes.iter().copied().fold(0.0, f64::max);
    let is_flat = greatest > FAR * usual && usual > 0.0;
    Some(if is_flat { 2.0 * usual } else { f64::MAX })
}

/// The figure of these comparisons; `None` if there is none.
pub(in crate::report::html) fn draw(
    id: &str,
    w: &WorkloadResult,
    entries: &[Entry<'_>],
    one_metric: bool,
) -> Option<Markup> {
    let scale = scale(entries.iter().map(|(_, c)| *c), SIDE, WIDTH - SIDE)?;
    let bottom = ROW * f64::from(u32::try_from(entries.len()).ok()?) + 6.0;
    let ends = match entries.first() {
        Some(((_, metric), _)) if one_metric => wording::ends(metric),
        _ => ("less", "more"),
    };
    let baseline = shared_baseline(entries);
    let subject = |((name, _), c): &Entry<'_>| match (one_metric, baseline) {
        (true, Some(_)) => shorten(&c.arm, 30),
        (true, None) => format!(
            "{} against {}",
            shorten(&c.arm, 11),
            shorten(&c.baseline, 11)
        ),
        (false, _) => format!("{}, {}", shorten(name, 18), shorten(&c.arm, 11)),
    };
    let content = html! {
        @for (entry, i) in entries.iter().zip(0_u32..) {
            (row(entry, w, f64::from(i) * ROW, &scale, &subject(entry)))
        }
        (axis::horizontal(&scale, bottom, "%"))
        (label("soft", 0.0, bottom + 33.0, &format!("← {}", ends.0)))
        @if let Some(baseline) = baseline {
            (label("soft middle", WIDTH / 2.0, bottom + 33.0,
                &format!("against {}", shorten(baseline, 24))))
        }
        (label("soft end", WIDTH, bottom + 33.0, &format!("{} →", ends.1)))
    };
    let said: Vec<String> = entries
        .iter()
        .map(|((_, metric), c)| {
            let subject = format!("{} against {}", c.arm, c.baseline);
            format!("{}: {}", shorten(&subject, 80), wording::effect(metric, c))
        })
        .collect();
    let about = format!("{}.", said.join("; "));
    Some(figure(
        id,
        bottom + 38.0,
        "Effects against the margin",
        &about,
        &content,
    ))
}

/// The baseline, if all of them have the same.
fn shared_baseline<'a>(entries: &[Entry<'a>]) -> Option<&'a str> {
    let (_, first) = entries.first()?;
    let same = entries.iter().all(|(_, c)| c.baseline == first.baseline);
    same.then_some(first.baseline.as_str())
}

fn row(entry: &Entry<'_>, w: &WorkloadResult, top: f64, scale: &Scale, subject: &str) -> Markup {
    let ((name, _), c) = entry;
    let middle = top + ROW - 11.0;
    let floor = w.control.get(*name).and_then(|control| control.floor_pct);
    let (left, right) = (scale.at(-c.margin_pct), scale.at(c.margin_pct));
    let interval = signed_interval(c).map_or(String::new(), |i| format!(" {i}"));
    let effect = minus(&format!("{}{interval}", signed_effect(c)));
    let edge = 0.5 * ROW;
    html! {
        rect.band x=(px(left)) y=(px(middle - edge + 9.0)) width=(px(right - left))
            height=(px(ROW - 18.0)) {}
        @if let Some(floor) = floor {
            @for at in [-floor, floor] {
                @if scale.holds(at) {
                    (line("floor", scale.at(at), middle - 11.0, scale.at(at), middle + 11.0))
                }
            }
        }
        (line("zero", scale.at(0.0), middle - 11.0, scale.at(0.0), middle + 11.0))
        g class=(wording::word(c.verdict)) {
            (label("", 0.0, top + 13.0, subject))
            text.end x=(px(WIDTH)) y=(px(top + 13.0)) {
                tspan.soft { (effect) }
                tspan.verdict dx="8" { (wording::word(c.verdict)) }
            }
            (bar(c, scale, middle))
        }
    }
}

/// A comparison's intervals with its point.
fn bar(c: &Comparison, scale: &Scale, y: f64) -> Markup {
    html! {
        @if let Some([low, high]) = c.ci_adj_pct {
            (line("adjusted", scale.at(low), y, scale.at(high), y))
            @for end in [low, high] {
                @if scale.holds(end) {
                    (line("adjusted", scale.at(end), y - 3.5, scale.at(end), y + 3.5))
                }
            }
        }
        (point(c.effect_pct, c.ci95_pct, scale, y))
    }
}

/// An interval with its point, or an arrow if the point is beyond the scale.
pub(super) fn point(effect: f64, interval: Option<[f64; 2]>, scale: &Scale, y: f64) -> Markup {
    let x = scale.at(effect);
    let side = if effect > 0.0 { 1.0 } else { -1.0 };
    html! {
        @if let Some([low, high]) = interval {
            (line("interval", scale.at(low), y, scale.at(high), y))
        }
        @if scale.holds(effect) {
            circle.point cx=(px(x)) cy=(px(y)) r="3.6" {}
        } @else {
            path.point d=(arrow(x + side * 4.0, y, -side * 8.0)) {}
        }
    }
}

/// A triangle with its tip at `x` and its base `back` behind it.
fn arrow(x: f64, y: f64, back: f64) -> String {
    format!("M{},{}l{},5v-10z", px(x), px(y), px(back))
}

/// Width and height of the small picture in a table's cell.
pub(in crate::report::html) const CELL: (f64, f64) = (272.0, 28.0);

/// A comparison as a picture in a table's cell, on the scale of the whole table.
pub(in crate::report::html) fn cell(c: &Comparison, scale: &Scale) -> Markup {
    let (width, height) = CELL;
    let middle = height / 2.0;
    let (left, right) = (scale.at(-c.margin_pct), scale.at(c.margin_pct));
    html! {
        svg viewBox=(format!("0 0 {} {}", px(width), px(height))) aria-hidden="true"
            focusable="false" {
            rect.band x=(px(left)) y="0" width=(px(right - left)) height=(px(height)) {}
            (line("zero", scale.at(0.0), 0.0, scale.at(0.0), height))
            g class=(wording::word(c.verdict)) { (bar(c, scale, middle)) }
        }
    }
}
