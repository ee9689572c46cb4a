//! A run as a download, in the formats that the command writes.

use super::piece::load;
use crate::record::judged::judged;
use crate::record::store::Store;
use crate::report::{csv, html, json, markdown};
use crate::serve::answer::Answer;
use crate::serve::refusal::Refusal;
use crate::serve::route::Form;

pub(super) fn answer(store: &Store, id: &str, form: Form) -> Result<Answer, Refusal> {
    let saved = load(store, id)?;
    let result = judged(&saved.result, saved.margin_pct);
    let (kind, text) = match form {
        Form::Json => ("application/json", json::render(&result)),
        Form::Csv => ("text/csv; charset=utf-8", csv::render(&result)),
        Form::Markdown => ("text/markdown; charset=utf-8", markdown::render(&result)),
        Form::Html => ("text/html; charset=utf-8", html::render(&result)),
    };
    // A run's name has only letters and digits; other characters must not get into a header.
    let plain: String = id.chars().filter(char::is_ascii_alphanumeric).collect();
    let name = format!("{plain}.{}", form.ending());
    Ok(Answer::file(kind, &name, text))
}
