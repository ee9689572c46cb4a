//! A figure from run to run on one machine, and its changes.

use std::slice;

use maud::{Markup, html};

use super::piece::{boxed, link, machine, time};
use crate::history::page::{dismissed, figures, minutes, sentence, what};
use crate::history::series::{Point, Series, series};
use crate::model::result::{ExperimentResult, Kind, Machine, WorkloadResult};
use crate::record::store::{Place, Saved, Store};
use crate::report::html::frame::{Name, heads, minus};
use crate::report::html::svg::series_plot::{self, Dot, SeriesPlot};
use crate::report::outline::median;
use crate::report::quantity::signed;
use crate::report::text::plain;
use crate::report::wording::better;
use crate::serve::frame::{Page, called};
use crate::serve::refusal::Refusal;
use crate::serve::route::{Figure, LAST, Route};

/// The figure that the page shows, as it is in the latest run.
struct Subject<'a> {
    figure: &'a Figure,
    places: &'a [Place],
    place: &'a Place,
    experiment: &'a ExperimentResult,
    workload: &'a WorkloadResult,
    metric: &'a str,
}

pub(super) fn page(store: &Store, figure: &Figure) -> Result<Page, Refusal> {
    let places = store.places_of(&figure.experiment)?;
    let place = place(&places, figure)?;
    let nothing = || {
        let host = &place.machine.host;
        Refusal::Missing(format!(
            "“{}” has only smoke runs on {host}, which make no series.",
            figure.experiment
        ))
    };
    let telling = place.telling.as_deref().ok_or_else(nothing)?;
    let latest = store.load_of(telling, &figure.experiment)?;
    let latest = latest.ok_or_else(nothing)?;
    let experiment = latest.result.experiments.first().ok_or_else(nothing)?;
    let (workload, metric) = found(experiment, figure)?;
    let subject = Subject {
        figure,
        places: &places,
        place,
        experiment,
        workload,
        metric,
    };
    let last = figure.last.unwrap_or(LAST.0);
    let past = store.series(
        &place.machine.id,
        &figure.experiment,
        &figure.workload,
        metric,
        last,
    )?;
    let title = [&figure.workload, &figure.arm].map(|name| called(name));
    let mut page = Page::new(&title.join(", "));
    page.crumb("History", &Route::home());
    page.crumb(&figure.experiment, &Route::experiment(&figure.experiment));
    let mut all = series(&past, Some(metric)).into_iter();
    page.content = match all.find(|one| one.arm == figure.arm) {
        Some(series) => subject.content(&series, &past),
        None => html! {
            (subject.around())
            p { "No run has this figure." }
        },
    };
    Ok(page)
}

/// The requested machine, or else the one with the latest run that has results.
fn place<'a>(places: &'a [Place], figure: &Figure) -> Result<&'a Place, Refusal> {
    let experiment = &figure.experiment;
    let Some(first) = places.first() else {
        return Err(Refusal::Missing(format!(
            "No run has an experiment “{experiment}”."
        )));
    };
    let Some(id) = &figure.machine else {
        let mut telling = places.iter().filter(|place| place.telling.is_some());
        return Ok(telling.next().unwrap_or(first));
    };
    let named = places.iter().find(|place| place.machine.id == *id);
    named.ok_or_else(|| Refusal::Missing(format!("No machine “{id}” has runs of “{experiment}”.")))
}

/// The requested workload and metric.
fn found<'a>(
    experiment: &'a ExperimentResult,
    figure: &Figure,
) -> Result<(&'a WorkloadResult, &'a str), Refusal> {
    let missing = |what: &str, name: &str| {
        Refusal::Missing(format!("The latest run has no {what} “{name}”."))
    };
    let mut workloads = experiment.workloads.iter();
    let workload = workloads.find(|one| one.name == figure.workload);
    let workload = workload.ok_or_else(|| missing("workload", &figure.workload))?;
    if !workload.arms.iter().any(|arm| arm.name == figure.arm) {
        return Err(missing("arm", &figure.arm));
    }
    let wanted = figure.metric.as_deref();
    let metric = experiment.wanted(wanted, workload);
    let (metric, _) = metric.ok_or_else(|| missing("metric", wanted.unwrap_or("primary")))?;
    Ok((workload, metric))
}

