//! Axes with round numbers.

use maud::{Markup, html};

use super::scale::Scale;
use super::{path, px, segment};
use crate::report::html::frame::minus;
use crate::report::quantity::fixed;

/// Height of an axis below its line.
pub(in crate::report::html) const HEIGHT: f64 = 34.0;

/// Round numbers within `low..=high`, about `wanted` of them, each with its label.
pub(in crate::report::html) fn ticks(low: f64, high: f64, wanted: u32) -> Vec<(f64, String)> {
    let span = high - low;
    let rough = span / f64::from(wanted.max(1));
    if !(rough.is_finite() && rough > 0.0) {
        return vec![];
    }
    let power = 10.0_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|digit| digit * power)
        .find(|step| span / step <= f64::from(wanted.max(1)) + 0.5)
        .unwrap_or(10.0 * power);
    let first = (low / step).ceil();
    if !(step > 0.0 && first.is_finite() && low + step > low) {
        return vec![];
    }
    let decimals = decimals(step);
    (0..=2 * wanted)
        .map(|i| (first + f64::from(i)) * step)
        .take_while(|at| *at <= high + step * 1e-9)
        .map(|at| (at, minus(&tick(at, step, decimals))))
        .collect()
}

/// The greatest round number with a little room below `high`, and its label.
pub(in crate::report::html) fn round_below(high: f64) -> Option<(f64, String)> {
    let room = high * 0.9;
    let power = 10.0_f64.powf(room.log10().floor());
    if !(power.is_finite() && power > 0.0) {
        return None;
    }
    let at = [5.0, 2.0, 1.0]
        .into_iter()
        .map(|digit| digit * power)
        .find(|at| *at <= room)?;
    Some((at, tick(at, power, decimals(power))))
}

/// Decimals that a step needs.
fn decimals(step: f64) -> usize {
    let digits = (-(step.log10() + 1e-9).floor()).clamp(0.0, 12.0);
    digits as usize
}

fn tick(at: f64, step: f64, decimals: usize) -> String {
    if at == 0.0 || at.abs() < step / 2.0 {
        return "0".to_owned();
    }
    if !(1e-6..1e7).contains(&step) {
        format!("{at:.1e}")
    } else {
        fixed(at, decimals)
    }
}

/// A horizontal axis: a thin line, ticks outwards, and the unit at its end.
pub(in crate::report::html) fn horizontal(scale: &Scale, y: f64, unit: &str) -> Markup {
    let (low, high) = scale.ends();
    let marks = ticks(low, high, 5);
    let last = marks.len().saturating_sub(1);
    let mut drawn = segment(scale.at(low), y, scale.at(high), y);
    for (at, _) in &marks {
        drawn.push_str(&segment(scale.at(*at), y, scale.at(*at), y + 4.0));
    }
    html! {
        (path("axis", &drawn))
        g.tick.middle {
            @for (i, (at, text)) in marks.iter().enumerate() {
                text x=(px(scale.at(*at).round())) y=(px((y + 17.0).round())) {
                    (text)
                    @if i == last && !unit.is_empty() { " " (unit) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{round_below, ticks};

    fn labels(low: f64, high: f64) -> Vec<String> {
        ticks(low, high, 5)
            .into_iter()
            .map(|(_, text)| text)
            .collect()
    }

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(labels(103.2, 151.7), ["110", "120", "130", "140", "150"]);
        assert_eq!(labels(-0.31, 0.42), ["−0.2", "0", "0.2", "0.4"]);
        assert_eq!(labels(0.0, 1.0), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
    }

    #[test]
    fn a_single_mark_is_round_and_below_the_end() {
        assert_eq!(round_below(3.6), Some((2.0, "2".to_owned())));
        assert_eq!(round_below(0.58), Some((0.5, "0.5".to_owned())));
        assert_eq!(round_below(0.0), None);
        assert_eq!(round_below(f64::INFINITY), None);
    }

    #[test]
    fn a_range_that_has_no_ticks_gets_none() {
        assert!(labels(1.0, 1.0).is_empty());
        assert!(labels(f64::NAN, 1.0).is_empty());
        assert!(labels(-f64::MAX, f64::MAX).is_empty());
        assert!(labels(1e300, 1e300 * (1.0 + 1e-15)).len() < 12);
    }
}
