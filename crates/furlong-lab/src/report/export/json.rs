//! The result as `furlong.result/1`, the exchange format, and the figures of the other pages.

use serde::Serialize;

use crate::model::result::ResultFile;
use crate::report::finite::finite;

/// The JSON Schema (draft 2020-12) of the output of [`render`].
pub const SCHEMA: &str = include_str!("../../../schema/furlong.result.1.schema.json");

/// The JSON Schema of the output of `furlong history --json`.
pub const HISTORY_SCHEMA: &str = include_str!("../../../schema/furlong.history.1.schema.json");

/// The JSON Schema of the output of `furlong diff --json`.
pub const DIFF_SCHEMA: &str = include_str!("../../../schema/furlong.diff.1.schema.json");

/// The JSON Schema of the output of `furlong bisect --json`.
pub const BISECT_SCHEMA: &str = include_str!("../../../schema/furlong.bisect.1.schema.json");

/// The JSON Schema of the output of `furlong seeds --json`.
pub const SEEDS_SCHEMA: &str = include_str!("../../../schema/furlong.seeds.1.schema.json");

/// The figures of a page as indented JSON; numbers that are not finite become null.
pub fn figures(figures: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(figures);
    text.expect("every map of a page has text keys") + "\n"
}

/// The result as indented JSON: fields in the order of their declaration, maps by key. The same
/// result therefore gives the same bytes. Numbers that are not finite become null, or are left out
/// with a warning if the format requires a number.
pub fn render(file: &ResultFile) -> String {
    figures(&finite(file))
}

/// Reads a result that [`render`] wrote. It is not generic, so a crate that calls it does not
/// compile the parser again.
///
/// # Errors
/// The text is no result.
pub fn read(text: &str) -> serde_json::Result<ResultFile> {
    serde_json::from_str(text)
}
