//! A page of text and tables that is not a run's result: the history, a difference of two runs, the
//! documents' figures. It is built once, and rendered for a terminal, as Markdown and as HTML.
//!
//! # Files
//! - `terminal.rs`, `markdown.rs`, `html.rs`: a page in each form

pub(crate) mod html;
mod markdown;
pub(in crate::report) mod terminal;

use super::terminal::Style;
use crate::model::result::Verdict;

/// A page, from top to bottom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sheet {
    /// Its subject.
    pub title: String,
    /// The content under the title.
    pub parts: Vec<Part>,
}

/// A piece of a page.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// A heading.
    Heading(String),
    /// A heading under the one before.
    Subheading(String),
    /// Lines of a terminal, as they are.
    Code(String),
    /// A paragraph.
    Text(String),
    /// Independent sentences.
    Notes(Vec<String>),
    /// Rows and columns.
    Table(Grid),
    /// Changes of a table as a picture; only formats with pictures draw it.
    Pairs(Vec<Pair>),
}

/// A change as it was published, and as it was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Its name.
    pub name: String,
    /// As published.
    pub said: Effect,
    /// As measured, with its verdict.
    pub found: Option<(Effect, Verdict)>,
}

/// A change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// Per cent.
    pub pct: f64,
    /// Its 95 % interval, if it has one.
    pub ci95_pct: Option<[f64; 2]>,
}

/// Rows and columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// The headings, and the alignment of their cells.
    pub columns: Vec<(String, Stand)>,
    /// Rows with as many cells as there are columns.
    pub rows: Vec<Vec<String>>,
}

/// Alignment of cells under their heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    /// Words begin at the same place.
    Left,
    /// Numbers end at the same place.
    Right,
}

impl Sheet {
    /// An empty page.
    pub fn new(title: impl Into<String>) -> Sheet {
        Sheet {
            title: title.into(),
            parts: vec![],
        }
    }

    /// Adds a heading.
    pub fn heading(&mut self, text: impl Into<String>) {
        self.parts.push(Part::Heading(text.into()));
    }

    /// Adds a heading under the one before.
    pub fn subheading(&mut self, text: impl Into<String>) {
        self.parts.push(Part::Subheading(text.into()));
    }

    /// Adds lines of a terminal, without control characters.
    pub fn code(&mut self, text: impl Into<String>) {
        self.parts.push(Part::Code(text.into()));
    }

    /// Adds a paragraph.
    pub fn text(&mut self, text: impl Into<String>) {
        self.parts.push(Part::Text(text.into()));
    }

    /// Adds independent sentences; an empty list adds nothing.
    pub fn notes(&mut self, notes: Vec<String>) {
        if !notes.is_empty() {
            self.parts.push(Part::Notes(notes));
        }
    }

    /// Adds a table; one without rows adds nothing.
    pub fn table(&mut self, grid: Grid) {
        if !grid.rows.is_empty() {
            self.parts.push(Part::Table(grid));
        }
    }

    /// Adds a picture of changes; an empty list adds nothing.
    pub fn pairs(&mut self, pairs: Vec<Pair>) {
        if !pairs.is_empty() {
            self.parts.push(Part::Pairs(pairs));
        }
    }

    /// The page for a terminal.
    pub fn terminal(&self, style: &Style) -> String {
        terminal::render(self, style)
    }

    /// The page as GitHub-flavoured Markdown.
    pub fn markdown(&self) -> String {
        markdown::render(self)
    }

    /// The page as Markdown that is folded under its title; nothing if it is empty.
    pub(in crate::report) fn folded(&self) -> Option<String> {
        (!self.parts.is_empty()).then(|| markdown::folded(self))
    }

    /// The page as one self-contained HTML file.
    pub fn html(&self, version: &str) -> String {
        html::render(self, version)
    }
}

impl Grid {
    /// A table with these headings; `>` before a heading marks a column of numbers.
    pub fn new(headings: &[&str]) -> Grid {
        let column = |heading: &&str| match heading.strip_prefix('>') {
            Some(heading) => (heading.to_owned(), Stand::Right),
            None => ((*heading).to_owned(), Stand::Left),
        };
        Grid {
            columns: headings.iter().map(column).collect(),
            rows: vec![],
        }
    }

    /// A table with headings in one text, with `|` between them.
    pub(crate) fn of(headings: &str) -> Grid {
        Grid::new(&headings.split('|').collect::<Vec<_>>())
    }

    /// Adds a row at the bottom.
    pub fn push<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }
}
