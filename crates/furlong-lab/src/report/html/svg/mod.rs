//! Figures, drawn as inline SVG.
#![forbid(unsafe_code)]

pub(super) mod axis;
pub(super) mod forest;
pub(super) mod order;
pub(in crate::report) mod pairs;
pub(super) mod scale;
#[cfg(feature = "team")]
pub(crate) mod series_plot;
pub(crate) mod strip;

use maud::{Markup, html};

/// Width of a figure in its own units, close to pixels on a wide page.
pub(super) const WIDTH: f64 = 460.0;

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
    html! { line class=(class) x1=(px(x1)) y1=(px(y1)) x2=(px(x2)) y2=(px(y2)) {} }
}

/// A text.
pub(super) fn label(class: &str, x: f64, y: f64, text: &str) -> Markup {
    html! { text class=(class) x=(px(x)) y=(px(y)) { (text) } }
}

/// A whole figure, with a title and a description for screen readers.
pub(super) fn figure(id: &str, height: f64, title: &str, about: &str, content: &Markup) -> Markup {
    let view = format!("0 0 {} {}", px(WIDTH), px(height));
    let (title_id, about_id) = (format!("{id}-t"), format!("{id}-d"));
    html! {
        svg viewBox=(view) role="img" aria-labelledby=(title_id) aria-describedby=(about_id) {
            title id=(title_id) { (title) }
            desc id=(about_id) { (about) }
            (content)
        }
    }
}
