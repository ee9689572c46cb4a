//! The runs of an experiment, the latest first.

use maud::{Markup, html};

use super::piece::{boxed, machine, series_list, standing, time};
use crate::model::result::{ExperimentResult, Machine};
use crate::record::store::{Cursor, Filter, Listed, Place, Store};
use crate::report::html::frame::{Name, heads};
use crate::report::quantity::count;
use crate::report::text::plain;
use crate::serve::frame::Page;
use crate::serve::refusal::Refusal;
use crate::serve::route::{Pair, Route};

/// Runs on a page.
const SHOWN: u32 = 50;

pub(super) fn page(
    store: &Store,
    name: &str,
    filter: &Filter,
    before: Option<Cursor>,
) -> Result<Page, Refusal> {
    let places = store.places_of(name)?;
    let Some(question) = places.first().map(|place| plain(&place.question)) else {
        return Err(Refusal::Missing(format!(
            "No run has an experiment “{name}”."
        )));
    };
    let mut runs = store.runs_of(name, filter, before.unwrap_or(Cursor::START), SHOWN + 1)?;
    let more = runs.len() > SHOWN as usize;
    runs.truncate(SHOWN as usize);
    let older = runs.last().filter(|_| more).map(|(cursor, _)| *cursor);
    let told = telling(&places, filter);
    let contents = match told {
        Some((run, _)) => store.contents(run, name)?,
        None => None,
    };
    let mut page = Page::new(name);
    page.crumb("History", &Route::home());
    page.content = html! {
        p.question { bdi { (question) } }
        (form(name, filter, &places))
        (list(name, filter, before, &runs))
        (turning(name, filter, before, older))
        (over_time(contents.as_ref(), told.map(|(_, machine)| machine)))
    };
    Ok(page)
}

/// The latest run with results on the selected machine.
fn telling<'a>(places: &'a [Place], filter: &Filter) -> Option<(&'a str, &'a Machine)> {
    let wanted = |place: &&Place| match &filter.machine {
        Some(id) => place.machine.id == *id,
        None => true,
    };
    let mut told = places.iter().filter(wanted);
    told.find_map(|place| Some((place.telling.as_deref()?, &place.machine)))
}

/// The form that filters the list.
fn form(name: &str, filter: &Filter, places: &[Place]) -> Markup {
    let action = Route::experiment(name).to_string();
    let (action, own) = match action.split_once('?') {
        Some((path, _)) => (path, Some(name)),
        None => (action.as_str(), None),
    };
    html! {
        form.filter action=(action) method="get" {
            @if let Some(name) = own { input type="hidden" name="name" value=(name); }
            p {
                label for="machine" { "Machine" }
                select id="machine" name="machine" {
                    option value="" { "every machine" }
                    @for place in places {
                        @let machine = &place.machine;
                        @let chosen = filter.machine.as_ref() == Some(&machine.id);
                        option value=(machine.id) selected[chosen] {
                            (plain(&machine.host)) ", " (plain(&machine.kernel))
                            " (" (count(place.runs.into())) ")"
                        }
                    }
                }
            }
            p {
                label for="tag" { "Tag" }
                input id="tag" name="tag" value=[filter.tag.as_deref()] autocomplete="off";
            }
            p { button type="submit" { "Show" } }
        }
    }
}

fn list(name: &str, filter: &Filter, before: Option<Cursor>, runs: &[(Cursor, Listed)]) -> Markup {
    if runs.is_empty() {
        return html! {
            p {
                "No run matches. "
                a href=(Route::experiment(name)) { "All runs of this experiment" }
            }
        };
    }
    let caption = match (
        filter.machine.is_some() || filter.tag.is_some(),
        before.is_some(),
    ) {
        (false, false) => "The latest runs",
        (false, true) => "Earlier runs",
        (true, false) => "The latest runs that match",
        (true, true) => "Earlier runs that match",
    };
    let rows = html! {
        (heads("Began|Run|Machine|Profile|Version|Tag|Note|Base|With"))
        tbody {
            @for (place, (_, run)) in runs.iter().enumerate() { (row(place, runs.len(), run)) }
        }
    };
    html! {
        form action=(Route::Compare(Pair::default())) method="get" {
            (boxed(caption, &rows))
            @if runs.len() > 1 {
                p { button type="submit" { "Compare base with the other" } }
            }
        }
    }
}

/// A run. By default the latest is compared with the one before it.
fn row(place: usize, count: usize, run: &Listed) -> Markup {
    let choose = |name: &str, chosen: bool| {
        let label = format!("{name}: {}", plain(&run.id));
        html! {
            @if count > 1 {
                input type="radio" name=(name) value=(run.id) aria-label=(label) checked[chosen];
            }
        }
    };
    html! {
        tr {
            th scope="row" { a href=(Route::run(&run.id)) { (time(&run.started)) } }
            td { (Name(&run.id)) " " (standing(run.status, run.pinned)) }
            td { (machine(&run.machine)) }
            td { (plain(&run.profile)) }
            td { (Name(&run.version)) }
            td { @if let Some(tag) = &run.tag { (Name(tag)) } }
            td.wrap { @if let Some(note) = &run.note { bdi { (plain(note)) } } }
            td.choice { (choose("base", place == 1)) }
            td.choice { (choose("with", place == 0)) }
        }
    }
}

fn turning(name: &str, filter: &Filter, before: Option<Cursor>, older: Option<Cursor>) -> Markup {
    let at = |before: Option<Cursor>| Route::Experiment {
        name: name.to_owned(),
        filter: filter.clone(),
        before,
    };
    html! {
        @if before.is_some() || older.is_some() {
            nav aria-label="Pages" {
                p.pages {
                    @if before.is_some() { a href=(at(None)) { "The latest" } " " }
                    @if older.is_some() { a rel="next" href=(at(older)) { "Earlier runs" } }
                }
            }
        }
    }
}

fn over_time(contents: Option<&ExperimentResult>, machine: Option<&Machine>) -> Markup {
    html! {
        section aria-labelledby="over-time" {
            h2 id="over-time" { "Over time" }
            @match (contents, machine) {
                (Some(contents), Some(machine)) => (series_list(contents, machine)),
                _ => p {
                    "Smoke runs make no series: " code { "furlong run" } " makes runs that do."
                },
            }
        }
    }
}
