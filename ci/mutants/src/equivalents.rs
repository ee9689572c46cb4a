//! The list of mutants that no test could notice, each with its reason.
//!
//! A line is `file | function | old -> new | reason`. Names contain the change but not the line. An
//! entry that names no mutant is an error.

use std::collections::BTreeMap;

use crate::mutant::Name;

/// Reasons by name.
pub type Equivalents = BTreeMap<Name, String>;

/// Reads the list.
///
/// # Errors
/// The invalid or duplicate line.
pub fn read(text: &str) -> Result<Equivalents, String> {
    let mut list = Equivalents::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |what: &str| format!("line {}: {what}: {line}", at + 1);
        // Changes may contain `|` and `||`, so the reason is the text after the last separator.
        let (front, reason) = line.rsplit_once(" | ").ok_or_else(|| wrong("no reason"))?;
        let mut parts = front.splitn(3, " | ");
        let mut part = || parts.next().map(|part| part.trim().to_string());
        let (Some(file), Some(function), Some(change)) = (part(), part(), part()) else {
            return Err(wrong("must be: file | function | old -> new | reason"));
        };
        let name = Name {
            file,
            function,
            change,
        };
        if list.insert(name, reason.trim().to_string()).is_some() {
            return Err(wrong("is listed already"));
        }
    }
    Ok(list)
}

/// Entries of examined files that name none of their mutants.
pub fn stale(
    list: &Equivalents,
    looked_at: impl Fn(&str) -> bool,
    is_one: impl Fn(&Name) -> bool,
) -> Vec<&Name> {
    list.keys()
        .filter(|name| looked_at(&name.file) && !is_one(name))
        .collect()
}
