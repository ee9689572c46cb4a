//! Colours. They only repeat information that the words give.

use comfy_table::{Attribute, Cell, Color};

use super::Style;
use crate::model::result::{Comparison, Metric, Verdict, WorkloadResult};
use crate::report::text::{fold_marked, words};
use crate::report::wording;

/// The code that starts a verdict's colour.
fn code(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Keep => "\x1b[1;32m",
        Verdict::Revert => "\x1b[1;31m",
        Verdict::Equivalent => "\x1b[1;36m",
        Verdict::Inconclusive => "\x1b[33m",
    }
}

const RESET: &str = "\x1b[0m";

/// A title.
pub(in crate::report) fn strong(text: &str, colour: bool) -> String {
    if colour {
        format!("\x1b[1m{text}{RESET}")
    } else {
        text.to_owned()
    }
}

/// The sentence of a comparison, folded, its verdict coloured.
pub(super) fn sentence(
    name: &str,
    metric: &Metric,
    c: &Comparison,
    w: &WorkloadResult,
    style: &Style,
) -> String {
    let (subject, verdict, rest) = wording::sentence(name, metric, c, w);
    let text = format!("{subject}: {}: {rest}", wording::word(verdict));
    let marked = words(&subject).len();
    fold_marked(&text, style.width, 2, |word, piece| {
        if style.colour && word == marked {
            format!("{}{piece}{RESET}", code(verdict))
        } else {
            piece.to_owned()
        }
    })
}

/// An answer, folded, its first word coloured.
pub(super) fn answer(text: &str, verdict: Verdict, style: &Style) -> String {
    let marked = text.split(':').next().map_or(0, |word| words(word).len());
    fold_marked(text, style.width, 2, |word, piece| {
        if style.colour && word < marked {
            format!("{}{piece}{RESET}", code(verdict))
        } else {
            piece.to_owned()
        }
    })
}

/// The word of a verdict as a cell.
pub(super) fn cell(word: &str, verdict: Verdict, colour: bool) -> Cell {
    let cell = Cell::new(word);
    if !colour {
        return cell;
    }
    match verdict {
        Verdict::Keep => cell.fg(Color::Green).add_attribute(Attribute::Bold),
        Verdict::Revert => cell.fg(Color::Red).add_attribute(Attribute::Bold),
        Verdict::Equivalent => cell.fg(Color::Cyan).add_attribute(Attribute::Bold),
        Verdict::Inconclusive => cell.fg(Color::Yellow),
    }
}
