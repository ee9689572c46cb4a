//! A page as Markdown.
#![forbid(unsafe_code)]

use super::{Grid, Part, Sheet, Stand};
use crate::report::markdown::escape;

pub(super) fn render(sheet: &Sheet) -> String {
    let mut page = format!("# {}\n", escape(&sheet.title));
    for part in &sheet.parts {
        let text = match part {
            Part::Heading(text) => format!("## {}", escape(text)),
            Part::Text(text) => escape(text),
            Part::Notes(notes) => {
                let items = notes.iter().map(|note| format!("- {}", escape(note)));
                items.collect::<Vec<_>>().join("\n")
            }
            Part::Table(grid) => table(grid),
            // The table has the same figures.
            Part::Pairs(_) => continue,
        };
        page.push_str(&format!("\n{text}\n"));
    }
    page
}

fn table(grid: &Grid) -> String {
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let headings = grid.columns.iter().map(|(heading, _)| escape(heading));
    let rule = grid.columns.iter().map(|(_, stand)| match stand {
        Stand::Left => "---".to_owned(),
        Stand::Right => "---:".to_owned(),
    });
    let mut lines = vec![line(headings.collect()), line(rule.collect())];
    for row in &grid.rows {
        lines.push(line(row.iter().map(|cell| escape(cell)).collect()));
    }
    lines.join("\n")
}
