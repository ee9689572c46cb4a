//! The result as one self-contained HTML file: no script, no network, no other file. The site uses
//! the same parts.
#![forbid(unsafe_code)]

pub(crate) mod arms;
pub(crate) mod frame;
mod guide;
mod machine;
pub(crate) mod svg;
mod tables;
mod verdicts;
mod workload;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::finite::finite;
use super::text::{called, plain, shorten};
use super::wording;
use crate::model::result::{ExperimentResult, ResultFile, Run};
use frame::{Name, warnings};
pub(super) use svg::pairs;

/// The only style of the page.
pub(crate) const STYLE: &str = include_str!("style.css");

/// Its SHA-256 in base64. A test holds the two together, and prints the hash of a new style.
const STYLE_HASH: &str = "JoIspFWZxO2ck/qSrM9/ZuG6uFqOhwM07hpR6q2WggY=";

/// Columns at which a title is cut.
const TITLE_COLUMNS: usize = 100;

/// The whole result as one HTML page.
///
/// # Shapes
/// UTF-8, no byte-order mark; it can be opened from a file. The page's own policy allows its one
/// style and nothing else: no name in the result can load or run anything.
#[must_use]
pub fn render(file: &ResultFile) -> String {
    let file = finite(file);
    let title = title(&file);
    let body = html! {
        a.skip href="#verdicts" { "Skip to the verdicts" }
        (arms::shapes())
        (head(&file, &title))
        main { (sections(&file)) }
        footer {
            p { "Written by furlong " (plain(&file.run.version)) ". The numbers behind "
                "this page: "
                code { "furlong show " (plain(&file.run.id)) " --json -" } "." }
        }
    };
    page(&title, &file.run.version, &body)
}

/// All of a result, from the verdicts to the machine. The page must contain the shapes.
pub(crate) fn sections(file: &ResultFile) -> Markup {
    html! {
        (verdicts::section(file))
        @for (i, experiment) in file.experiments.iter().enumerate() {
            (self::experiment(i, experiment, file.experiments.len()))
        }
        (guide::section())
        (machine::section(&file.run))
    }
}

/// A whole page around its content.
pub(super) fn page(title: &str, version: &str, body: &Markup) -> String {
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{STYLE_HASH}'; base-uri 'none'; form-action 'none'"
    );
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                meta name="generator" content={ "furlong " (plain(version)) };
                title { (title) " – furlong" }
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    };
    let mut text = page.into_string();
    text.push('\n');
    text
}

/// A result's subject, in a line.
pub(crate) fn title(file: &ResultFile) -> String {
    let names: Vec<String> = file.experiments.iter().map(|e| plain(&e.name)).collect();
    match names.as_slice() {
        [] => "An empty run".to_owned(),
        [one] => shorten(one, TITLE_COLUMNS),
        [some @ .., last] if names.len() <= 3 => {
            shorten(&format!("{} and {last}", some.join(", ")), TITLE_COLUMNS)
        }
        many => format!("{} experiments", many.len()),
    }
}

fn head(file: &ResultFile, title: &str) -> Markup {
    let run = &file.run;
    html! {
        header {
            h1 { bdi { (title) } }
            @if let [only] = file.experiments.as_slice() {
                p.question { bdi { (plain(&only.question)) } }
            }
            (about(run))
        }
    }
}

/// Facts about a run: its time and host, and the user's notes.
pub(crate) fn about(run: &Run) -> Markup {
    let when = plain(&run.started);
    html! {
        p.meta {
            "Run " (Name(&run.id)) ", started "
            time datetime=(when) { (when.replacen('T', " ", 1)) }
            " on " (Name(&run.machine.host))
            @if let Some(cpu) = &run.machine.cpu { ", " (Name(cpu)) }
            ". Profile " (Name(&run.profile)) ", seed " (run.seed)
            @if let Some(tag) = &run.tag { ", tag " (Name(tag)) }
            "."
        }
        @if let Some(note) = &run.note { p.meta { bdi { (plain(note)) } } }
    }
}

fn experiment(index: usize, e: &ExperimentResult, count: usize) -> Markup {
    html! {
        section {
            h2 id=(format!("e{index}")) {
                @if count > 1 {
                    bdi { (shorten(&called(&e.name), TITLE_COLUMNS)) }
                } @else {
                    "Workloads"
                }
            }
            @if count > 1 { p.question { bdi { (plain(&e.question)) } } }
            dl.metrics {
                @for (name, metric) in super::outline::metrics(e) {
                    @if !metric.about.is_empty() {
                        dt { code { (Name(name)) } }
                        dd { (plain(&metric.about)) " " (capital(wording::better(metric))) "." }
                    }
                }
            }
            @if e.workloads.is_empty() { p { "No workload was run." } }
            @for (i, w) in e.workloads.iter().enumerate() {
                (workload::section(&format!("e{index}w{i}"), e, w))
            }
            @if !e.left_out.is_empty() {
                h3 { "Left out" }
                (warnings(&e.left_out, "plain"))
            }
        }
    }
}

/// The text with a capital letter, unless it begins with the name of a metric.
pub(super) fn capital(text: &str) -> String {
    if text
        .split(' ')
        .next()
        .is_some_and(|word| word.contains('_'))
    {
        return text.to_string();
    }
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD as BASE64;
    use sha2::{Digest as _, Sha256};

    #[test]
    fn the_policy_names_the_style_of_the_page() {
        let hash = BASE64.encode(Sha256::digest(super::STYLE));
        assert_eq!(super::STYLE_HASH, hash);
    }
}
