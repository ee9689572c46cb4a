//! The overview of an experiment with many workloads.

use super::Page;
use super::columns::{NAME_MAX, parts, table};
use crate::model::result::ExperimentResult;
use crate::report::geomean::sentences;
use crate::report::overview::overview;
use crate::report::sheet::terminal::columns;
use crate::report::text::shorten;

/// Writes the tables of all workloads and arms.
pub(super) fn write(page: &mut Page, e: &ExperimentResult) {
    for (caption, mut grid) in overview(e) {
        page.line(&caption, 2);
        page.gap();
        let names = grid.columns.iter_mut().map(|(name, _)| name);
        let names = names.chain(grid.rows.iter_mut().map(|row| &mut row[0]));
        names.for_each(|name| *name = shorten(name, NAME_MAX));
        for part in parts(columns(&grid), page.style.width) {
            page.raw(&table(&part, page.style.width, page.style.colour));
            page.gap();
        }
    }
    let sentences = sentences(e);
    for sentence in &sentences {
        page.line(sentence, 2);
    }
    if !sentences.is_empty() {
        page.gap();
    }
}
