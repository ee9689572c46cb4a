//! A page of text and tables that is no run's result: the history, a difference of two runs, the
//! documents' figures. Written once, read on a terminal, as Markdown and in a browser.
//!
//! # Files
//! - `terminal.rs`, `markdown.rs`, `html.rs`: a page in each form
#![forbid(unsafe_code)]

pub(crate) mod html;
mod markdown;
mod terminal;

use super::terminal::Style;
use crate::model::result::Verdict;

/// A page, from top to bottom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sheet {
    /// What it is about.
    pub title: String,
    /// What stands under the title.
    pub parts: Vec<Part>,
}

/// A piece of a page.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// The title of what follows.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// Sentences that stand for themselves.
    Notes(Vec<String>),
    /// Rows and columns.
    Table(Grid),
    /// Changes of a table as a picture, which is drawn where pictures can be.
    Pairs(Vec<Pair>),
}

/// A change as it was published, and as it was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Of what.
    pub name: String,
    /// As published.
    pub said: Effect,
    /// As measured, with what that comes to.
    pub found: Option<(Effect, Verdict)>,
}

/// A change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// Per cent.
    pub pct: f64,
    /// Its 95 % interval, where it has one.
    pub ci95_pct: Option<[f64; 2]>,
}

/// Rows and columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// The headings, and how what is under them stands.
    pub columns: Vec<(String, Stand)>,
    /// As many cells each as there are columns.
    pub rows: Vec<Vec<String>>,
}

/// How cells stand under their heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    /// Words begin at the same place.
    Left,
    /// Numbers end at the same place.
    Right,
}

impl Sheet {
    /// An empty page.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Sheet {
        Sheet {
            title: title.into(),
            parts: vec![],
        }
    }

    /// The title of what follows.
    pub fn heading(&mut self, text: impl Into<String>) {
        self.parts.push(Part::Heading(text.into()));
    }

    /// A paragraph.
    pub fn text(&mut self, text: impl Into<String>) {
        self.parts.push(Part::Text(text.into()));
    }

    /// Sentences that stand for themselves; none is nothing.
    pub fn notes(&mut self, notes: Vec<String>) {
        if !notes.is_empty() {
            self.parts.push(Part::Notes(notes));
        }
    }

    /// A table; one without rows is nothing.
    pub fn table(&mut self, grid: Grid) {
        if !grid.rows.is_empty() {
            self.parts.push(Part::Table(grid));
        }
    }

    /// A picture of changes; none is nothing.
    pub fn pairs(&mut self, pairs: Vec<Pair>) {
        if !pairs.is_empty() {
            self.parts.push(Part::Pairs(pairs));
        }
    }

    /// For a terminal.
    #[must_use]
    pub fn terminal(&self, style: &Style) -> String {
        terminal::render(self, style)
    }

    /// As GitHub-flavoured Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        markdown::render(self)
    }

    /// As one HTML file that needs nothing else.
    #[must_use]
    pub fn html(&self, version: &str) -> String {
        html::render(self, version)
    }
}

impl Grid {
    /// With these headings: `>` before one says that numbers stand under it.
    #[must_use]
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

    /// One more row at the bottom.
    pub fn push<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }
}
