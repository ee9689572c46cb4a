//! A request's target, parsed from an address and written as one.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::parameters::{Parameters, query};
use super::refusal::Refusal;
use crate::record::store::{Cursor, Filter};

/// Characters that a segment of a path may contain unescaped.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Runs in a series: the default and the maximum.
pub(super) const LAST: (u32, u32) = (200, 1000);

/// The target of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// Every experiment, from the one with this name on.
    Home { first: String },
    /// The runs of an experiment.
    Experiment {
        name: String,
        filter: Filter,
        before: Option<Cursor>,
    },
    /// A run.
    Run { id: String },
    /// A run as a file.
    File { id: String, form: Form },
    /// Two runs side by side.
    Compare(Pair),
    /// A figure from run to run.
    Series(Figure),
    /// The style of every page.
    Style,
    /// The icon of every page.
    Icon,
}

/// Formats in which a run can be downloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Csv,
    Markdown,
    Html,
}

/// Two runs to compare.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pair {
    /// The base.
    pub(super) base: Option<String>,
    /// The run that is compared with it.
    pub(super) with: Option<String>,
    /// The metric; if none is given, each workload's primary one.
    pub(super) metric: Option<String>,
    /// True to compare even runs on different machines.
    pub(super) across: bool,
}

/// One figure of one experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Figure {
    pub(super) experiment: String,
    pub(super) workload: String,
    pub(super) arm: String,
    /// If none is given, the workload's primary one.
    pub(super) metric: Option<String>,
    /// The machine's identifier; if none is given, the one with the latest run.
    pub(super) machine: Option<String>,
    /// Most runs.
    pub(super) last: Option<u32>,
}

impl Form {
    pub(super) const ALL: [Form; 4] = [Form::Json, Form::Csv, Form::Markdown, Form::Html];

    /// The extension of the file's name.
    pub(super) fn ending(self) -> &'static str {
        match self {
            Form::Json => "json",
            Form::Csv => "csv",
            Form::Markdown => "md",
            Form::Html => "html",
        }
    }

    /// The name for readers.
    pub(super) fn name(self) -> &'static str {
        match self {
            Form::Json => "JSON",
            Form::Csv => "CSV",
            Form::Markdown => "Markdown",
            Form::Html => "HTML",
        }
    }

    fn ends(ending: &str) -> Option<Form> {
        Form::ALL.into_iter().find(|form| form.ending() == ending)
    }
}

impl Route {
    /// The first page.
    pub(super) fn home() -> Route {
        Route::Home {
            first: String::new(),
        }
    }

    /// All runs of an experiment.
    pub(super) fn experiment(name: &str) -> Route {
        Route::Experiment {
            name: name.to_owned(),
            filter: Filter::default(),
            before: None,
        }
    }

    /// A run.
    pub(super) fn run(id: &str) -> Route {
        Route::Run { id: id.to_owned() }
    }

    /// Parses an address.
    ///
    /// # Errors
    ///
    /// It does not exist, or a parameter is invalid.
    pub(super) fn of(path: &str, query: &str) -> Result<Route, Refusal> {
        let decode = |segment: &str| match percent_decode_str(segment).decode_utf8() {
            Ok(text) => Ok(text.into_owned()),
            Err(_) => Err(Refusal::Parameter("The address is not UTF-8.".to_owned())),
        };
        let segments: Result<Vec<String>, Refusal> = path.split('/').map(decode).collect();
        let segments = segments?;
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        match segments.as_slice() {
            ["", ""] => {
                let mut said = Parameters::of(query, &["from"])?;
                let first = said.any("from").unwrap_or_default();
                Ok(Route::Home { first })
            }
            ["", "experiments", name] => experiment(name, query),
            ["", "runs", name] => run(name, query),
            ["", "compare"] => pair(query).map(Route::Compare),
            ["", "metric"] => figure(query).map(Route::Series),
            ["", "style.css"] => Ok(Route::Style),
            ["", "icon.svg"] => Ok(Route::Icon),
            _ => Err(Refusal::Missing("This page does not exist.".to_owned())),
        }
    }
}

