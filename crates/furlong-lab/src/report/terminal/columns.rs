//! Columns side by side, as far as they fit.
#![forbid(unsafe_code)]

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, ContentLineStyle};
use comfy_table::{LineStyle, Table, TableStyle, Width};

use crate::report::text::width;

/// Columns of a name in a table at most.
pub(super) const NAME_MAX: usize = 26;
/// Blanks between two columns.
const GAP: u16 = 2;

/// Rules and no boxes: a line under the header, and blanks between columns.
const RULED: TableStyle = TableStyle::new()
    .header_separator(LineStyle::none().fill('─'))
    .header_lines(ContentLineStyle::none())
    .content_lines(ContentLineStyle::none());

/// One column: its heading (lines) and its cells, top to bottom.
pub struct Column {
    heading: String,
    cells: Vec<Cell>,
    align: CellAlignment,
    spare: u8,
}

impl Column {
    /// A column of words.
    pub fn words(heading: &str) -> Self {
        Self {
            heading: heading.to_owned(),
            cells: vec![],
            align: CellAlignment::Left,
            spare: 0,
        }
    }

    /// A column of numbers.
    pub fn numbers(heading: &str) -> Self {
        Self {
            heading: heading.trim_end().to_owned(),
            cells: vec![],
            align: CellAlignment::Right,
            spare: 0,
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
        let widest = |text: &str| text.lines().map(width).max().unwrap_or(0);
        let heading = widest(&self.heading);
        self.cells
            .iter()
            .map(|c| widest(&c.content()))
            .fold(heading, usize::max)
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

/// The table. Content that does not fit into `columns_max` and is not spare is folded within its
/// cell.
pub fn table(columns: &[Column], columns_max: usize, colour: bool) -> String {
    let columns = spared(columns, columns_max);
    let is_wide = total(columns.iter().copied()) > columns_max;
    let mut table = Table::new();
    table.load_style(RULED);
    if colour {
        table.enforce_styling();
        table.style_text_only();
    } else {
        table.force_no_tty();
    }
    if is_wide {
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(columns_max).unwrap_or(u16::MAX));
    }
    table.set_header(
        columns
            .iter()
            .map(|c| Cell::new(&c.heading).set_alignment(c.align)),
    );
    let rows = columns.iter().map(|c| c.cells.len()).max().unwrap_or(0);
    for row in 0..rows {
        let cell = |c: &Column| c.cells.get(row).cloned().unwrap_or_else(|| Cell::new(""));
        table.add_row(columns.iter().map(|c| cell(c).set_alignment(c.align)));
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if i + 1 == columns.len() { 0 } else { GAP }));
        if i == 0 && is_wide {
            column.set_constraint(ColumnConstraint::UpperBoundary(Width::Percentage(40)));
        }
    }
    table.trim_fmt()
}
