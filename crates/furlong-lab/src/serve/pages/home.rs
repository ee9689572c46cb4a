//! Every experiment, on each machine that ran it.
#![forbid(unsafe_code)]

use maud::{Markup, html};

use super::piece::{boxed, link, machine, standing, tally, time};
use crate::record::store::{Filter, Place, Store};
use crate::report::html::frame::heads;
use crate::report::quantity::count;
use crate::report::text::plain;
use crate::serve::frame::Page;
use crate::serve::refusal::Refusal;
use crate::serve::route::{Pair, Route};
use crate::serve::tallies::{Tallies, Tally};

/// Experiments on a page.
const SHOWN: u32 = 40;

/// A place with the verdicts of its last run with results.
type Told = (Place, Option<(String, Tally)>);

pub(super) fn page(store: &Store, tallies: &Tallies, first: &str) -> Result<Page, Refusal> {
    let mut places = store.places(first, SHOWN + 1)?;
    let next = beyond(&places, SHOWN as usize);
    if let Some(next) = &next {
        places.retain(|place| place.experiment != *next);
    }
    let mut told: Vec<Told> = vec![];
    for place in places {
        let run = place.telling.clone();
        let verdicts = run.map(|run| {
            let tally = tallies.of(store, &run, &place.experiment);
            tally.map(|tally| (run, tally))
        });
        let verdicts = verdicts.transpose()?;
        told.push((place, verdicts));
    }
    let mut page = Page::new("Experiments");
    page.content = content(&told, first, next);
    Ok(page)
}

/// The name of the first experiment of the next page.
fn beyond(places: &[Place], shown: usize) -> Option<String> {
    let groups = places.chunk_by(|a, b| a.experiment == b.experiment);
    let mut beyond = groups.skip(shown);
    Some(beyond.next()?.first()?.experiment.clone())
}

fn content(told: &[Told], first: &str, next: Option<String>) -> Markup {
    let rows = html! {
        (heads(&["Experiment", "Machine", ">Runs", "Latest run", "Began", "Last verdicts"]))
        @for group in told.chunk_by(|(a, _), (b, _)| a.experiment == b.experiment) {
            tbody.group {
                @for (i, one) in group.iter().enumerate() {
                    (row(one, (i == 0).then_some(group.len())))
                }
            }
        }
    };
    html! {
        @if told.is_empty() && first.is_empty() {
            p { "This store has no run yet: " code { "furlong run" } " makes one." }
        } @else if told.is_empty() {
            p { "There are no more experiments." }
        } @else {
            p { "Every experiment that has runs here, on each machine. Runs of different machines "
                "are never combined. " a href=(Route::Compare(Pair::default())) {
                    "Compare two runs" } "." }
            (boxed("Experiments and their latest runs", &rows))
        }
        @if !first.is_empty() || next.is_some() {
            nav aria-label="Pages" {
                p.pages {
                    @if !first.is_empty() { a href=(Route::home()) { "From the first" } " " }
                    @if let Some(first) = next {
                        a rel="next" href=(Route::Home { first }) { "Further experiments" }
                    }
                }
            }
        }
    }
}

fn row((place, verdicts): &Told, rows: Option<usize>) -> Markup {
    let own = Route::Experiment {
        name: place.experiment.clone(),
        filter: Filter {
            machine: Some(place.machine.id.clone()),
            tag: None,
        },
        before: None,
    };
    html! {
        tr {
            @if let Some(rows) = rows {
                th.subject scope="rowgroup" rowspan=(rows) {
                    (link(&Route::experiment(&place.experiment), &place.experiment))
                    span.question { bdi { (plain(&place.question)) } }
                }
            }
            td { (machine(&place.machine)) }
            td.number { a href=(own) { (count(place.runs.into())) } }
            td {
                (link(&Route::run(&place.latest), &place.latest)) " "
                @if place.profile != "quick" { span.note { (plain(&place.profile)) } " " }
                (standing(place.status, false))
            }
            td { (time(&place.started)) }
            td.wrap {
                @match verdicts {
                    None => span.note { "none: smoke runs only" },
                    Some((run, verdicts)) => {
                        (tally(verdicts))
                        @if *run != place.latest {
                            " " span.note { "in " (link(&Route::run(run), run)) }
                        }
                    }
                }
            }
        }
    }
}
