//! The first page: the latest runs, and every experiment on each machine that ran it.

use std::sync::Arc;

use maud::{Markup, html};

use super::piece::{link, machine, standing, tally, time};
use crate::history::series::Series;
use crate::model::result::Verdict;
use crate::record::store::{Fault, Filter, Listed, Place, Store};
use crate::report::html::frame::Name;
use crate::report::html::svg::spark;
use crate::report::quantity::{counted, fixed};
use crate::report::text::{plain, shorten};
use crate::serve::frame::{Page, called};
use crate::serve::refusal::Refusal;
use crate::serve::route::{Figure, Pair, Route};
use crate::serve::tallies::{Summary, Tallies, Tally};

/// Experiments on a page.
const SHOWN: u32 = 40;

/// Latest runs on the page.
const RECENT: u32 = 10;

/// Experiments of a run that are named.
const NAMED: usize = 3;

/// Columns of a run's subject.
const TITLE_COLUMNS: usize = 60;

/// A run with its experiments.
type Recent = (Listed, Arc<Vec<Summary>>);

/// A place with its last run that has results: name, verdicts and history.
struct Told {
    place: Place,
    latest: Option<(String, Tally, Spark)>,
}

/// The ratios of the arms of one workload from run to run.
#[derive(Default)]
struct Spark {
    arms: Vec<String>,
    series: Arc<Vec<Series>>,
}

pub(super) fn page(store: &Store, tallies: &Tallies, first: &str) -> Result<Page, Refusal> {
    let recent = match first {
        "" => recent(store, tallies)?,
        _ => vec![],
    };
    let mut places = store.places(first, SHOWN + 1)?;
    let next = beyond(&places, SHOWN as usize);
    if let Some(next) = &next {
        places.retain(|place| place.experiment != *next);
    }
    let told = places.into_iter().map(|place| told(store, tallies, place));
    let told: Vec<Told> = told.collect::<Result<_, Fault>>()?;
    let mut page = Page::new("History");
    page.content = html! {
        @if told.is_empty() && first.is_empty() {
            (nothing())
        } @else if told.is_empty() {
            p { "There are no more experiments." }
        } @else {
            (runs(&recent))
            (experiments(&told))
        }
        (turning(first, next))
    };
    Ok(page)
}

fn recent(store: &Store, tallies: &Tallies) -> Result<Vec<Recent>, Fault> {
    let latest = store.latest_runs(RECENT)?.into_iter();
    let with = latest.map(|run| Ok((tallies.of(store, &run.id)?, run)));
    let with = with.map(|found: Result<_, Fault>| found.map(|(summaries, run)| (run, summaries)));
    with.collect()
}

fn told(store: &Store, tallies: &Tallies, place: Place) -> Result<Told, Fault> {
    let Some(run) = place.telling.clone() else {
        return Ok(Told {
            place,
            latest: None,
        });
    };
    let summaries = tallies.of(store, &run)?;
    let own = summaries.iter().find(|one| one.filed == place.experiment);
    let latest = own.map(|own| {
        let series = tallies.history(store, &place, &run, own)?;
        let arms = own.arms.clone();
        Ok((run.clone(), own.tally.clone(), Spark { arms, series }))
    });
    Ok(Told {
        place,
        latest: latest.transpose()?,
    })
}

/// The name of the first experiment of the next page.
fn beyond(places: &[Place], shown: usize) -> Option<String> {
    let groups = places.chunk_by(|a, b| a.experiment == b.experiment);
    let mut beyond = groups.skip(shown);
    Some(beyond.next()?.first()?.experiment.clone())
}

/// Lines to type for a first run.
fn nothing() -> Markup {
    html! {
        p { "This history has no run yet. Type one of these lines, and reload this page:" }
        dl {
            dt { code { "furlong run" } }
            dd { "a tour of all systems, in a minute" }
            dt { code { "furlong compare 'A' 'B'" } }
            dd { "two commands of yours" }
            dt { code { "furlong import FILE" } }
            dd { "a result from elsewhere" }
        }
    }
}

fn runs(recent: &[Recent]) -> Markup {
    html! {
        @if !recent.is_empty() {
            section aria-labelledby="recent" {
                h2 id="recent" { "Latest runs" }
                ol.runs { @for one in recent { (run(one)) } }
                p { a href=(Route::Compare(Pair::default())) { "Compare two runs" } }
            }
        }
    }
}

