//! A page as Markdown.

use super::{Grid, Part, Sheet, Stand};
use crate::model::result::Verdict;
use crate::report::text::plain;
use crate::report::wording::word;

pub(super) fn render(sheet: &Sheet) -> String {
    format!("# {}\n{}", escape(&sheet.title), body(sheet))
}

/// Everything under a title that a click unfolds.
pub(super) fn folded(sheet: &Sheet) -> String {
    let (title, body) = (escape(&sheet.title), body(sheet));
    format!("\n<details>\n<summary>{title}</summary>\n{body}\n</details>\n")
}

fn body(sheet: &Sheet) -> String {
    let mut page = String::new();
    for part in &sheet.parts {
        let text = match part {
            Part::Heading(text) => format!("## {}", escape(text)),
            Part::Subheading(text) => format!("### {}", escape(text)),
            Part::Code(text) => fenced(text),
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
        lines.push(line(row.iter().map(|text| cell(text)).collect()));
    }
    lines.join("\n")
}

/// A cell; a verdict is emphasised.
fn cell(text: &str) -> String {
    match Verdict::ALL.iter().any(|verdict| word(*verdict) == text) {
        true => format!("**{text}**"),
        false => escape(text),
    }
}

/// Text that Markdown takes literally.
fn escape(text: &str) -> String {
    let text: Vec<char> = plain(text).chars().collect();
    let mut out = String::with_capacity(text.len());
    for (i, &c) in text.iter().enumerate() {
        let inside = |at: Option<usize>| {
            at.and_then(|at| text.get(at))
                .is_some_and(|c| c.is_alphanumeric())
        };
        let special = match c {
            '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '|' | '~' | '#' | '&' => true,
            '_' => !(inside(i.checked_sub(1)) && inside(Some(i + 1))),
            _ => false,
        };
        if special {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A fenced block. Its fence is longer than any run of backticks inside.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    format!("{fence}text\n{}\n{fence}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::{escape, fenced};

    #[test]
    fn what_markdown_would_read_is_escaped_and_names_stay_readable() {
        assert_eq!(escape("time_ns_per_op"), "time_ns_per_op");
        assert_eq!(escape("<b>|_x_"), r"\<b\>\|\_x\_");
        assert_eq!(escape("two\nlines"), "two lines");
    }

    #[test]
    fn a_fence_outlasts_the_backticks_inside() {
        assert!(fenced("a ```` b").starts_with("`````text\n"));
    }
}
