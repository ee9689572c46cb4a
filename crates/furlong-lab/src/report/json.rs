//! The result as `furlong.result/1`, the form that is exchanged; the figures of the other pages.
#![forbid(unsafe_code)]

use serde::Serialize;

use super::finite::finite;
use crate::model::result::ResultFile;

/// The JSON Schema (draft 2020-12) of what [`render`] writes.
pub const SCHEMA: &str = include_str!("../../schema/furlong.result.1.schema.json");

/// The one of the figures that `furlong history --json` writes.
pub const HISTORY_SCHEMA: &str = include_str!("../../schema/furlong.history.1.schema.json");

/// The one of the figures that `furlong diff --json` writes.
pub const DIFF_SCHEMA: &str = include_str!("../../schema/furlong.diff.1.schema.json");

/// The one of the figures that `furlong seeds --json` writes.
pub const SEEDS_SCHEMA: &str = include_str!("../../schema/furlong.seeds.1.schema.json");

/// The figures of a page as indented JSON; what is not a finite number is null.
#[must_use]
pub fn figures(figures: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(figures);
    text.expect("every map of a page has text keys") + "\n"
}

/// The result as indented JSON: fields in the order of their declaration, maps by key, so that the
/// same result gives the same bytes. What is not a finite number is null, or left out with a
/// warning where the form wants a number.
#[must_use]
pub fn render(file: &ResultFile) -> String {
    let mut text = serde_json::to_string_pretty(&finite(file))
        .expect("every map of a result has text keys and every number is finite");
    text.push('\n');
    text
}