fn run((run, summaries): &Recent) -> Markup {
    let counts = || summaries.iter().flat_map(|one| &one.tally);
    let total = |verdict| {
        let own = counts().filter(|(known, _)| *known == verdict);
        (verdict, own.map(|(_, n)| n).sum::<usize>())
    };
    let mut all: Tally = Verdict::ALL.map(total).into();
    all.retain(|(_, n)| *n > 0);
    html! {
        li {
            span {
                a href=(Route::run(&run.id)) title={ "run " (plain(&run.id)) } {
                    bdi { (subject(summaries)) }
                }
                " " (standing(run.status, run.pinned))
            }
            (time(&run.started))
            (machine(&run.machine))
            span { (tally(&all)) }
            span.note {
                @if run.profile != "quick" { (plain(&run.profile)) " " }
                @for text in [&run.tag, &run.note].into_iter().flatten() { (Name(text)) " " }
            }
        }
    }
}

/// The subject of a run: the question of a comparison of commands, or the experiments' names.
fn subject(summaries: &[Summary]) -> String {
    let names = summaries.iter();
    let names: Vec<String> = names.map(|one| called(&one.experiment)).collect();
    let text = match summaries {
        [] => "no experiment".to_owned(),
        [one] if one.experiment == "compare" => plain(&one.question),
        few if few.len() <= NAMED => names.join(", "),
        many => format!("{} experiments", many.len()),
    };
    shorten(&text, TITLE_COLUMNS)
}

fn experiments(told: &[Told]) -> Markup {
    html! {
        section aria-labelledby="experiments" {
            h2 id="experiments" { "Experiments" }
            @for group in told.chunk_by(|a, b| a.place.experiment == b.place.experiment) {
                @for (i, one) in group.iter().enumerate() {
                    @if i == 0 {
                        h3.subject {
                            (link(&Route::experiment(&one.place.experiment), &one.place.experiment))
                        }
                        p.note { bdi { (plain(&one.place.question)) } }
                    }
                }
                ol.places { @for one in group { (place(one)) } }
            }
        }
    }
}

fn place(Told { place, latest }: &Told) -> Markup {
    let own = Route::Experiment {
        name: place.experiment.clone(),
        filter: Filter {
            machine: Some(place.machine.id.clone()),
            tag: None,
        },
        before: None,
    };
    let runs = counted(place.runs.into(), "run");
    html! {
        li {
            span { (machine(&place.machine)) ", " a href=(own) { (runs) } }
            span {
                "latest " a href=(Route::run(&place.latest)) { (time(&place.started)) } " "
                @if place.profile != "quick" { span.note { (plain(&place.profile)) } " " }
                (standing(place.status, false))
            }
            @match latest {
                None => span.note { "no verdict: smoke runs only" },
                Some((run, verdicts, spark)) => {
                    span {
                        (tally(verdicts))
                        @if *run != place.latest {
                            " " span.note { "in " (link(&Route::run(run), run)) }
                        }
                    }
                    (drawn(place, spark))
                }
            }
        }
    }
}

/// The history as a small picture: a link to the figure of the last arm.
fn drawn(place: &Place, spark: &Spark) -> Markup {
    let arm = |name: &str| spark.arms.iter().position(|arm| arm == name).unwrap_or(0);
    let values = |one: &Series| one.points.iter().map(|point| point.value).collect();
    let lines = spark.series.iter().map(|one| (arm(&one.arm), values(one)));
    let lines: Vec<(usize, Vec<f64>)> = lines.collect();
    let Some(last) = spark.series.last() else {
        return html! {};
    };
    let baseline = called(last.baseline.as_deref().unwrap_or_default());
    let latest = last.points.last().map_or(f64::NAN, |point| point.value);
    let runs = last.points.len();
    let about = format!(
        "{} over {baseline} in the latest {runs} runs",
        called(&last.arm)
    );
    let figure = Route::Series(Figure {
        experiment: place.experiment.clone(),
        workload: last.workload.clone(),
        arm: last.arm.clone(),
        machine: Some(place.machine.id.clone()),
        ..Figure::default()
    });
    html! {
        a.history href=(figure) {
            @if let Some(drawn) = spark::draw(&about, &lines) { (drawn) }
            span { (Name(&last.workload)) ": " (Name(&last.arm)) " " (fixed(latest, 3)) " × "
                (Name(&baseline)) }
        }
    }
}

fn turning(first: &str, next: Option<String>) -> Markup {
    html! {
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
