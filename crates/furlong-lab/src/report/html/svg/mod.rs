//! Figures, drawn as inline SVG. All dots of an arm are one path: a dot is a subpath of no length
//! with a round end.

pub(super) mod axis;
pub(super) mod flame;
pub(super) mod forest;
pub(super) mod order;
pub(in crate::report) mod pairs;
pub(super) mod scale;
#[cfg(feature = "team")]
pub(crate) mod series_plot;
#[cfg(feature = "team")]
pub(crate) mod spark;
pub(crate) mod strip;

use std::fmt::Write as _;

use maud::{Markup, html};

use crate::model::result::{CONTROL, WorkloadResult};
use crate::report::text::shorten;

/// Width of a figure in its own units, close to pixels on a wide page.
pub(super) const WIDTH: f64 = 460.0;

/// Colours of arms, the baseline's first. They repeat after the eighth arm: every row has its name.
const COLOURS: [&str; 8] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];

/// The class that sets the colour of the arm at this place, the same throughout the page.
pub(super) fn colour(place: usize) -> &'static str {
    match place.checked_sub(1) {
        None => COLOURS[0],
        Some(other) => COLOURS[1 + other % (COLOURS.len() - 1)],
    }
}

/// The values of an arm in a figure, or those of the control.
struct Track<'a> {
    /// Its name in the order of a block.
    runner: &'a str,
    name: String,
    colour: &'static str,
    /// Class of the dots.
    dots: &'static str,
    samples: &'a [Option<f64>],
}

/// The arms that have a metric, then the control.
fn tracks<'a>(w: &'a WorkloadResult, metric: &str) -> Vec<Track<'a>> {
    let arms = w.arms.iter().enumerate();
    let arms = arms.filter_map(|(place, arm)| {
        Some((&*arm.name, colour(place), "dots", arm.samples.get(metric)?))
    });
    let control = w.control.get(metric);
    let control = control.map(|control| (CONTROL, colour(0), "dots again", &control.samples));
    let all = arms.chain(control);
    let tracks = all.map(|(runner, colour, dots, samples)| Track {
        runner,
        name: shorten(runner, 36),
        colour,
        dots,
        samples,
    });
    tracks.collect()
}

impl Track<'_> {
    fn values(&self) -> Vec<f64> {
        self.samples.iter().flatten().copied().collect()
    }
}

/// A coordinate, rounded: a tenth of a pixel is enough.
pub(super) fn px(value: f64) -> String {
    let value = if value.is_finite() { value } else { 0.0 };
    let text = format!("{value:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// A straight line.
pub(super) fn line(class: &str, x1: f64, y1: f64, x2: f64, y2: f64) -> Markup {
    path(class, &segment(x1, y1, x2, y2))
}

/// A path.
pub(super) fn path(class: &str, d: &str) -> Markup {
    html! { path class=(class) d=(d) {} }
}

/// A coordinate in whole units: half of one is less than can be seen, and a page has thousands.
fn whole(value: f64) -> String {
    px(value.round())
}

/// The part of a path that is a straight line.
pub(super) fn segment(x1: f64, y1: f64, x2: f64, y2: f64) -> String {
    let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(whole);
    match (x1 == x2, y1 == y2) {
        (true, _) => format!("M{x1},{y1}V{y2}"),
        (_, true) => format!("M{x1},{y1}H{x2}"),
        _ => format!("M{x1},{y1}L{x2},{y2}"),
    }
}

/// The part of a path that is a rectangle.
pub(super) fn area(x: f64, y: f64, width: f64, height: f64) -> String {
    let (w, h) = (whole(width), whole(height));
    format!("M{},{}h{w}v{h}h-{w}z", whole(x), whole(y))
}

/// Dots as one path, each relative to the one before, which is shorter.
pub(super) fn dots(class: &str, places: impl IntoIterator<Item = (f64, f64)>) -> Markup {
    let (mut d, mut last) = (String::new(), None);
    for (x, y) in places {
        let (x, y) = (x.round(), y.round());
        let (command, from) = last.map_or(('M', (0.0, 0.0)), |last| ('m', last));
        let (x_step, y_step) = (px(x - from.0), px(y - from.1));
        let comma = if y_step.starts_with('-') { "" } else { "," };
        let _ = write!(d, "{command}{x_step}{comma}{y_step}z");
        last = Some((x, y));
    }
    html! { @if !d.is_empty() { (path(class, &d)) } }
}

/// A line through places.
pub(super) fn trend(places: impl IntoIterator<Item = (f64, f64)>) -> Markup {
    let mut d = String::new();
    for (x, y) in places {
        let command = if d.is_empty() { 'M' } else { 'L' };
        let _ = write!(d, "{command}{},{}", px(x), px(y));
    }
    html! { @if !d.is_empty() { (path("trend", &d)) } }
}

/// A text.
pub(super) fn label(class: &str, x: f64, y: f64, text: &str) -> Markup {
    let class = (!class.is_empty()).then_some(class);
    html! { text class=[class] x=(whole(x)) y=(whole(y)) { (text) } }
}

/// A whole figure, with a description for screen readers.
pub(super) fn figure(height: f64, about: &str, content: &Markup) -> Markup {
    let view = format!("0 0 {} {}", px(WIDTH), px(height));
    html! { svg viewBox=(view) role="img" aria-label=(about) { (content) } }
}

#[cfg(test)]
mod tests {
    use super::{area, colour, dots, segment};

    #[test]
    fn only_the_baseline_is_grey() {
        assert_eq!([0, 1, 7, 8].map(colour), ["c0", "c1", "c7", "c1"]);
        assert!((1..60).all(|place| colour(place) != "c0"));
    }

    #[test]
    fn a_path_is_as_short_as_its_shape_allows() {
        assert_eq!(segment(1.0, 2.0, 3.25, 2.0), "M1,2H3");
        assert_eq!(segment(1.0, 2.0, 1.0, 9.0), "M1,2V9");
        assert_eq!(segment(1.0, 2.0, 3.0, 4.0), "M1,2L3,4");
        let dots = dots("a", [(10.2, 5.0), (12.0, 3.0), (11.0, 9.0)]).into_string();
        assert_eq!(dots, "<path class=\"a\" d=\"M10,5zm2-2zm-1,6z\"></path>");
        assert_eq!(area(-0.04, 1.0, 2.6, 3.0), "M0,1h3v3h-3z");
    }
}
