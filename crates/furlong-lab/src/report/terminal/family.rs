//! The answer to a family of workloads in ten lines: the changes, the worst first, and the number
//! of the others.

use super::{Page, paint};
use crate::model::result::{Comparison, ExperimentResult, Metric, ResultFile, Verdict};
use crate::report::outline;
use crate::report::quantity::counted;
use crate::report::text::{plain, shorten, width};
use crate::report::told;
use furlong_stats::stopping::FAMILY;

/// Most changes and most omissions with a line each.
const CHANGES_MAX: usize = 4;
const LEFT_OUT_MAX: usize = 2;

/// Least columns of a workload's name.
const NAME_MIN: usize = 12;

/// The only experiment of a result, if its workloads are a family.
pub(super) fn of(file: &ResultFile) -> Option<&ExperimentResult> {
    let [e] = &file.experiments[..] else {
        return None;
    };
    let mut workloads = e.workloads.iter();
    let is_family = workloads.any(|w| w.params.contains_key(FAMILY));
    is_family.then_some(e)
}

/// A change of a workload.
struct Change<'a> {
    workload: &'a str,
    metric: &'a Metric,
    comparison: &'a Comparison,
}

/// Writes the answer.
pub(super) fn write(page: &mut Page, e: &ExperimentResult) {
    let mut all: Vec<Change<'_>> = vec![];
    for w in &e.workloads {
        let Some((name, metric)) = outline::primary(e, w) else {
            continue;
        };
        let compared = outline::comparisons(w, name).into_iter();
        all.extend(compared.map(|comparison| Change {
            workload: &w.name,
            metric,
            comparison,
        }));
    }
    let count = |wanted: &dyn Fn(Verdict) -> bool| {
        let of = |one: &&Change<'_>| wanted(one.comparison.verdict);
        all.iter().filter(of).count()
    };
    let is_change = |verdict| matches!(verdict, Verdict::Keep | Verdict::Revert);
    let changes = count(&is_change);
    let same = count(&|verdict| verdict == Verdict::Equivalent);
    let open = count(&|verdict| verdict == Verdict::Inconclusive);
    let members = e.workloads.len();
    let tally = format!(
        "{}: {changes} changed, {same} the same, {open} cannot be told",
        counted(members as u64, "benchmark")
    );
    page.raw(&paint::strong(
        &shorten(&tally, page.style.width),
        page.style.colour,
    ));
    all.retain(|one| is_change(one.comparison.verdict));
    // The worst first: what is slower before what is faster, the greatest effect before others.
    let size = |one: &Change<'_>| (1.0 + one.comparison.effect_pct / 100.0).ln().abs();
    let gain = |one: &Change<'_>| one.comparison.verdict == Verdict::Keep;
    all.sort_by(|a, b| gain(a).cmp(&gain(b)).then(size(b).total_cmp(&size(a))));
    for change in all.iter().take(CHANGES_MAX) {
        let line = line(page, change);
        page.raw(&paint::answer(
            &line,
            change.comparison.verdict,
            &page.style,
        ));
    }
    if changes > CHANGES_MAX {
        page.line(&format!("and {} more changes", changes - CHANGES_MAX), 2);
    }
    let left_out = e.left_out.iter().take(LEFT_OUT_MAX);
    for why in left_out {
        page.line(&shorten(&plain(why), page.style.width), 0);
    }
    if open > 0 {
        page.line("to decide more: --max-time SECONDS for each", 0);
    }
    let warnings: usize = e.workloads.iter().map(|w| w.warnings.len()).sum();
    let mut hidden = vec![];
    if warnings > 0 {
        hidden.push(counted(warnings as u64, "warning"));
    }
    if e.left_out.len() > LEFT_OUT_MAX {
        let more = (e.left_out.len() - LEFT_OUT_MAX) as u64;
        hidden.push(counted(more, "omission"));
    }
    hidden.push("every benchmark".to_owned());
    let hidden = hidden.join(", ");
    page.line(&format!("{hidden}: furlong show --details"), 0);
}

/// `slower: sort/1000 numbers/stable, 3.0 % more time [2.1, 3.9]`.
fn line(page: &Page, change: &Change<'_>) -> String {
    let Change {
        workload,
        metric,
        comparison,
    } = change;
    let word = told::told(metric, comparison);
    let (amount, interval) = told::amount_and_interval(metric, comparison);
    let interval = interval.map_or(String::new(), |interval| format!(" {interval}"));
    let rest = format!(", {amount}{interval}");
    let room = page
        .style
        .width
        .saturating_sub(width(word) + 2 + width(&rest));
    format!(
        "{word}: {}{rest}",
        shorten(&plain(workload), room.max(NAME_MIN))
    )
}