impl Subject<'_> {
    fn content(&self, series: &Series, past: &[Saved]) -> Markup {
        html! {
            (self.around())
            (self.picture(series))
            (changes(series))
            (table(series, past))
            (self.further(past.len()))
        }
    }

    /// The figure's description, and links to its neighbours.
    fn around(&self) -> Markup {
        let about = self.experiment.metrics.get(self.metric);
        html! {
            p.question {
                bdi { (called(&self.experiment.name)) } ", " code { (Name(self.metric)) } " on "
                (machine(&self.place.machine))
            }
            @if let Some(about) = about {
                p.meta { bdi { (plain(&about.about)) } " " (better(about)) "." }
            }
            nav.others aria-label="Other figures" {
                (self.neighbours("Arms", &self.arms()))
                (self.neighbours("Workloads", &self.workloads()))
                (self.neighbours("Metrics", &self.metrics()))
                (self.neighbours("Machines", &self.machines()))
            }
        }
    }

    /// Links to the figures beside this one, if there are any.
    fn neighbours(&self, what: &str, all: &[(String, Figure)]) -> Markup {
        html! {
            @if all.len() > 1 {
                p {
                    span.note { (what) } " "
                    @for (name, figure) in all {
                        @if figure == &self.exact() {
                            b aria-current="true" { (Name(&called(name))) } " "
                        } @else {
                            (link(&Route::Series(figure.clone()), name)) " "
                        }
                    }
                }
            }
        }
    }

    /// This figure with every part named.
    fn exact(&self) -> Figure {
        Figure {
            metric: Some(self.metric.to_owned()),
            machine: Some(self.place.machine.id.clone()),
            ..self.figure.clone()
        }
    }

    /// This figure with another name in one place, for each name.
    fn each(
        &self,
        names: impl Iterator<Item = String>,
        set: fn(&mut Figure, String),
    ) -> Vec<(String, Figure)> {
        let figure = |name: String| {
            let mut figure = self.exact();
            set(&mut figure, name.clone());
            (name, figure)
        };
        names.map(figure).collect()
    }

    fn arms(&self) -> Vec<(String, Figure)> {
        let able = self.workload.arms.iter().filter(|arm| arm.na.is_none());
        let names = able.map(|arm| arm.name.clone());
        self.each(names, |figure, name| figure.arm = name)
    }

    /// The workloads with this arm.
    fn workloads(&self) -> Vec<(String, Figure)> {
        let has_arm = |workload: &&WorkloadResult| {
            let mut arms = workload.arms.iter().filter(|arm| arm.na.is_none());
            arms.any(|arm| arm.name == self.figure.arm)
        };
        let all = self.experiment.workloads.iter().filter(has_arm);
        let names = all.map(|workload| workload.name.clone());
        self.each(names, |figure, name| figure.workload = name)
    }

    /// The metrics with values in this workload.
    fn metrics(&self) -> Vec<(String, Figure)> {
        let arms = &self.workload.arms;
        let there = |name: &&str| arms.iter().any(|arm| arm.samples.contains_key(*name));
        let named = self.experiment.named().into_iter();
        let names = named.map(|(name, _)| name).filter(there);
        self.each(names.map(str::to_owned), |figure, name| {
            figure.metric = Some(name);
        })
    }

    fn machines(&self) -> Vec<(String, Figure)> {
        let telling = self.places.iter().filter(|place| place.telling.is_some());
        let machine = |Machine {
                           id, host, kernel, ..
                       }: &Machine| {
            let figure = Figure {
                machine: Some(id.clone()),
                ..self.exact()
            };
            (format!("{host} ({kernel})"), figure)
        };
        telling.map(|place| machine(&place.machine)).collect()
    }

    fn picture(&self, series: &Series) -> Markup {
        let figure = figures(series);
        let dot = |point: &Point| Dot {
            value: point.value,
            day: minutes(&point.started).chars().take(10).collect(),
            about: format!(
                "{}, run {}: {}",
                minutes(&point.started),
                plain(&point.run),
                figure(point.value)
            ),
        };
        let points: Vec<Dot> = series.points.iter().map(dot).collect();
        let levels = levels(series);
        let mut arms = self.workload.arms.iter();
        let place = arms.position(|arm| arm.name == series.arm);
        let drawn = series_plot::draw(&SeriesPlot {
            title: &format!("{} from run to run", what(series)),
            unit: match &series.baseline {
                Some(_) => "",
                None => &series.about.unit,
            },
            arm: place.unwrap_or(0),
            points: &points,
            levels: &levels,
        });
        html! {
            figure.series {
                figcaption {
                    b { bdi { (plain(&what(series))) } ", from run to run." } " "
                    @if let Some(baseline) = &series.baseline {
                        "One dot is one run: the ratio to " (Name(baseline)) " in the same blocks. "
                    } @else {
                        "One dot is one run: the median. "
                    }
                    "The lines are the levels between two steps."
                }
                @if let Some(drawn) = drawn { (drawn) }
            }
        }
    }

    /// A link to more runs, if there are more.
    fn further(&self, shown: usize) -> Markup {
        let last = self.figure.last.unwrap_or(LAST.0);
        let all = Route::Series(Figure {
            last: Some(LAST.1),
            ..self.exact()
        });
        html! {
            @if shown >= last as usize && last < LAST.1 {
                p { "These are the latest " (last) " runs. " a href=(all) { "Up to " (LAST.1) } }
            }
        }
    }
}

