//! Columns side by side, as far as they fit.

use comfy_table::{Cell, CellAlignment, ContentLineStyle, LineStyle, Table, TableStyle};

use crate::report::text::{fold, shorten, width, words};

/// Columns of a name in a table at most.
pub(super) const NAME_MAX: usize = 26;
/// Blanks between two columns.
const GAP: u16 = 2;

/// Rules and no boxes: a line under the header, and blanks between columns.
const RULED: TableStyle = TableStyle::new()
    .header_separator(LineStyle::none().fill('─'))
    .header_lines(ContentLineStyle::none())
    .content_lines(ContentLineStyle::none());

/// Columns from which on a cell is folded; a narrower one is cut.
const FOLD_FROM: usize = 8;
/// Columns of a word that remain when it is cut, if that is enough for the table.
const WORD_MIN: usize = 5;

/// One column: its heading (lines) and its cells, top to bottom.
#[derive(Clone)]
pub struct Column {
    heading: String,
    cells: Vec<Cell>,
    align: CellAlignment,
    spare: u8,
    /// Its words are not cut.
    whole: bool,
}

impl Column {
    /// A column of words. Those of verdicts are never cut.
    pub fn words(heading: &str) -> Self {
        Self {
            heading: heading.to_owned(),
            cells: vec![],
            align: CellAlignment::Left,
            spare: 0,
            whole: heading == "verdict",
        }
    }

    /// A column of numbers.
    pub fn numbers(heading: &str) -> Self {
        Self {
            heading: heading.trim_end().to_owned(),
            cells: vec![],
            align: CellAlignment::Right,
            spare: 0,
            whole: true,
        }
    }

    /// The same column, left out if there is no room; the one with the greatest number goes first.
    pub(super) fn spare(self, spare: u8) -> Self {
        Self { spare, ..self }
    }

    /// Adds a cell at the bottom.
    pub fn push(&mut self, cell: impl Into<Cell>) {
        self.cells.push(cell.into());
    }

    /// Its width in columns of text.
    fn width(&self) -> usize {
        self.widest(|text| text.lines().map(width).max())
    }

    /// The width of its longest word: a narrower column would break it.
    fn word(&self) -> usize {
        self.widest(|text| words(text).iter().map(|word| width(word)).max())
    }

    fn widest(&self, of: impl Fn(&str) -> Option<usize>) -> usize {
        let cells = self.cells.iter().map(|cell| of(&cell.content()));
        let all = cells.chain([of(&self.heading)]);
        all.flatten().max().unwrap_or(0)
    }

    /// True if no cell has text.
    pub(super) fn is_blank(&self) -> bool {
        self.cells.iter().all(|c| c.content().is_empty())
    }
}

/// Columns of text that they take side by side.
pub(super) fn total<'a>(columns: impl IntoIterator<Item = &'a Column>) -> usize {
    let widths = columns
        .into_iter()
        .map(|column| column.width() + usize::from(GAP));
    widths.sum::<usize>().saturating_sub(usize::from(GAP))
}

/// The columns, without the spare ones that have to go before the rest fits.
fn spared(columns: &[Column], columns_max: usize) -> Vec<&Column> {
    let mut kept: Vec<&Column> = columns.iter().collect();
    while total(kept.iter().copied()) > columns_max {
        let places = kept.iter().enumerate();
        match places.max_by_key(|(_, column)| column.spare) {
            Some((place, column)) if column.spare > 0 => drop(kept.remove(place)),
            _ => break,
        }
    }
    kept
}

/// The widths of the columns, so that the table fits: the widest are folded first, then their words
/// are cut, and numbers last of all.
fn widths(columns: &[&Column], columns_max: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = columns.iter().map(|column| column.width()).collect();
    let gaps = usize::from(GAP) * columns.len().saturating_sub(1);
    let words: Vec<usize> = columns.iter().map(|column| column.word()).collect();
    let cut = |place: usize| match columns[place].whole {
        true => words[place],
        false => WORD_MIN,
    };
    let least: [&dyn Fn(usize) -> usize; 3] = [&|place| words[place], &cut, &|_| 1];
    for least in least {
        while widths.iter().sum::<usize>() + gaps > columns_max {
            let places = widths.iter_mut().enumerate();
            let wide = places.filter(|(place, width)| **width > least(*place));
            match wide.max_by_key(|(_, width)| **width) {
                Some((_, width)) => *width -= 1,
                None => break,
            }
        }
    }
    widths
}

/// The text in lines of at most `columns`. Words are not broken: a longer one is cut, with an
/// ellipsis.
fn fitted(text: &str, columns: usize) -> String {
    if text.lines().all(|line| width(line) <= columns) {
        return text.to_owned();
    }
    let indent = (text.len() - text.trim_start().len()).min(columns / 2);
    let room = columns - indent;
    let lines = if room < FOLD_FROM {
        shorten(text, room)
    } else {
        let words: Vec<String> = words(text).iter().map(|word| shorten(word, room)).collect();
        fold(&words.join(" "), room, 0)
    };
    let lines = lines
        .lines()
        .map(|line| format!("{}{line}", " ".repeat(indent)));
    lines.collect::<Vec<_>>().join("\n")
}

/// The columns in as few tables as fit, each with the first column.
pub(super) fn parts(columns: Vec<Column>, columns_max: usize) -> Vec<Vec<Column>> {
    let mut columns = columns.into_iter();
    let Some(first) = columns.next() else {
        return vec![];
    };
    let mut parts = vec![vec![first.clone()]];
    for column in columns {
        let last = parts.len() - 1;
        if parts[last].len() > 1 && total(parts[last].iter().chain([&column])) > columns_max {
            parts.push(vec![first.clone(), column]);
        } else {
            parts[last].push(column);
        }
    }
    parts
}

/// The table. Content that does not fit into `columns_max` and is not spare is folded within its
/// cell, between words.
pub fn table(columns: &[Column], columns_max: usize, colour: bool) -> String {
    let columns = spared(columns, columns_max);
    let widths = widths(&columns, columns_max);
    let mut table = Table::new();
    table.load_style(RULED);
    if colour {
        table.enforce_styling();
        table.style_text_only();
    } else {
        table.force_no_tty();
    }
    let sized = || columns.iter().zip(&widths);
    let heading = |(c, width): (&&Column, &usize)| Cell::new(fitted(&c.heading, *width));
    table.set_header(sized().map(|sized| heading(sized).set_alignment(sized.0.align)));
    let rows = columns.iter().map(|c| c.cells.len()).max().unwrap_or(0);
    for row in 0..rows {
        let cell = |(c, width): (&&Column, &usize)| match c.cells.get(row) {
            Some(cell)
                if cell
                    .content()
                    .lines()
                    .any(|line| self::width(line) > *width) =>
            {
                Cell::new(fitted(&cell.content(), *width))
            }
            Some(cell) => cell.clone(),
            None => Cell::new(""),
        };
        table.add_row(sized().map(|sized| cell(sized).set_alignment(sized.0.align)));
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if i + 1 == columns.len() { 0 } else { GAP }));
    }
    table.trim_fmt()
}
