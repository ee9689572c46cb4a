//! A page in a browser.

use maud::{Markup, html};

use super::{Grid, Part, Sheet, Stand};
use crate::report::html::frame::{minus, scroll};
use crate::report::html::{page, pairs};
use crate::report::text::{called, plain};

pub(super) fn render(sheet: &Sheet, version: &str) -> String {
    let body = html! {
        header { h1 { bdi { (plain(&sheet.title)) } } }
        main { (parts(sheet)) }
        footer { p { "Written by furlong " (plain(version)) "." } }
    };
    page(&plain(&sheet.title), version, &body)
}

/// The content under the title.
pub(crate) fn parts(sheet: &Sheet) -> Markup {
    html! { @for part in &sheet.parts { (part_of(part)) } }
}

fn part_of(part: &Part) -> Markup {
    match part {
        Part::Pairs(pairs) => html! {
            @if let Some(picture) = pairs::draw(pairs) { (picture) }
        },
        Part::Heading(text) => html! { h2 { bdi { (called(text)) } } },
        Part::Subheading(text) => html! { h3 { bdi { (called(text)) } } },
        Part::Code(text) => html! { pre { (text) } },
        Part::Text(text) => html! { p { bdi { (minus(&plain(text))) } } },
        Part::Notes(notes) => html! {
            ul { @for note in notes { li { bdi { (minus(&plain(note))) } } } }
        },
        Part::Table(grid) => scroll("Table", &table(grid)),
    }
}

/// Columns of a cell from which on its column is wide enough to be folded.
const FOLDED_FROM: usize = 24;

fn table(grid: &Grid) -> Markup {
    let cells = |at: usize| grid.rows.iter().filter_map(move |row| row.get(at));
    let is_long = |at| cells(at).any(|cell| cell.chars().count() > FOLDED_FROM);
    let classes = grid.columns.iter().enumerate();
    let classes: Vec<&str> = classes
        .map(|(at, (_, stand))| match stand {
            Stand::Left if is_long(at) => "wrap",
            Stand::Left => "words",
            Stand::Right => "number",
        })
        .collect();
    html! {
        table {
            thead {
                tr {
                    @for ((heading, _), class) in grid.columns.iter().zip(&classes) {
                        th scope="col" class=(class) { (plain(heading)) }
                    }
                }
            }
            tbody {
                @for row in &grid.rows {
                    tr {
                        @for (cell, class) in row.iter().zip(&classes) {
                            td class=(class) { bdi { (minus(&plain(cell))) } }
                        }
                    }
                }
            }
        }
    }
}