/// The levels: the first point of each, and its value.
fn levels(series: &Series) -> Vec<(usize, f64)> {
    let values: Vec<f64> = series.points.iter().map(|point| point.value).collect();
    let first = series.steps.first().map(|step| step.before);
    let first = first.or_else(|| median(&values));
    let later = series.steps.iter().map(|step| (step.at, step.after));
    let first = first.map(|level| (0, level));
    first.into_iter().chain(later).collect()
}

fn changes(series: &Series) -> Markup {
    html! {
        section aria-labelledby="steps" {
            h2 id="steps" { "Changes of level" }
            @if series.steps.is_empty() {
                p { "None by more than the margin."
                    @if series.about.kind == Kind::Sampled && series.points.len() < 6 {
                        " There are too few runs to detect one."
                    }
                }
            } @else {
                ul {
                    @for step in &series.steps {
                        li { bdi { (minus(&plain(&sentence(series, step)))) } "." }
                    }
                }
            }
            @for run in dismissed(slice::from_ref(series)) {
                p.note { bdi { (plain(&run)) } "." }
            }
            @if series.otherwise > 0 {
                p.note { "Runs with other parameters, left out: " (series.otherwise) "." }
            }
        }
    }
}

/// Every value, the latest first, as a text alternative to the picture.
fn table(series: &Series, past: &[Saved]) -> Markup {
    let figure = figures(series);
    let note = |run: &str| {
        let saved = past.iter().find(|saved| saved.result.run.id == run)?;
        saved.result.run.note.as_deref()
    };
    let rows = html! {
        (heads("Run|Began|>Value|>Step|Version|Tag|Note"))
        tbody {
            @for (place, point) in series.points.iter().enumerate().rev() {
                tr {
                    th scope="row" { (link(&Route::run(&point.run), &point.run)) }
                    td { (time(&point.started)) }
                    td.number { (minus(&figure(point.value))) }
                    td.number {
                        @if let Some(step) = series.steps.iter().find(|step| step.at == place) {
                            (minus(&format!("{} %", signed(step.effect_pct, 1))))
                        }
                    }
                    td { (Name(&point.version)) }
                    td { @if let Some(tag) = &point.tag { (Name(tag)) } }
                    td.wrap { @if let Some(note) = note(&point.run) { bdi { (plain(note)) } } }
                }
            }
        }
    };
    html! {
        section aria-labelledby="values" {
            h2 id="values" { "Every run" }
            (boxed(&format!("{}, the latest run first", plain(&what(series))), &rows))
        }
    }
}
