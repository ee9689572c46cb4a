//! Leftovers that must not stay in the tree: open work, and places and tools of a single machine.
//! The patterns are assembled here, so that this file does not contain them.

use super::tree::{Finding, Tree};

/// Each pattern with its defect.
const OPEN_WORK: &[(&str, &str)] = &[
    (concat!("to", "do!("), "left open"),
    (concat!("unimple", "mented!("), "left open"),
    (concat!("db", "g!("), "left from a search"),
    (concat!("FIX", "ME"), "left open"),
    (concat!("XX", "X"), "left open"),
    (
        concat!("#[ig", "nore]"),
        "a test that never runs, without a reason",
    ),
    (concat!("```ig", "nore"), "an example that never runs"),
    (concat!("```rust,ig", "nore"), "an example that never runs"),
    (concat!("assert!(tr", "ue)"), "cannot fail"),
];

/// Folders and tools that exist on one machine only.
const PLACES: &[&str] = &[
    concat!("/wor", "k/"),
    concat!("/far", "m/"),
    concat!("/ro", "ot/"),
    concat!("/tmp/w", "t/"),
    concat!("/tmp/bash_", "jobs"),
    concat!("before-", "stop"),
    concat!("sub", "agent"),
    concat!(".lib", "rary"),
];

/// Work left open in Rust files and documents.
pub(crate) fn open_work(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.ending(".rs").chain(tree.ending(".md")) {
        for (at, line) in file.text.lines().enumerate() {
            for (pattern, what) in OPEN_WORK
                .iter()
                .filter(|(pattern, _)| line.contains(pattern))
            {
                found.push(file.finding(at + 1, format!("{pattern}: {what}")));
            }
        }
    }
    found
}

/// Names of places and tools unrelated to the project, in any file.
pub(crate) fn foreign_places(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.files() {
        for (at, line) in file.text.lines().enumerate() {
            for pattern in PLACES.iter().filter(|pattern| line.contains(**pattern)) {
                found.push(file.finding(at + 1, format!("{pattern} means nothing elsewhere")));
            }
        }
    }
    found
}
