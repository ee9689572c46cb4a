//! The look of an arm: a colour and a shape, the same throughout the page.
#![forbid(unsafe_code)]

use maud::{Markup, html};

/// Colours other than the baseline's.
const COLOURS: usize = 7;
/// Shapes, the baseline's circle first; centred, four units from side to side.
const SHAPES: [&str; 8] = [
    "M-2.2,0a2.2,2.2 0 1 0 4.4,0a2.2,2.2 0 1 0 -4.4,0z",
    "M-2,-2h4v4h-4z",
    "M0,-2.5L2.5,2H-2.5z",
    "M0,-2.8L2.6,0L0,2.8L-2.6,0z",
    "M0,2.5L2.5,-2H-2.5z",
    "M-.8,-2.5h1.6v1.7h1.7v1.6h-1.7v1.7h-1.6v-1.7h-1.7v-1.6h1.7z",
    "M-2.4,-1.2L-1.2,-2.4L0,-1.2L1.2,-2.4L2.4,-1.2L1.2,0L2.4,1.2L1.2,2.4L0,1.2L-1.2,2.4L-2.4,1.2\
     L-1.2,0z",
    "M0,-2.6L2.5,-.8L1.5,2.1H-1.5L-2.5,-.8z",
];

/// The look of an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    /// Class of the colour.
    pub(super) colour: usize,
    /// Number of the shape.
    pub(super) shape: usize,
}

impl Look {
    /// The look of the arm at this place. The baseline is grey; the others' pairs of colour and
    /// shape repeat only after 49 arms.
    pub(super) fn of(place: usize) -> Self {
        let Some(other) = place.checked_sub(1) else {
            return Self {
                colour: 0,
                shape: 0,
            };
        };
        let colour = other % COLOURS;
        let shape = (other + other / COLOURS) % (SHAPES.len() - 1);
        Self {
            colour: colour + 1,
            shape: shape + 1,
        }
    }

    /// The class that sets the colour.
    pub(super) fn class(self) -> String {
        format!("c{}", self.colour)
    }

    /// The reference to the shape.
    pub(super) fn href(self) -> String {
        format!("#m{}", self.shape)
    }
}

/// The shapes, once for the whole page.
pub(crate) fn shapes() -> Markup {
    html! {
        svg.shapes aria-hidden="true" focusable="false" {
            defs {
                @for (i, path) in SHAPES.iter().enumerate() {
                    path id=(format!("m{i}")) d=(path) {}
                }
            }
        }
    }
}

/// The arm's symbol beside its name in text and tables.
pub(crate) fn key(place: usize, hollow: bool) -> Markup {
    let look = Look::of(place);
    let class = format!("arm {}", if hollow { "hollow" } else { "" });
    html! {
        svg class={ "key " (look.class()) } viewBox="-4 -4 8 8" aria-hidden="true"
            focusable="false" {
            g class=(class.trim_end()) { use href=(look.href()) {} }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::Look;

    #[test]
    fn forty_nine_arms_look_different_from_each_other_and_from_the_baseline() {
        let looks: HashSet<_> = (0..50)
            .map(Look::of)
            .map(|look| (look.colour, look.shape))
            .collect();
        assert_eq!(looks.len(), 50);
    }
}
