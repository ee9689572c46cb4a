//! All verdicts, a line each.

use super::columns::{Column, NAME_MAX, table};
use super::{Page, paint, single};
use crate::model::result::ResultFile;
use crate::report::outline::{self, Finding};
use crate::report::text::shorten;
use crate::report::told;
use crate::report::wording::{self, change, signed_interval};

/// Columns of an arm's name here at most.
const ARM_MAX: usize = 16;

/// Writes the table of verdicts if there are `from` of them, and their tally if there are any.
pub(super) fn write(page: &mut Page, file: &ResultFile, from: usize) {
    let found = outline::findings(file);
    if found.len() >= from {
        page.raw(&rows(page, file, &found));
        page.gap();
    }
    if found.is_empty() && single::is_all(file) {
        page.line(single::NOT_COMPARED, 2);
    } else if found.is_empty() {
        page.line("no verdict: nothing was compared", 2);
    } else {
        page.line(&wording::tally(&outline::tally(&found)), 2);
    }
}

fn rows(page: &Page, file: &ResultFile, found: &[Finding<'_>]) -> String {
    let mut places = Column::words("workload");
    let mut arms = Column::words("arm");
    let mut baselines = Column::words("against").spare(1);
    let mut changes = Column::numbers("change\n%");
    let mut intervals = Column::words("95 %\ninterval").spare(2);
    let mut verdicts = Column::words("verdict");
    let mut last = None;
    for finding in found {
        if last != Some(finding.experiment) && file.experiments.len() > 1 {
            places.push(shorten(
                &file.experiments[finding.experiment].name,
                NAME_MAX,
            ));
            for column in [
                &mut arms,
                &mut baselines,
                &mut changes,
                &mut intervals,
                &mut verdicts,
            ] {
                column.push("");
            }
        }
        last = Some(finding.experiment);
        let (e, c) = (&file.experiments[finding.experiment], finding.comparison);
        let indent = if file.experiments.len() > 1 { "  " } else { "" };
        let name = shorten(&e.workloads[finding.workload].name, NAME_MAX - 2);
        places.push(format!("{indent}{name}"));
        arms.push(shorten(&c.arm, ARM_MAX));
        baselines.push(shorten(&c.baseline, ARM_MAX));
        changes.push(change(c));
        intervals.push(signed_interval(c).unwrap_or_default());
        let told = outline::primary(e, &e.workloads[finding.workload]);
        let told = told.filter(|_| e.name == "compare");
        let word = told.map_or(wording::word(c.verdict), |(_, metric)| {
            told::told(metric, c)
        });
        verdicts.push(paint::cell(word, c.verdict, page.style.colour));
    }
    let columns = [places, arms, baselines, changes, intervals, verdicts];
    table(&columns, page.style.width, page.style.colour)
}
