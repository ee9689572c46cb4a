//! The dot plot: the range cut into columns, the values stacked in them, and the bars.
//!
//! ```text
//! +------------------------------+
//! | x x       +                  |
//! | x x    x  + +     +         +|
//! ||__A__|                       | x
//! |         |___M___A______|     | +
//! +------------------------------+
//!  0.775255                    12
//! ```
//! Each bar is from one standard deviation below the mean to one above; `M` is the median, `A` the
//! mean. The corrected picture is as high as its tallest stack. It marks a place with values of
//! several sets by a symbol of no set, and prints the range. The classic picture is ministat's: it
//! has only the height of the last set. If a set is taller than the previous one, the earlier sets
//! lose their values in the added rows.

use std::io::{self, Write};

use super::general::general;
use crate::model::result::Summary;
use furlong_stats::describe;

/// The symbols of the sets, in their order.
pub const SYMBOLS: [char; 7] = ['x', '+', '*', '%', '#', '@', 'O'];

/// Largest height of a corrected picture: beyond it, a symbol stands for several values.
const ROWS_MAX: usize = 24;

/// Parameters of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Columns between the borders; a corrected picture has at least two.
    pub width: usize,
    /// One bar line per set; otherwise all sets share one.
    pub separate: bool,
    /// Draw as ministat does.
    pub classic: bool,
    /// Largest number of rows of values; the classic picture ignores it.
    pub rows_max: usize,
}

/// The reason why there is nothing to draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Undrawable {
    /// All values are equal to this one.
    Point(f64),
    /// The range is not finite, or too narrow or too wide to be cut into columns.
    Range,
}

/// A set with the statistics to draw.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure<'a> {
    pub(crate) symbol: char,
    pub(crate) values: &'a [f64],
    pub(crate) summary: Summary,
}

impl<'a> Figure<'a> {
    /// With the true median, and a deviation that is accurate far from zero.
    pub(crate) fn of(symbol: char, values: &'a [f64]) -> Option<Self> {
        Some(Self {
            symbol,
            values,
            summary: describe(values)?,
        })
    }

    /// The ends of its bar.
    fn ends(&self) -> [f64; 2] {
        let Summary { mean, stddev, .. } = self.summary;
        let stddev = stddev.unwrap_or(0.0);
        [mean - stddev, mean + stddev]
    }
}

impl Picture {
    /// A corrected picture with separate bars.
    pub const fn new(width: usize) -> Self {
        Self {
            width,
            separate: true,
            classic: false,
            rows_max: ROWS_MAX,
        }
    }

