//! A figure from run to run, in the order in which the runs began, with its levels.

use maud::{Markup, html};

use super::scale::Scale;
use super::{WIDTH, axis, colour, figure, label, line, px};
use crate::report::html::frame::minus;
use crate::report::quantity::Scale as Unit;
use crate::report::text::shorten;

/// Height of the plot.
const PLOT: f64 = 190.0;
/// Room above it, for the unit.
const TOP: f64 = 20.0;
/// Room for the numbers at the left.
const LEFT: f64 = 48.0;

/// The values to draw.
pub(crate) struct SeriesPlot<'a> {
    /// The figure's name.
    pub(crate) title: &'a str,
    /// Unit of the values; empty for ratios.
    pub(crate) unit: &'a str,
    /// The arm's place among those of the workload; it gives the colour.
    pub(crate) arm: usize,
    /// The runs, oldest first.
    pub(crate) points: &'a [Dot],
    /// The levels, oldest first: the first point of each, and its value.
    pub(crate) levels: &'a [(usize, f64)],
}

/// One run.
pub(crate) struct Dot {
    /// Its figure.
    pub(crate) value: f64,
    /// The day on which it began.
    pub(crate) day: String,
    /// Its description.
    pub(crate) about: String,
}

/// The figure; `None` if there is no point.
pub(crate) fn draw(plot: &SeriesPlot<'_>) -> Option<Markup> {
    let SeriesPlot { points, levels, .. } = plot;
    let unit = Unit::of(plot.unit, points.iter().map(|point| point.value));
    let ys = points.iter().map(|point| unit.scaled(point.value));
    let ys = Scale::over(ys, 0.08, TOP + PLOT, TOP)?;
    let last = f64::from(u32::try_from(points.len().saturating_sub(1)).ok()?);
    let xs = Scale::new(0.0, last, LEFT + 8.0, WIDTH - 8.0);
    let (low, high) = ys.ends();
    let at = |place: usize| xs.at(f64::from(u32::try_from(place).unwrap_or(u32::MAX)));
    let content = html! {
        (label("tick", 0.0, 11.0, unit.axis()))
        @for (value, text) in axis::ticks(low, high, 5) {
            (line("grid", LEFT, ys.at(value), WIDTH, ys.at(value)))
            (label("tick end", LEFT - 6.0, ys.at(value) + 4.0, &text))
        }
        (line("axis", LEFT, TOP + PLOT, WIDTH, TOP + PLOT))
        @for (place, from, anchor) in days(points) {
            (line("axis", at(place), TOP + PLOT, at(place), TOP + PLOT + 4.0))
            (label(&format!("tick {anchor}"), at(place), TOP + PLOT + 17.0, &from))
        }
        g class=(colour(plot.arm)) {
            @for (i, (from, level)) in levels.iter().enumerate() {
                @let until = levels.get(i + 1).map_or(points.len(), |(next, _)| *next);
                @let y = ys.at(unit.scaled(*level));
                @let begin = if i == 0 { at(*from) } else { between(&at, *from) };
                @let end = if until == points.len() { at(until - 1) } else { between(&at, until) };
                @if i > 0 { (line("floor", begin, TOP, begin, TOP + PLOT)) }
                (line("interval level", begin, y, end, y))
            }
            @for (place, point) in points.iter().enumerate() {
                @let y = ys.at(unit.scaled(point.value));
                circle cx=(px(at(place))) cy=(px(y)) r="2.4" {
                    title { (minus(&point.about)) }
                }
            }
        }
    };
    let about = format!(
        "{}. {} runs, oldest first; {}. The table below has every value.",
        shorten(plot.title, 100),
        points.len(),
        match levels.len() {
            0 | 1 => "one level".to_owned(),
            several => format!("{several} levels with a step between each two"),
        }
    );
    Some(figure(TOP + PLOT + axis::HEIGHT - 12.0, &about, &content))
}

/// Half-way between a point and the one before it.
fn between(at: &impl Fn(usize) -> f64, place: usize) -> f64 {
    f64::midpoint(at(place.saturating_sub(1)), at(place))
}

/// The days at the ends and in the middle of the axis, if there is room for them.
fn days(points: &[Dot]) -> Vec<(usize, String, &'static str)> {
    let Some(last) = points.len().checked_sub(1) else {
        return vec![];
    };
    let marks = match last {
        0 => vec![(0, "middle")],
        1..6 => vec![(0, "start"), (last, "end")],
        _ => vec![(0, "start"), (last / 2, "middle"), (last, "end")],
    };
    let named = marks.into_iter();
    let named = named.map(|(place, anchor)| (place, points[place].day.clone(), anchor));
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::{Dot, SeriesPlot, draw};

    fn dots(values: &[f64]) -> Vec<Dot> {
        let dot = |value: &f64| Dot {
            value: *value,
            day: "2026-01-01".to_owned(),
            about: format!("run {value}"),
        };
        values.iter().map(dot).collect()
    }

    fn drawn(values: &[f64], levels: &[(usize, f64)]) -> Option<String> {
        let points = dots(values);
        let plot = SeriesPlot {
            title: "time <over> time",
            unit: "ns",
            arm: 1,
            points: &points,
            levels,
        };
        draw(&plot).map(maud::PreEscaped::into_string)
    }

    #[test]
    fn every_run_has_a_point_and_every_step_a_line() {
        let svg = drawn(
            &[1.0, 1.1, 2.0, 2.1, 3.0],
            &[(0, 1.05), (2, 2.05), (4, 3.0)],
        )
        .unwrap();
        assert_eq!(svg.matches("<circle ").count(), 5);
        assert_eq!(svg.matches("class=\"interval level\"").count(), 3);
        assert_eq!(svg.matches("class=\"floor\"").count(), 2);
        assert!(svg.contains("time &lt;over&gt; time") && !svg.contains("<over>"));
    }

    #[test]
    fn one_run_and_equal_runs_are_drawn_and_none_is_not() {
        assert!(drawn(&[], &[]).is_none());
        for values in [&[4.0][..], &[4.0, 4.0, 4.0]] {
            let svg = drawn(values, &[(0, 4.0)]).unwrap();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
