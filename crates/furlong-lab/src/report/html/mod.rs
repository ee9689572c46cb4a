//! The result as one self-contained HTML file: no network, no other file. Its one script sorts,
//! filters and unfolds; the page says everything without it. The site uses the same parts.

pub(crate) mod frame;
mod guide;
mod machine;
pub(crate) mod svg;
mod tables;
mod verdicts;
mod workload;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::finite::finite;
use super::outline::Finding;
use super::text::{called, plain, shorten};
use super::{geomean, outline, wording};
use crate::model::result::{ExperimentResult, ResultFile, Run, WorkloadResult};
use crate::record::functions::frames;
use frame::{Name, minus, warnings};
pub(super) use svg::pairs;

/// The only style of the page.
pub(crate) const STYLE: &str = include_str!("style.css");

/// Its SHA-256 in base64. A test holds the two together, and prints the hash of a new style.
const STYLE_HASH: &str = "TKUkYmSclf2wN4cgTibAACu50PWFOMgsVmhZ8Mj8Ixg=";

/// The only script of the page.
const SCRIPT: &str = include_str!("page.js");

/// Its SHA-256 in base64, held in the same way.
const SCRIPT_HASH: &str = "URXixEhNumDBotQzeL/NRYHGEj4kIA9SNrYACxC8o/E=";

/// Columns at which a title is cut.
const TITLE_COLUMNS: usize = 100;

/// Verdicts that fit on a screen. Up to so many, a run of several experiments shows each at once,
/// and the only workload of a run is unfolded.
const SHOWN_MAX: usize = 12;

/// Bytes of a result's sections: the page around them takes less than 20 kB.
const SECTIONS_MAX: usize = 280_000;

/// Parts of a workload that a page has room for, from all to the fewest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Room {
    All,
    /// No flame graphs.
    Values,
    /// No single values, and no table of tests.
    Figures,
    /// No figures either.
    Tables,
    /// The table has only the primary metric.
    Primary,
}

impl Room {
    const ALL: [Room; 5] = [
        Room::All,
        Room::Values,
        Room::Figures,
        Room::Tables,
        Room::Primary,
    ];

    /// The parts of a result that are left out.
    fn left_out(self, file: &ResultFile) -> Option<String> {
        let parts = [
            (Room::Values, "flame graphs"),
            (Room::Figures, "single values"),
            (Room::Figures, "tests"),
            (Room::Tables, "figures"),
            (Room::Primary, "all but the primary metrics"),
        ];
        let is_there = |(room, _): &(Room, _)| *room != Room::Values || has_flame_graphs(file);
        let parts = parts.into_iter().filter(|(room, _)| self >= *room);
        let parts: Vec<&str> = parts.filter(is_there).map(|(_, part)| part).collect();
        let (last, others) = parts.split_last()?;
        Some(match others {
            [] => (*last).to_owned(),
            _ => format!("{} and {last}", others.join(", ")),
        })
    }
}

/// True if call stacks of an arm are kept.
fn has_flame_graphs(file: &ResultFile) -> bool {
    let has = |w: &WorkloadResult| w.arms.iter().any(|arm| frames(w, &arm.name).is_some());
    file.workloads().any(has)
}

