//! Two runs compared.

use maud::{Markup, html};

use super::piece::{boxed, link, load, machine, time};
use crate::history::difference::{Differences, differences};
use crate::history::difference_page;
use crate::history::page::minutes;
use crate::model::result::{ExperimentResult, ResultFile, Run, WorkloadResult};
use crate::record::judged::judged;
use crate::record::store::Store;
use crate::report::finite;
use crate::report::html::frame::{Name, heads};
use crate::report::html::svg::strip;
use crate::report::outline::{Named, control_values, values};
use crate::report::sheet;
use crate::report::text::plain;
use crate::serve::frame::{Page, called};
use crate::serve::refusal::Refusal;
use crate::serve::route::{Pair, Route};

/// Runs that are offered if none is chosen.
const OFFERED: u32 = 50;

pub(super) fn page(store: &Store, pair: &Pair) -> Result<Page, Refusal> {
    let (Some(base), Some(with)) = (&pair.base, &pair.with) else {
        return choice(store, pair);
    };
    if base == with {
        return Err(Refusal::Parameter(format!(
            "Both runs are “{base}”: name two different runs."
        )));
    }
    let (before, after) = (load(store, base)?.result, load(store, with)?);
    let after = judged(&after.result, after.margin_pct);
    let mut page = Page::new(&format!("Run {} against {}", plain(with), plain(base)));
    page.crumb("History", &Route::home());
    let (here, there) = (&before.run.machine, &after.run.machine);
    page.content = if here.id != there.id && !pair.across {
        elsewhere(&before.run, &after.run, pair)
    } else {
        let all = differences(&before, &after, pair.metric.as_deref());
        html! {
            @if here.id != there.id {
                p.warning { "The runs are of different machines: most of the differences are \
                             between the "
                    "machines." }
            }
            (runs(&before.run, &after.run))
            (changes(&all))
            (beside(&finite(&before), &finite(&after), pair.metric.as_deref()))
        }
    };
    Ok(page)
}

/// The page that asks for two runs.
fn choice(store: &Store, pair: &Pair) -> Result<Page, Refusal> {
    let offered = store.latest_runs(OFFERED)?;
    let field = |name: &str, label: &str, known: &Option<String>| {
        let is_chosen = |id: &String| known.as_ref() == Some(id);
        let older = known
            .iter()
            .filter(|id| offered.iter().all(|run| run.id != **id));
        html! {
            p {
                label for=(name) { (label) }
                select id=(name) name=(name) {
                    @for id in older { option value=(id) selected { (plain(id)) } }
                    @for run in &offered {
                        option value=(run.id) selected[is_chosen(&run.id)] {
                            (minutes(&plain(&run.started))) ", " (plain(&run.machine.host)) ", "
                            (plain(&run.id)) " " (plain(run.tag.as_deref().unwrap_or_default()))
                        }
                    }
                }
            }
        }
    };
    let mut page = Page::new("Compare two runs");
    page.crumb("History", &Route::home());
    page.content = html! {
        p { "Compares one run with another, workload by workload. The lists of an experiment's "
            "runs offer the same comparison with two clicks." }
        form.filter action=(Route::Compare(Pair::default())) method="get" {
            (field("base", "Base", &pair.base))
            (field("with", "Against it", &pair.with))
            p { button type="submit" { "Compare" } }
        }
    };
    Ok(page)
}

/// The page for runs of different machines, which are compared only on request.
fn elsewhere(before: &Run, after: &Run, pair: &Pair) -> Markup {
    let across = Route::Compare(Pair {
        across: true,
        ..pair.clone()
    });
    html! {
        p.warning { "These runs are of different machines: what would be compared is the "
            "machines." }
        (runs(before, after))
        p { a href=(across) { "Compare them anyway" } }
    }
}

fn runs(before: &Run, after: &Run) -> Markup {
    let rows = html! {
        (heads("Role|Run|Began|Version|Tag|Machine|Kernel|Note"))
        tbody {
            @for (role, run) in [("Base", before), ("With", after)] {
                tr {
                    th scope="row" { (role) }
                    td { (link(&Route::run(&run.id), &run.id)) }
                    td { (time(&run.started)) }
                    td { (Name(&run.version)) }
                    td { @if let Some(tag) = &run.tag { (Name(tag)) } }
                    td { (machine(&run.machine)) }
                    td { (Name(&run.machine.kernel)) }
                    td.wrap { @if let Some(note) = &run.note { bdi { (plain(note)) } } }
                }
            }
        }
    };
    boxed("The two runs", &rows)
}

fn changes(all: &Differences) -> Markup {
    let mut sheet = sheet::Sheet::default();
    difference_page::found(&mut sheet, all);
    sheet::html::parts(&sheet)
}

/// The distributions of both runs; those of a workload share an axis.
fn beside(before: &ResultFile, after: &ResultFile, metric: Option<&str>) -> Markup {
    html! {
        @for later in &after.experiments {
            @let filed = later.filed_as();
            @if let Some(earlier) = before.experiments.iter().find(|e| e.filed_as() == filed) {
                section {
                    h2 { bdi { (called(&later.name)) } ", every value" }
                    @for w in &later.workloads {
                        @if let Some(old) = earlier.workloads.iter().find(|o| o.name == w.name) {
                            (distributions(later, old, w, metric))
                        }
                    }
                }
            }
        }
    }
}

fn distributions(
    e: &ExperimentResult,
    old: &WorkloadResult,
    new: &WorkloadResult,
    metric: Option<&str>,
) -> Markup {
    let Some(wanted) = e.wanted(metric, new) else {
        return html! {};
    };
    let draw = |own: &WorkloadResult, other: &WorkloadResult| {
        strip::beside(own, wanted, &all(other, wanted))
    };
    html! {
        section {
            h3 { bdi { (called(&new.name)) } ", " code { (Name(wanted.0)) } }
            div.figures {
                @for (role, drawn) in [("Base", draw(old, new)), ("With", draw(new, old))] {
                    figure {
                        figcaption { b { (role) "." } " One dot is one process; the line and the "
                            "number: the median. Both on one axis." }
                        @match drawn {
                            Some(drawn) => (drawn),
                            None => p { "No value." },
                        }
                    }
                }
            }
        }
    }
}

/// Every value in a figure of the workload.
fn all(w: &WorkloadResult, (name, _): Named<'_>) -> Vec<f64> {
    let mut all: Vec<f64> = w.arms.iter().flat_map(|arm| values(arm, name)).collect();
    all.extend(control_values(w, name));
    all
}
