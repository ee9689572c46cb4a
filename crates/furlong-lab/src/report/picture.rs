//! The ministat picture of a workload, the same in every report.

use super::outline::values;
use crate::ministat::picture::{Picture as Drawing, SYMBOLS, overlap_symbol};
use crate::model::result::WorkloadResult;

/// Values below which a set is not drawn.
const VALUES_MIN: usize = 2;
/// Most rows of values beside a table.
const ROWS_MAX: usize = 8;
/// Columns of the borders and of the symbol behind a bar.
const BORDERS: usize = 4;

/// A picture with its legend.
pub(super) struct Picture {
    /// Lines of text without trailing blanks.
    pub(super) text: String,
    /// Symbol and arm, in the picture's order.
    pub(super) legend: Vec<(char, String)>,
    /// The mark of a place that several sets share.
    pub(super) overlap: char,
    /// Arms with samples for which there was no room.
    pub(super) left_out: usize,
}

impl Picture {
    /// True if a place of the picture belongs to several sets.
    pub(super) fn is_shared(&self) -> bool {
        self.text.contains(self.overlap)
    }
}

/// The picture of the samples of `metric`, at most `width` columns wide; `None` if there is nothing
/// to draw.
pub(super) fn picture(w: &WorkloadResult, metric: &str, width: usize) -> Option<Picture> {
    let sets = w.arms.iter().map(|arm| (&*arm.name, values(arm, metric)));
    let sets = sets.filter(|(_, values)| values.len() >= VALUES_MIN);
    let sets: Vec<(&str, Vec<f64>)> = sets.collect();
    if sets.is_empty() {
        return None;
    }
    let shown = &sets[..sets.len().min(SYMBOLS.len())];
    let pairs = || SYMBOLS.into_iter().zip(shown);
    let marked = pairs().map(|(symbol, (_, values))| (symbol, values.as_slice()));
    let marked: Vec<(char, &[f64])> = marked.collect();
    let drawing = Drawing {
        rows_max: ROWS_MAX,
        ..Drawing::new(width.saturating_sub(BORDERS))
    };
    let text = drawing.render(&marked);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let legend = pairs().map(|(symbol, (arm, _))| (symbol, (*arm).to_owned()));
    Some(Picture {
        text: lines.join("\n"),
        legend: legend.collect(),
        overlap: overlap_symbol(marked.iter().map(|(symbol, _)| *symbol)),
        left_out: sets.len() - shown.len(),
    })
}
