//! Published changes, each above the measured one.

use maud::{Markup, html};

use super::scale::Scale;
use super::{WIDTH, axis, figure, forest, label, line, px};
use crate::report::html::frame::minus;
use crate::report::quantity::signed_effect;
use crate::report::sheet::{Effect, Pair};
use crate::report::text::{plain, shorten};
use crate::report::wording::word;

/// Height of a row.
const ROW: f64 = 46.0;
/// Heights of the two bars in it.
const SAID: f64 = 24.0;
const FOUND: f64 = 35.0;
/// Room at the sides.
const SIDE: f64 = 8.0;
/// Columns of a name.
const NAME_COLUMNS: usize = 30;

/// The picture of these pairs; `None` if there is none.
pub(in crate::report) fn draw(pairs: &[Pair]) -> Option<Markup> {
    let scale = scale(pairs)?;
    let bottom = ROW * f64::from(u32::try_from(pairs.len()).ok()?) + 6.0;
    let content = html! {
        @for (pair, i) in pairs.iter().zip(0_u32..) {
            (row(pair, f64::from(i) * ROW, &scale))
        }
        (axis::horizontal(&scale, bottom, "%"))
        (label("soft", 0.0, bottom + 33.0, "← less"))
        (label("soft end", WIDTH, bottom + 33.0, "more →"))
    };
    let said = pairs.iter().map(|pair| {
        let found = pair.found.as_ref().map(|(effect, _)| told(effect));
        let found = found.map_or_else(|| "not measured yet".to_owned(), |it| format!("here {it}"));
        format!(
            "{}: published {}, {found}",
            plain(&pair.name),
            told(&pair.said)
        )
    });
    let said = said.collect::<Vec<_>>().join("; ");
    let about = format!("Changes as published and as measured. {said}.");
    let picture = figure(bottom + 38.0, &about, &content);
    Some(html! {
        figure {
            figcaption {
                "Changes with their 95 % intervals: the upper bar of each pair as "
                b { "published" } ", the lower one as " b { "measured" }
                ", in the colour of its verdict."
            }
            (picture)
        }
    })
}

/// A scale that shows all of them, and zero.
fn scale(pairs: &[Pair]) -> Option<Scale> {
    let effects = || {
        let found = |pair: &'_ Pair| pair.found.as_ref().map(|(effect, _)| *effect);
        pairs
            .iter()
            .flat_map(move |pair| [Some(pair.said), found(pair)].into_iter().flatten())
    };
    let edge = forest::edge(effects().map(|effect| effect.pct))?;
    let ends = effects().flat_map(|effect| {
        let interval = effect.ci95_pct.unwrap_or([effect.pct; 2]);
        [effect.pct, interval[0], interval[1], 0.0]
    });
    Scale::over(
        ends.map(|end| end.clamp(-edge, edge)),
        0.03,
        SIDE,
        WIDTH - SIDE,
    )
}

fn row(pair: &Pair, top: f64, scale: &Scale) -> Markup {
    let zero = scale.at(0.0);
    html! {
        (line("zero", zero, top + SAID - 7.0, zero, top + FOUND + 7.0))
        (label("", 0.0, top + 13.0, &shorten(&plain(&pair.name), NAME_COLUMNS)))
        text.end x=(px(WIDTH)) y=(px(top + 13.0)) {
            tspan.soft { (minus(&told(&pair.said))) }
            @if let Some((effect, _)) = &pair.found {
                tspan.soft { " → " (minus(&told(effect))) }
            }
        }
        g.c0 { (forest::point(pair.said.pct, pair.said.ci95_pct, scale, top + SAID)) }
        @if let Some((effect, verdict)) = &pair.found {
            g class=(word(*verdict)) {
                (forest::point(effect.pct, effect.ci95_pct, scale, top + FOUND))
            }
        }
    }
}

/// "-17.8 %".
fn told(effect: &Effect) -> String {
    signed_effect(effect.pct, effect.ci95_pct)
}
