//! The public types and the unsafe impls of the library, read from its sources.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[path = "../tidy/lexer.rs"]
mod lexer;

use lexer::lines;

/// Modules for tests and documents only.
const NOT_OF_THE_LIBRARY: [&str; 4] = ["tests", "guides", "proofs", "under_loom"];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).expect("the library's sources are there");
    for entry in entries {
        let path = entry.expect("a folder can be read").path();
        let stem = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or_default();
        if NOT_OF_THE_LIBRARY.iter().any(|not| stem.ends_with(not)) {
            continue;
        }
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// The lines of code of each file, without comments, and its path from `src`.
fn sources() -> Vec<(String, Vec<String>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    files(&root, &mut found);
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).expect("a source is text");
        let code = lines(&text).into_iter().filter(|line| !line.is_comment());
        let code = code.map(|line| line.code).collect();
        let name = path.strip_prefix(&root).expect("it was found there");
        (name.to_string_lossy().replace('\\', "/"), code)
    };
    found.iter().map(read).collect()
}

/// The name at the beginning of a text.
fn name(text: &str) -> &str {
    let end = text.find(|at: char| !at.is_alphanumeric() && at != '_');
    &text[..end.unwrap_or(text.len())]
}

/// All unsafe impls of `Send` and `Sync`: the file, the trait and the type.
pub(crate) fn unsafe_impls() -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for (file, code) in sources() {
        for line in code {
            let Some((before, of)) = line.split_once(" for ") else {
                continue;
            };
            let which = ["Send", "Sync"]
                .into_iter()
                .find(|which| before.ends_with(which));
            if let (true, Some(which)) = (before.trim_start().starts_with("unsafe impl"), which) {
                found.insert((file.clone(), format!("{which} for {}", name(of))));
            }
        }
    }
    found
}

/// The public traits bounded by a trait that other crates cannot name, as paths from the library.
pub(crate) fn sealed_traits() -> BTreeSet<String> {
    let seals = ["Sealed", "sealed", "Choose", "Policy", "Arm", "Beside"];
    let mut found = BTreeSet::new();
    for (file, code) in sources() {
        let module = name(&file).to_owned();
        let text = code.join("\n");
        for rest in text.split("\npub trait ").skip(1) {
            let head = rest.split('{').next().unwrap_or_default();
            let Some((of, bounds)) = head.split_once(':') else {
                continue;
            };
            let mut words = bounds.split(|at: char| !at.is_alphanumeric());
            if words.any(|word| seals.contains(&word)) {
                found.insert(format!("{module}::{}", name(of)));
            }
        }
    }
    found
}

/// The public types of the library, as paths from it.
pub(crate) fn public_types() -> BTreeSet<String> {
    let sources = sources();
    let mut found = BTreeSet::new();
    for (file, code) in &sources {
        let module = file
            .split(['/', '.'])
            .next()
            .expect("a path has a beginning");
        let exported = exported(&sources, module);
        for line in code {
            let words = line.trim_start().strip_prefix("pub ");
            let rest = words.and_then(|rest| {
                ["struct ", "enum ", "union "]
                    .into_iter()
                    .find_map(|kind| rest.strip_prefix(kind))
            });
            let of = rest.map(name).unwrap_or_default();
            if !of.is_empty() && exported.contains(of) {
                found.insert(format!("{module}::{of}"));
            }
        }
    }
    found
}

/// The names that a module exports with `pub use`, or has in its only file.
fn exported(sources: &[(String, Vec<String>)], module: &str) -> BTreeSet<String> {
    let only = format!("{module}.rs");
    let root = format!("{module}/mod.rs");
    let text = |file: &str| {
        let found = sources.iter().find(|(name, _)| name == file);
        found.map(|(_, code)| code.join("\n"))
    };
    if let Some(text) = text(&only) {
        let types = text.split("pub ").skip(1);
        let types = types.filter_map(|rest| rest.split_once(' '));
        return types.map(|(_, rest)| name(rest).to_owned()).collect();
    }
    let text = text(&root).unwrap_or_default();
    let uses = text.split("pub use ").skip(1);
    let uses = uses.filter_map(|rest| Some(rest.split_once(';')?.0));
    uses.flat_map(|list| list.split(|at: char| !at.is_alphanumeric() && at != '_'))
        .map(String::from)
        .collect()
}