/// True if a name can be a segment of a path: these have another meaning there.
fn stands_in_path(name: &str) -> bool {
    !["", ".", ".."].contains(&name)
}

fn experiment(name: &str, query: &str) -> Result<Route, Refusal> {
    let mut said = Parameters::of(query, &["name", "machine", "tag", "before"])?;
    let name = match (name, said.any("name")) {
        ("", Some(name)) => name,
        ("", None) => return Err(Refusal::Parameter("Which experiment?".to_owned())),
        (name, None) => name.to_owned(),
        (_, Some(_)) => return Err(Refusal::Parameter("The name is given twice.".to_owned())),
    };
    let before = said.some("before").map(|text| cursor(&text)).transpose()?;
    Ok(Route::Experiment {
        name,
        filter: Filter {
            machine: said.some("machine"),
            tag: said.some("tag"),
        },
        before,
    })
}

fn run(name: &str, query: &str) -> Result<Route, Refusal> {
    Parameters::of(query, &[])?;
    let Some((id, ending)) = name.split_once('.') else {
        return Ok(Route::run(name));
    };
    let known = || {
        let endings = Form::ALL.map(Form::ending).join(", ");
        Refusal::Missing(format!("A run is available as {endings}."))
    };
    let form = Form::ends(ending).ok_or_else(known)?;
    let id = id.to_owned();
    Ok(Route::File { id, form })
}

fn pair(query: &str) -> Result<Pair, Refusal> {
    let mut said = Parameters::of(query, &["base", "with", "metric", "across"])?;
    let across = match said.some("across").as_deref() {
        None => false,
        Some("yes") => true,
        Some(_) => {
            return Err(Refusal::Parameter(
                "“across” must be “yes” or absent.".to_owned(),
            ));
        }
    };
    Ok(Pair {
        base: said.some("base"),
        with: said.some("with"),
        metric: said.some("metric"),
        across,
    })
}

fn figure(query: &str) -> Result<Figure, Refusal> {
    let known = ["experiment", "workload", "arm", "metric", "machine", "last"];
    let mut said = Parameters::of(query, &known)?;
    let last = said.some("last").map(|text| match text.parse::<u32>() {
        Ok(count) if (2..=LAST.1).contains(&count) => Ok(count),
        _ => Err(Refusal::Parameter(format!(
            "“last” must be a number of runs from 2 to {}.",
            LAST.1
        ))),
    });
    Ok(Figure {
        experiment: said.need("experiment")?,
        workload: said.need("workload")?,
        arm: said.need("arm")?,
        metric: said.some("metric"),
        machine: said.some("machine"),
        last: last.transpose()?,
    })
}

fn cursor(text: &str) -> Result<Cursor, Refusal> {
    let wrong = || Refusal::Parameter("“before” is not a position in this list.".to_owned());
    let (began, number) = text.split_once('.').ok_or_else(wrong)?;
    Ok(Cursor {
        began_ms: began.parse().map_err(|_| wrong())?,
        number: number.parse().map_err(|_| wrong())?,
    })
}