/// The whole result as one HTML page.
///
/// # Shapes
/// UTF-8, no byte-order mark; it can be opened from a file. The page's own policy allows its one
/// style and its one script, and nothing else: no name in the result can load or run anything. It
/// takes less than 300 kB: a large run's page leaves out parts of its workloads, and says so.
pub fn render(file: &ResultFile) -> String {
    let file = finite(file);
    let title = title(&file);
    let body = html! {
        a.skip href="#verdicts" { "Skip to the verdicts" }
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

/// All of a result, from the verdicts to the machine, as far as there is room for it.
pub(crate) fn sections(file: &ResultFile) -> Markup {
    let mut markup = html! {};
    for room in Room::ALL {
        markup = sections_in(room, file);
        if lean(markup.0.clone()).len() <= SECTIONS_MAX {
            break;
        }
    }
    markup
}

fn sections_in(room: Room, file: &ResultFile) -> Markup {
    let found = outline::findings(file);
    html! {
        section aria-labelledby="verdicts" {
            h2 id="verdicts" { "Verdicts" }
            @if found.is_empty() {
                p { "No verdict: nothing was compared." }
            } @else {
                p.tally { (wording::tally(&outline::tally(&found))) "." }
            }
            @for (i, e) in file.experiments.iter().enumerate() {
                (experiment(i, e, file, &found, room))
            }
            @if let Some(parts) = room.left_out(file) {
                p.note {
                    "To stay small, this page leaves out " (parts) ". All are in the output of "
                    code { "furlong show " (plain(&file.run.id)) " --json -" } "."
                }
            }
            (warnings(&file.run.warnings, "warnings"))
        }
        (guide::section())
        (machine::section(&file.run))
    }
}

/// A whole page around its content.
pub(super) fn page(title: &str, version: &str, body: &Markup) -> String {
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{STYLE_HASH}'; script-src 'sha256-{SCRIPT_HASH}'; \
         base-uri 'none'; form-action 'none'"
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
            body { (body) script { (PreEscaped(SCRIPT)) } }
        }
    };
    let mut text = lean(page.into_string());
    text.push('\n');
    text
}

/// Markup that HTML lets out: the next tag ends such an element, and a heading above a table is of
/// a column. A third of a table is such markup.
const IMPLIED: [&str; 9] = [
    "</td>",
    "</th>",
    "</tr>",
    "</thead>",
    "</tbody>",
    "</li>",
    "</dt>",
    "</dd>",
    " scope=\"col\"",
];

/// The page without markup that it does not need. Text has no `<` and no `"`.
fn lean(page: String) -> String {
    let page = IMPLIED.iter().fold(page, |page, tag| page.replace(tag, ""));
    let shapes = ["></path>", "></circle>"].into_iter();
    shapes.fold(page, |page, empty| page.replace(empty, "/>"))
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

/// An experiment: its verdicts, then its workloads, folded. One of several is folded itself, unless
/// the verdicts of all fit on a screen.
fn experiment(
    index: usize,
    e: &ExperimentResult,
    file: &ResultFile,
    all: &[Finding<'_>],
    room: Room,
) -> Markup {
    let nested = file.experiments.len() > 1;
    let own = all.partition_point(|finding| finding.experiment < index);
    let own = &all[own..all.partition_point(|finding| finding.experiment <= index)];
    let look = workload::Look {
        open: all.is_empty() || (!nested && e.workloads.len() == 1 && own.len() <= SHOWN_MAX),
        nested,
        room,
    };
    let content = html! {
        @if nested { p.question { bdi { (plain(&e.question)) } } }
        (verdicts::lines(e, own))
        @for sentence in geomean::sentences(e) { p.note { bdi { (minus(&sentence)) } "." } }
        @if e.workloads.is_empty() { p { "No workload was run." } }
        @for (i, w) in e.workloads.iter().enumerate() {
            (workload::section(&format!("e{index}w{i}"), e, w, look))
        }
        (about_metrics(e))
        @if !e.left_out.is_empty() {
            p.note { "Left out:" }
            (warnings(&e.left_out, "plain"))
        }
    };
    html! {
        @if nested {
            details.experiment open[all.len() <= SHOWN_MAX] {
                summary {
                    h3 id=(format!("e{index}")) {
                        bdi { (shorten(&called(&e.name), TITLE_COLUMNS)) }
                    }
                    " " (verdicts::tally(own))
                }
                (content)
            }
        } @else {
            (content)
        }
    }
}

/// The definitions of the metrics.
fn about_metrics(e: &ExperimentResult) -> Markup {
    html! {
        dl.metrics {
            @for (name, metric) in e.named() {
                @if !metric.about.is_empty() {
                    dt { code { (Name(name)) } }
                    dd { (plain(&metric.about)) " " (capital(wording::better(metric))) "." }
                }
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
    fn the_policy_names_the_style_and_the_script_of_the_page() {
        let hash = |text: &str| BASE64.encode(Sha256::digest(text));
        assert_eq!(super::STYLE_HASH, hash(super::STYLE));
        assert_eq!(super::SCRIPT_HASH, hash(super::SCRIPT));
    }
}
