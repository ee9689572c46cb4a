//! One run: its report, and its neighbours in the history.

use maud::{Markup, html};

use super::piece::{link, load, series_list, standing};
use crate::model::result::{ExperimentResult, ResultFile};
use crate::record::judged::judged;
use crate::record::store::{Filter, Saved, Status, Store};
use crate::report::finite;
use crate::report::html::{about, sections, title};
use crate::report::text::plain;
use crate::serve::frame::{Page, called};
use crate::serve::refusal::Refusal;
use crate::serve::route::{Form, Pair, Route};

/// Runs for a comparison with this one.
struct Others {
    /// The machine's pinned run, the base of its comparisons.
    pinned: Option<String>,
    /// The previous run with the same first experiment on the same machine.
    before: Option<String>,
}

pub(super) fn page(store: &Store, id: &str) -> Result<Page, Refusal> {
    let saved = load(store, id)?;
    let others = others(store, &saved.result)?;
    let result = finite(&judged(&saved.result, saved.margin_pct));
    let mut page = Page::new(&format!("Run {}: {}", plain(id), title(&result)));
    page.crumb("History", &Route::home());
    if let [only] = result.experiments.as_slice() {
        page.crumb(&only.name, &Route::experiment(&only.filed_as()));
    }
    page.content = html! {
        @if let [only] = result.experiments.as_slice() {
            p.question { bdi { (plain(&only.question)) } }
        }
        (about(&result.run))
        (signs(&saved, &others))
        (sections(&result))
        (beside(&result, &others))
        (taking(id))
    };
    Ok(page)
}

fn others(store: &Store, result: &ResultFile) -> Result<Others, Refusal> {
    let run = &result.run;
    let pinned = store.pinned(&run.machine.id)?;
    let mut before = None;
    if let Some(filed) = result.experiments.first().map(ExperimentResult::filed_as)
        && let Some(place) = store.place_in(&run.id, &filed)?
    {
        let filter = Filter {
            machine: Some(run.machine.id.clone()),
            tag: None,
        };
        let found = store.runs_of(&filed, &filter, place, 1)?;
        before = found.into_iter().next().map(|(_, found)| found.id);
    }
    Ok(Others { pinned, before })
}

fn signs(saved: &Saved, others: &Others) -> Markup {
    let pinned = others.pinned.as_ref() == Some(&saved.result.run.id);
    html! {
        @if pinned || saved.status != Status::Finished {
            p { (standing(saved.status, pinned)) @match saved.status {
                Status::Running => " What is finished so far is shown.",
                Status::Interrupted | Status::Failed => " What was finished is shown.",
                Status::Finished => "",
            } }
        }
    }
}

fn taking(id: &str) -> Markup {
    html! {
        p.links {
            "Download it as "
            @for (i, form) in Form::ALL.into_iter().enumerate() {
                @if i > 0 { ", " }
                @let file = Route::File { id: id.to_owned(), form };
                a href=(file) { (form.name()) }
            }
            "."
        }
    }
}

/// Links to its neighbours in the history.
fn beside(result: &ResultFile, others: &Others) -> Markup {
    let id = &result.run.id;
    let held = |base: &str| {
        Route::Compare(Pair {
            base: Some(base.to_owned()),
            with: Some(id.clone()),
            ..Pair::default()
        })
    };
    let known = [
        ("the run before it", &others.before),
        ("the pinned run", &others.pinned),
    ];
    html! {
        section aria-labelledby="beside" {
            h2 id="beside" { "In the history" }
            ul {
                @for (what, other) in known {
                    @if let Some(base) = other.as_ref().filter(|other| *other != id) {
                        li {
                            a href=(held(base)) { "Compare with " (what) } ", "
                            (link(&Route::run(base), base))
                        }
                    }
                }
                @for e in &result.experiments {
                    li { "All runs of " (link(&Route::experiment(&e.filed_as()), &e.name)) }
                }
            }
            @if result.run.profile != "smoke" {
                @for e in result.experiments.iter().filter(|e| !e.workloads.is_empty()) {
                    details {
                        summary { "Figures of " bdi { (called(&e.name)) } " over time" }
                        (series_list(e, &result.run.machine))
                    }
                }
            }
        }
    }
}
