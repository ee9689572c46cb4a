//! The answer to a family of workloads in ten lines.

use super::{Page, paint};
use crate::model::result::Verdict;
use crate::report::family::{Family, Member};
use crate::report::quantity::counted;
use crate::report::text::{plain, shorten, width};

/// Most changes and most omissions with a line each.
const CHANGES_MAX: usize = 4;
const LEFT_OUT_MAX: usize = 2;

/// Least columns of a workload's name.
const NAME_MIN: usize = 12;

/// Writes the answer.
pub(super) fn write(page: &mut Page, family: &Family<'_>) {
    page.raw(&paint::strong(
        &shorten(&family.tally(), page.style.width),
        page.style.colour,
    ));
    let changes = family.changes.len();
    for change in family.changes.iter().take(CHANGES_MAX) {
        let line = line(page, change);
        let verdict = match change.is_regression {
            true => Verdict::Revert,
            false => Verdict::Keep,
        };
        page.raw(&paint::answer(&line, verdict, &page.style));
    }
    if changes > CHANGES_MAX {
        page.line(&format!("and {} more changes", changes - CHANGES_MAX), 2);
    }
    let all_left_out = &family.experiment.left_out;
    for why in all_left_out.iter().take(LEFT_OUT_MAX) {
        page.line(&shorten(&plain(why), page.style.width), 0);
    }
    if let Some(line) = family.to_decide_more() {
        page.line(&line, 0);
    }
    let mut hidden = vec![];
    let warnings = family.warnings();
    if warnings > 0 {
        hidden.push(counted(warnings as u64, "warning"));
    }
    if all_left_out.len() > LEFT_OUT_MAX {
        let more = (all_left_out.len() - LEFT_OUT_MAX) as u64;
        hidden.push(counted(more, "omission"));
    }
    hidden.push("every benchmark".to_owned());
    let hidden = hidden.join(", ");
    page.line(&format!("{hidden}: furlong show --details"), 0);
}

/// `slower: sort/1000 numbers/stable, 3.0 % more time [2.1, 3.9]`.
fn line(page: &Page, change: &Member<'_>) -> String {
    let (word, amounts) = change.told();
    let cause = change.cause();
    let cause = cause.map_or(String::new(), |cause| format!(", most in {cause}"));
    let rest = format!(", {amounts}{cause}");
    let room = page
        .style
        .width
        .saturating_sub(width(word) + 2 + width(&rest));
    let name = shorten(&plain(&change.workload.name), room.max(NAME_MIN));
    format!("{word}: {name}{rest}")
}
