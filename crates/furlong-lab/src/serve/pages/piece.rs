//! Parts of several pages.

use maud::{Markup, html};

use crate::history::page::minutes;
use crate::model::result::{ExperimentResult, Machine, WorkloadResult};
use crate::record::store::{Saved, Status, Store};
use crate::report::html::frame::{Name, heads, scroll, verdict};
use crate::report::quantity::count;
use crate::report::text::plain;
use crate::serve::frame::called;
use crate::serve::refusal::Refusal;
use crate::serve::route::{Figure, Route};
use crate::serve::tallies::Tally;

/// A name with a link.
pub(super) fn link(route: &Route, name: &str) -> Markup {
    html! { a href=(route) { (Name(&called(name))) } }
}

/// A time without its seconds.
pub(super) fn time(started: &str) -> Markup {
    html! { time datetime=(plain(started)) { (minutes(&plain(started))) } }
}

/// A machine by the name of its host; the identifier in the title distinguishes equal names.
pub(super) fn machine(machine: &Machine) -> Markup {
    let about = format!("{}, {}", plain(&machine.kernel), plain(&machine.id));
    html! { span title=(about) { (Name(&machine.host)) } }
}

/// A run's status, if it is worth a remark.
pub(super) fn standing(status: Status, pinned: bool) -> Markup {
    html! {
        @if pinned { span.sign { "pinned" } " " }
        @if status != Status::Finished { span.sign.warn { (status.name()) } }
    }
}

/// The number of occurrences of each verdict.
pub(super) fn tally(tally: &Tally) -> Markup {
    html! {
        @if tally.is_empty() { span.note { "nothing compared" } }
        @for (i, (word, times)) in tally.iter().enumerate() {
            @if i > 0 { " " }
            span.tally { (verdict(*word)) @if *times > 1 { " × " (count(*times as u64)) } }
        }
    }
}

/// A table in a box that scrolls separately, with a caption.
pub(super) fn boxed(caption: &str, table: &Markup) -> Markup {
    scroll(
        caption,
        &html! { table { caption { bdi { (caption) } } (table) } },
    )
}

/// A run by its full name.
pub(super) fn load(store: &Store, id: &str) -> Result<Saved, Refusal> {
    // Existence is checked first: a missing run is then not mistaken for a fault of the store.
    match store.is_there(id)? {
        true => Ok(store.load(id)?),
        false => Err(Refusal::Missing(format!("There is no run “{id}”."))),
    }
}

/// The figures of an experiment's workloads, each with a link to its series on a machine.
pub(super) fn series_list(e: &ExperimentResult, machine: &Machine) -> Markup {
    let caption = format!(
        "{} from run to run on {}",
        called(&e.name),
        plain(&machine.host)
    );
    let rows = html! {
        (heads("Workload|Baseline|The others, relative to it"))
        tbody {
            @for w in &e.workloads {
                tr {
                    th scope="row" { (Name(&called(&w.name))) }
                    @let (baseline, others) = w.arms.split_at(w.arms.len().min(1));
                    @for arms in [baseline, others] {
                        td.links {
                            @for arm in arms.iter().filter(|arm| arm.na.is_none()) {
                                (link(&series_route(e, w, &arm.name, machine), &arm.name)) " "
                            }
                            @if arms.is_empty() { span.note { "none" } }
                        }
                    }
                }
            }
        }
    };
    boxed(&caption, &rows)
}

fn series_route(e: &ExperimentResult, w: &WorkloadResult, arm: &str, machine: &Machine) -> Route {
    Route::Series(Figure {
        experiment: e.filed_as(),
        workload: w.name.clone(),
        arm: arm.to_owned(),
        machine: Some(machine.id.clone()),
        ..Figure::default()
    })
}
