//! Each of the five systems can be found by its one word, and its module begins with an
//! explanation.

use super::lexer::has_word;
use super::tree::{Finding, Tree};

/// The word of each system.
pub(crate) const SYSTEMS: &[&str] = &["iova", "phys", "vmspace", "bounce", "malloc"];

/// Headings in the docs of a system's module, in this order.
const HEADINGS: &[&str] = &[
    "# What it is",
    "# Words",
    "# Invariants",
    "# Files",
    "# Sources",
];

/// Keywords of items with logic.
const LOGIC: &[&str] = &[
    "fn",
    "struct",
    "enum",
    "trait",
    "impl",
    "static",
    "const",
    "type",
    "macro_rules",
    "union",
];

/// Modules of the library in a folder whose `mod.rs` has logic. For the systems and the trees under
/// them, also those that lack a heading.
pub(crate) fn roots(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for name in tree.names_in("crates/furlong/src/") {
        let Some(file) = tree.file(&format!("crates/furlong/src/{name}/mod.rs")) else {
            continue;
        };
        if name == "sync" {
            continue; // it is the one place that chooses between core and loom
        }
        for (at, line) in file.lines().iter().enumerate() {
            if let Some(word) = LOGIC.iter().find(|word| has_word(&line.code, word)) {
                found.push(
                    file.finding(at + 1, format!("{word}: mod.rs holds docs and re-exports")),
                );
            }
        }
        let docs: Vec<&str> = file
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("//! "))
            .collect();
        let mut from = 0;
        for heading in HEADINGS {
            match docs[from..]
                .iter()
                .position(|line| line.trim_end() == *heading)
            {
                Some(at) => from += at + 1,
                None => found.push(file.finding(1, format!("lacks {heading:?} in its place"))),
            }
        }
    }
    found
}

/// Systems that exist in some of the places named by their word but not in all. A module alone is a
/// system under construction; with the first of the other places it must have all.
pub(crate) fn words(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for word in SYSTEMS {
        let mut places = vec![
            format!("crates/furlong/examples/{word}.rs"),
            format!("crates/furlong-spec/src/{word}/mod.rs"),
            format!("crates/furlong-spec/tests/{word}/main.rs"),
        ];
        if tree.exists("fuzz") {
            places.push(format!("fuzz/fuzz_targets/{word}.rs"));
        }
        let here = |path: &String| {
            let alone = ["/mod.rs", "/main.rs"].map(|end| path.replace(end, ".rs"));
            tree.exists(path) || alone.iter().any(|path| tree.exists(path))
        };
        if !places.iter().any(here) {
            continue;
        }
        places.push(format!("crates/furlong/src/{word}/mod.rs"));
        let missing = places.into_iter().filter(|path| !here(path));
        found.extend(missing.map(|path| Finding::at(path, format!("{word} has no such file"))));
        let own = format!("{word}-");
        if !tree
            .names_in("experiments/")
            .iter()
            .any(|name| name.starts_with(&own))
        {
            found.push(Finding::at(
                "experiments/",
                format!("{word} has no experiment"),
            ));
        }
    }
    found
}

/// Atomics that do not come from `sync`, so that loom could not track them.
pub(crate) fn atomics(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let library = tree
        .under("crates/furlong/src/")
        .filter(|file| file.path.ends_with(".rs"));
    for file in library.filter(|file| !file.path.starts_with("crates/furlong/src/sync")) {
        for (at, line) in file.lines().iter().enumerate() {
            let past = ["core::sync::atomic", "std::sync::atomic", "loom::"];
            if let Some(path) = past.iter().find(|path| line.code.contains(**path)) {
                found.push(file.finding(at + 1, format!("{path}: take it from crate::sync")));
            }
        }
    }
    found
}
