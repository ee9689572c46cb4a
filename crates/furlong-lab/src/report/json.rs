//! The result as `furlong.result/1`, the form that is exchanged.
#![forbid(unsafe_code)]

use super::finite::finite;
use crate::record::result::ResultFile;

/// The JSON Schema (draft 2020-12) of what [`render`] writes.
pub const SCHEMA: &str = include_str!("../../schema/furlong.result.1.schema.json");

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
