//! A page in a browser.
#![forbid(unsafe_code)]

use maud::{Markup, html};

use super::{Grid, Part, Sheet, Stand};
use crate::report::html::frame::{minus, scroll};
use crate::report::html::page;
use crate::report::text::{called, plain};

pub(super) fn render(sheet: &Sheet, version: &str) -> String {
    let body = html! {
        header { h1 { bdi { (plain(&sheet.title)) } } }
        main { (parts(sheet)) }
        footer { p { "Written by furlong " (plain(version)) "." } }
    };
    page(&plain(&sheet.title), version, &body)
}

/// What stands under the title.
pub(crate) fn parts(sheet: &Sheet) -> Markup {
    html! { @for part in &sheet.parts { (part_of(part)) } }
}

fn part_of(part: &Part) -> Markup {
    match part {
        Part::Heading(text) => html! { h2 { bdi { (called(text)) } } },
        Part::Text(text) => html! { p { bdi { (minus(&plain(text))) } } },
        Part::Notes(notes) => html! {
            ul { @for note in notes { li { bdi { (minus(&plain(note))) } } } }
        },
        Part::Table(grid) => scroll("Table", &table(grid)),
    }
}

fn table(grid: &Grid) -> Markup {
    let class = |stand: Stand| match stand {
        Stand::Left => "wrap",
        Stand::Right => "number",
    };
    html! {
        table {
            thead {
                tr {
                    @for (heading, stand) in &grid.columns {
                        th scope="col" class=(class(*stand)) { (plain(heading)) }
                    }
                }
            }
            tbody {
                @for row in &grid.rows {
                    tr {
                        @for (cell, (_, stand)) in row.iter().zip(&grid.columns) {
                            td class=(class(*stand)) { bdi { (minus(&plain(cell))) } }
                        }
                    }
                }
            }
        }
    }
}
