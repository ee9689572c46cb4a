//! The overview of an experiment with many workloads.
#![forbid(unsafe_code)]

use super::Page;
use super::columns::{Column, NAME_MAX, table};
use crate::model::result::ExperimentResult;
use crate::report::geomean::sentences;
use crate::report::overview::{Overview, overview};
use crate::report::text::shorten;

/// Writes the tables of all workloads and arms.
pub(super) fn write(page: &mut Page, e: &ExperimentResult) {
    overview(e).iter().for_each(|one| write_one(page, one));
    let sentences = sentences(e);
    for sentence in &sentences {
        page.line(sentence, 2);
    }
    if !sentences.is_empty() {
        page.gap();
    }
}

fn write_one(page: &mut Page, overview: &Overview<'_>) {
    page.line(&overview.caption, 2);
    page.gap();
    let mut names = Column::words("workload");
    for (workload, _) in &overview.rows {
        names.push(shorten(workload, NAME_MAX));
    }
    let mut columns = vec![names];
    for (place, arm) in overview.arms.iter().enumerate() {
        let mut column = Column::numbers(&shorten(arm, NAME_MAX));
        for (_, values) in &overview.rows {
            column.push(values[place].as_str());
        }
        columns.push(column);
    }
    page.raw(&table(&columns, page.style.width, page.style.colour));
    page.gap();
}
