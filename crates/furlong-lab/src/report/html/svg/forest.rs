//! Intervals of the effects against the margin.

use maud::{Markup, html};

use super::scale::Scale;
use super::{axis, label, line, px, segment};
use crate::model::result::Comparison;
use crate::report::outline;
use crate::report::wording;

/// An effect this many times as large as the 90th percentile is drawn as an arrow at the edge, and
/// does not flatten the others.
const FAR: f64 = 8.0;

/// Width and height of the picture of one comparison.
const CELL: (f64, f64) = (240.0, 16.0);

/// Room at its sides.
const SIDE: f64 = 5.0;

/// A scale for pictures of these comparisons: it contains zero, and every interval and margin.
pub(in crate::report::html) fn scale<'a>(
    comparisons: impl IntoIterator<Item = &'a Comparison>,
) -> Option<Scale> {
    let comparisons: Vec<&Comparison> = comparisons.into_iter().collect();
    let edge = edge(comparisons.iter().map(|c| c.effect_pct))?;
    let mut ends = vec![];
    for c in comparisons {
        ends.extend([c.effect_pct, -1.3 * c.margin_pct, 1.3 * c.margin_pct, 0.0]);
        ends.extend(c.ci95_pct.into_iter().flatten());
        ends.extend(c.ci_adj_pct.into_iter().flatten());
    }
    let ends = ends.into_iter().map(|end| end.clamp(-edge, edge));
    Scale::over(ends, 0.03, SIDE, CELL.0 - SIDE)
}

/// The limit of a scale for these effects; one far from all others does not flatten it.
pub(super) fn edge(effects: impl Iterator<Item = f64>) -> Option<f64> {
    let sizes: Vec<f64> = effects.map(f64::abs).collect();
    let usual = outline::quantile(&sizes, 0.9)?;
    let greatest = sizes.iter().copied().fold(0.0, f64::max);
    let is_flat = greatest > FAR * usual && usual > 0.0;
    Some(if is_flat { 2.0 * usual } else { f64::MAX })
}

/// A comparison as a picture beside its sentence or in a table. The style tells its parts by their
/// order: band, zero, interval, adjusted interval, and the point as the only circle.
pub(in crate::report::html) fn cell(c: &Comparison, scale: &Scale) -> Markup {
    let (width, height) = CELL;
    let y = height / 2.0;
    let across = |[low, high]: [f64; 2]| segment(scale.at(low), y, scale.at(high), y);
    let zero = scale.at(0.0);
    let plain = c.ci95_pct.map(across);
    let adjusted = c
        .ci_adj_pct
        .map(across)
        .filter(|wider| plain.as_ref() != Some(wider));
    html! {
        svg class=(wording::word(c.verdict))
            viewBox=(format!("0 0 {} {}", px(width), px(height))) {
            path d=(across([-c.margin_pct, c.margin_pct])) {}
            path d=(segment(zero, 0.0, zero, height)) {}
            @for d in plain.iter().chain(&adjusted) { path d=(d) {} }
            (mark(c.effect_pct, scale, y))
        }
    }
}

/// The axis below such pictures, with words for both directions.
pub(in crate::report::html) fn ruler(scale: &Scale, (less, more): (&str, &str)) -> Markup {
    let (width, height) = (CELL.0, 36.0);
    html! {
        svg viewBox=(format!("0 0 {} {}", px(width), px(height))) aria-hidden="true" {
            (axis::horizontal(scale, 0.5, "%"))
            (label("tick", 0.0, height - 3.0, &format!("← {less}")))
            (label("tick end", width, height - 3.0, &format!("{more} →")))
        }
    }
}

/// An interval with its point, or an arrow if the point is beyond the scale.
pub(super) fn point(effect: f64, interval: Option<[f64; 2]>, scale: &Scale, y: f64) -> Markup {
    html! {
        @if let Some([low, high]) = interval {
            (line("interval", scale.at(low), y, scale.at(high), y))
        }
        (mark(effect, scale, y))
    }
}

/// The point of an effect, or an arrow if it is beyond the scale.
fn mark(effect: f64, scale: &Scale, y: f64) -> Markup {
    let x = scale.at(effect).round();
    let side = if effect > 0.0 { 1.0 } else { -1.0 };
    html! {
        @if scale.holds(effect) {
            circle cx=(px(x)) cy=(px(y)) r="3.6" {}
        } @else {
            path.point d=(arrow(x + side * 4.0, y, -side * 8.0)) {}
        }
    }
}

/// A triangle with its tip at `x` and its base `back` behind it.
fn arrow(x: f64, y: f64, back: f64) -> String {
    format!("M{},{}l{},5v-10z", px(x), px(y), px(back))
}