    /// The picture as text with line ends, or a line with the reason why it cannot be drawn.
    ///
    /// # Example
    /// ```
    /// use furlong_lab::ministat::picture::Picture;
    ///
    /// let text = Picture::new(40).render(&[('x', &[1.0, 1.0, 4.0]), ('+', &[2.0, 3.0, 5.0])]);
    /// assert_eq!(text.lines().count(), 7);
    /// ```
    pub fn render(&self, sets: &[(char, &[f64])]) -> String {
        let figures = sets
            .iter()
            .map(|&(symbol, values)| Figure::of(symbol, values));
        // Without figures there is no range either.
        let figures: Vec<_> = figures.collect::<Option<_>>().unwrap_or_default();
        let mut text = Vec::new();
        let written = self.write(&figures, &mut text);
        // Writing to memory cannot fail.
        debug_assert!(written.is_ok());
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Writes the picture, or the line in its place.
    pub(crate) fn write(&self, figures: &[Figure<'_>], out: &mut impl Write) -> io::Result<()> {
        match Drawing::new(self, figures) {
            Ok(drawing) => drawing.write(out),
            Err(why) => self.excuse(why, out),
        }
    }

    /// The line in place of a picture that cannot be drawn.
    pub(crate) fn excuse(&self, why: Undrawable, out: &mut impl Write) -> io::Result<()> {
        match why {
            Undrawable::Point(_) if self.classic => writeln!(out, "[no plot, span is zero width]"),
            Undrawable::Point(value) => {
                writeln!(out, "[no picture: every value is {}]", general(value, 8))
            }
            Undrawable::Range => {
                writeln!(out, "[no picture: the range cannot be cut into columns]")
            }
        }
    }
}

/// The symbol of a place that several sets share: it is not among `symbols`.
pub fn overlap_symbol(symbols: impl IntoIterator<Item = char>) -> char {
    if symbols.into_iter().any(|symbol| symbol == '*') {
        '&'
    } else {
        '*'
    }
}

/// The range cut into columns.
#[derive(Clone, Copy, Debug)]
struct Scale {
    low: f64,
    high: f64,
    /// Factor for all values: it keeps the range finite and precise.
    unit: f64,
    start: f64,
    step: f64,
    width: usize,
    /// True in a corrected picture: rounding cannot leave it.
    clamp: bool,
}

impl Scale {
    fn new(picture: &Picture, figures: &[Figure<'_>]) -> Result<Self, Undrawable> {
        let ends = |f: &Figure<'_>| {
            let [first, last] = f.ends();
            [f.summary.min, f.summary.max, first, last]
        };
        let all = || figures.iter().flat_map(ends);
        let low = all().fold(f64::INFINITY, f64::min);
        let high = all().fold(f64::NEG_INFINITY, f64::max);
        if low == high {
            return Err(Undrawable::Point(low));
        }
        let width = if picture.classic {
            picture.width
        } else {
            picture.width.max(2)
        };
        let unit = match high - low {
            _ if picture.classic => 1.0,
            span if span.is_infinite() => 2_f64.powi(-4),
            span if span < 1e-280 => 2_f64.powi(200),
            _ => 1.0,
        };
        let step = (high * unit - low * unit) / (width as f64 - 1.0);
        let start = low * unit - 0.5 * step;
        let usable = step.is_finite() && step != 0.0 && start.is_finite();
        usable
            .then_some(Self {
                low,
                high,
                unit,
                start,
                step,
                width,
                clamp: !picture.classic,
            })
            .ok_or(Undrawable::Range)
    }

    /// The column of a value in the range; `None` if rounding leaves the picture.
    fn column(&self, value: f64) -> Option<usize> {
        let column = (value * self.unit - self.start) / self.step;
        let last = self.width.saturating_sub(1);
        if self.clamp {
            return Some((column as usize).min(last));
        }
        // A picture without columns still counts one, but does not print it.
        let inside = column > -1.0 && column < self.width.max(1) as f64;
        inside.then_some(column as usize)
    }
}

/// A picture that can be written, row by row.
#[derive(Debug)]
pub(crate) struct Drawing {
    scale: Scale,
    symbols: Vec<char>,
    /// For each set, the number of its values in each column.
    stacks: Vec<Vec<usize>>,
    bars: Vec<Vec<u8>>,
    separate: bool,
    classic: bool,
    /// Values that one symbol stands for.
    each: usize,
}

impl Drawing {
    pub(crate) fn new(picture: &Picture, figures: &[Figure<'_>]) -> Result<Self, Undrawable> {
        let scale = Scale::new(picture, figures)?;
        let mut drawing = Self {
            scale,
            symbols: figures.iter().map(|f| f.symbol).collect(),
            stacks: Vec::with_capacity(figures.len()),
            bars: Vec::new(),
            separate: picture.separate,
            classic: picture.classic,
            each: 1,
        };
        for figure in figures {
            drawing.stack(figure).ok_or(Undrawable::Range)?;
            drawing.bar(figure).ok_or(Undrawable::Range)?;
        }
        if !picture.classic {
            drawing.each = drawing.tallest().div_ceil(picture.rows_max.max(1)).max(1);
        }
        Ok(drawing)
    }

    fn stack(&mut self, figure: &Figure<'_>) -> Option<()> {
        let mut stacks = vec![0; self.scale.width.max(1)];
        for &value in figure.values {
            stacks[self.scale.column(value)?] += 1;
        }
        self.stacks.push(stacks);
        Some(())
    }

    /// Draws the ends over the fill, then the median, and the mean over everything.
    fn bar(&mut self, figure: &Figure<'_>) -> Option<()> {
        if self.separate || self.bars.is_empty() {
            self.bars.push(vec![b' '; self.scale.width.max(1)]);
        }
        let [first, last] = figure.ends();
        let first = self.scale.column(first)?;
        let last = self.scale.column(last)?;
        let median = self.scale.column(figure.summary.median)?;
        let mean = self.scale.column(figure.summary.mean)?;
        let bar = self.bars.last_mut()?;
        bar[first] = b'|';
        for cell in bar.iter_mut().take(last).skip(first + 1) {
            if *cell == b' ' {
                *cell = b'_';
            }
        }
        bar[last] = b'|';
        bar[median] = b'M';
        bar[mean] = b'A';
        Some(())
    }

    fn tallest(&self) -> usize {
        self.stacks.iter().flatten().copied().max().unwrap_or(0)
    }

    /// Rows of values.
    fn rows(&self) -> usize {
        if self.classic {
            let last = self.stacks.last();
            last.and_then(|s| s.iter().copied().max()).unwrap_or(0)
        } else {
            self.tallest().div_ceil(self.each)
        }
    }

    /// The first set visible in a row: ministat clears the rows that it adds for a taller set.
    fn first_left(&self, row: usize) -> usize {
        let mut height = 0;
        let mut first = 0;
        for (set, stacks) in self.stacks.iter().enumerate().filter(|_| self.classic) {
            let wanted = stacks.iter().copied().max().unwrap_or(0) + 1;
            if row >= height && row < wanted {
                first = set;
            }
            height = wanted;
        }
        first
    }

    fn row(&self, row: usize) -> String {
        let first = self.first_left(row);
        (0..self.scale.width)
            .map(|column| self.symbol(self.sets_at(first, row, column)))
            .collect()
    }

    /// Sets with a value in a cell, one bit each.
    fn sets_at(&self, first: usize, row: usize, column: usize) -> usize {
        let reaches = |set: &usize| self.stacks[*set][column].div_ceil(self.each) >= row;
        (first..self.stacks.len())
            .filter(reaches)
            .fold(0, |sets, set| sets | self.mark(set))
    }

    /// ministat combines the numbers of sets by a bitwise or, and prints the symbol of the result.
    fn mark(&self, set: usize) -> usize {
        if self.classic { set + 1 } else { 1 << set }
    }

    fn symbol(&self, sets: usize) -> char {
        match sets {
            0 => ' ',
            _ if self.classic => SYMBOLS[(sets - 1).min(SYMBOLS.len() - 1)],
            _ if sets.is_power_of_two() => self.symbols[sets.trailing_zeros() as usize],
            _ => overlap_symbol(self.symbols.iter().copied()),
        }
    }

    /// Writes the picture, row by row.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let frame = format!("+{}+", "-".repeat(self.scale.width));
        writeln!(out, "{frame}")?;
        for row in (1..=self.rows()).rev() {
            writeln!(out, "|{}|", self.row(row))?;
        }
        for (bar, symbol) in self.bars.iter().zip(&self.symbols) {
            let bar = String::from_utf8_lossy(&bar[..self.scale.width]);
            if self.classic || !self.separate {
                writeln!(out, "|{bar}|")?;
            } else {
                writeln!(out, "|{bar}| {symbol}")?;
            }
        }
        writeln!(out, "{frame}")?;
        if self.classic {
            Ok(())
        } else {
            self.legend(out)
        }
    }

    /// The range below the frame, and the number of values per symbol if it is not one.
    fn legend(&self, out: &mut impl Write) -> io::Result<()> {
        let low = general(self.scale.low, 6);
        let high = general(self.scale.high, 6);
        let width = self.scale.width;
        if low.len() + high.len() < width {
            writeln!(out, " {low}{high:>rest$}", rest = width - low.len())?;
        }
        if self.each > 1 {
            writeln!(out, " each symbol stands for up to {} values", self.each)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
