//! A page on a terminal.

use super::{Grid, Part, Sheet, Stand};
use crate::report::terminal::Style;
use crate::report::terminal::columns::{Column, table};
use crate::report::terminal::paint::strong;
use crate::report::text::{fold, plain};

/// Indentation of a note's further lines, in columns.
const INDENT: usize = 2;

pub(super) fn render(sheet: &Sheet, style: &Style) -> String {
    let mut page = strong(&plain(&sheet.title), style.colour) + "\n";
    for text in sheet.parts.iter().filter_map(|part| part_of(part, style)) {
        page.push('\n');
        page.push_str(&text);
        page.push('\n');
    }
    page
}

fn part_of(part: &Part, style: &Style) -> Option<String> {
    Some(match part {
        Part::Heading(text) | Part::Subheading(text) => strong(&plain(text), style.colour),
        Part::Code(text) => text.clone(),
        Part::Text(text) => fold(&plain(text), style.width, 0),
        Part::Notes(notes) => {
            let folded = notes
                .iter()
                .map(|note| fold(&format!("- {}", plain(note)), style.width, INDENT));
            folded.collect::<Vec<_>>().join("\n")
        }
        Part::Table(grid) => table(&columns(grid), style.width, style.colour),
        // The table has the same figures.
        Part::Pairs(_) => return None,
    })
}

/// The columns of a table.
pub(in crate::report) fn columns(grid: &Grid) -> Vec<Column> {
    let column = |(at, (heading, stand)): (usize, &(String, Stand))| {
        let mut column = match stand {
            Stand::Left => Column::words(heading),
            Stand::Right => Column::numbers(heading),
        };
        for row in &grid.rows {
            column.push(row.get(at).map_or(String::new(), |cell| plain(cell)));
        }
        column
    };
    grid.columns.iter().enumerate().map(column).collect()
}