/// The route as an address within this server.
impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Route::Home { first } => {
                let first = Some(first.as_str()).filter(|first| !first.is_empty());
                write!(f, "/{}", query([("from", first)]))
            }
            Route::Experiment {
                name,
                filter,
                before,
            } => {
                let in_path = stands_in_path(name);
                let before = before.map(|at| format!("{}.{}", at.began_ms, at.number));
                let said = query([
                    ("name", (!in_path).then_some(name.as_str())),
                    ("machine", filter.machine.as_deref()),
                    ("tag", filter.tag.as_deref()),
                    ("before", before.as_deref()),
                ]);
                let name = if in_path { name } else { "" };
                write!(
                    f,
                    "/experiments/{}{said}",
                    utf8_percent_encode(name, SEGMENT)
                )
            }
            Route::Run { id } => write!(f, "/runs/{}", utf8_percent_encode(id, SEGMENT)),
            Route::File { id, form } => {
                let id = utf8_percent_encode(id, SEGMENT);
                write!(f, "/runs/{id}.{}", form.ending())
            }
            Route::Compare(pair) => {
                let said = query([
                    ("base", pair.base.as_deref()),
                    ("with", pair.with.as_deref()),
                    ("metric", pair.metric.as_deref()),
                    ("across", pair.across.then_some("yes")),
                ]);
                write!(f, "/compare{said}")
            }
            Route::Series(figure) => {
                let last = figure.last.map(|count| count.to_string());
                let said = query([
                    ("experiment", Some(figure.experiment.as_str())),
                    ("workload", Some(&figure.workload)),
                    ("arm", Some(&figure.arm)),
                    ("metric", figure.metric.as_deref()),
                    ("machine", figure.machine.as_deref()),
                    ("last", last.as_deref()),
                ]);
                write!(f, "/metric{said}")
            }
            Route::Style => f.write_str("/style.css"),
            Route::Icon => f.write_str("/icon.svg"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cursor, Figure, Filter, Form, Pair, Refusal, Route};

    const NAMES: [&str; 12] = [
        "iova-gap",
        "",
        ".",
        "..",
        "a/b?c#d&e=f+g%41 h",
        "<script>alert(1)</script>",
        "\"onload=",
        "日本語",
        "%2e%2e",
        "name",
        "../../etc",
        "a\\b",
    ];

    fn again(route: &Route) -> Route {
        let address = route.to_string();
        let (path, query) = address.split_once('?').unwrap_or((&address, ""));
        Route::of(path, query).unwrap_or_else(|_| panic!("{address}"))
    }

    #[test]
    fn every_name_is_found_at_its_own_address() {
        for name in NAMES {
            let first = name.to_owned();
            let filter = Filter {
                machine: Some("m&n".to_owned()),
                tag: Some("a b+c".to_owned()),
            };
            let before = Some(Cursor {
                began_ms: -5,
                number: 7,
            });
            let text = || Some(format!("{name}x"));
            for route in [
                Route::Home { first },
                Route::experiment(name),
                Route::Experiment {
                    name: name.to_owned(),
                    filter,
                    before,
                },
                Route::Compare(Pair {
                    base: text(),
                    with: text(),
                    metric: text(),
                    across: true,
                }),
                Route::Series(Figure {
                    experiment: name.to_owned(),
                    workload: name.to_owned(),
                    arm: name.to_owned(),
                    metric: text(),
                    machine: text(),
                    last: Some(3),
                }),
            ] {
                let address = route.to_string();
                assert_eq!(again(&route), route, "{address}");
                let plain = |c: char| c.is_ascii_graphic() && !"\"<>'\\".contains(c);
                assert!(address.chars().all(plain), "{address}");
            }
        }
        for form in Form::ALL {
            let id = "abcd".to_owned();
            assert_eq!(
                again(&Route::File {
                    id: id.clone(),
                    form
                }),
                Route::File { id, form }
            );
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (path, query) in [
            ("/", "form=x"),
            ("/", "from=a&from=b"),
            ("/experiments/", ""),
            ("/experiments/a", "name=b"),
            ("/experiments/a", "before=yesterday"),
            ("/experiments/a", "before=1.9223372036854775808"),
            ("/experiments/%ff", ""),
            ("/runs/a", "x"),
            ("/compare", "across=no"),
            ("/metric", "experiment=a&workload=b"),
            ("/metric", "experiment=a&workload=b&arm=c&last=1"),
            ("/metric", "experiment=a&workload=b&arm=c&last=1001"),
            ("/metric", "experiment=a&workload=b&arm=c&last=-3"),
        ] {
            let refused = Route::of(path, query);
            assert!(
                matches!(refused, Err(Refusal::Parameter(_))),
                "{path}?{query}"
            );
        }
        for path in [
            "",
            "//",
            "/x",
            "/runs",
            "/runs/a.exe",
            "/experiments/a/b",
            "/../style.css",
        ] {
            assert!(
                matches!(Route::of(path, ""), Err(Refusal::Missing(_))),
                "{path}"
            );
        }
    }
}
