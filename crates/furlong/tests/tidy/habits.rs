//! Forbidden habits: silenced lints, glob imports, unstable features, tests whose names cannot be
//! searched for.

use super::functions::{closing, functions};
use super::lexer::{has_word, words};
use super::tree::{File, Finding, Tree};

/// The attributes of a file, each with its first line and without line ends.
fn attributes(file: &File) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (at, line) in file.lines().iter().enumerate() {
        let code = line.code.trim();
        if !open && (code.starts_with("#[") || code.starts_with("#![")) {
            found.push((at + 1, String::new()));
            open = true;
        }
        if let (true, Some((_, text))) = (open, found.last_mut()) {
            text.push_str(code);
            open = text.matches('[').count() > text.matches(']').count();
        }
    }
    found
}

/// `allow`, and `expect` without a reason.
pub(crate) fn silenced_lints(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.ending(".rs") {
        for (line, text) in attributes(file) {
            if has_word(&text, "allow") {
                found.push(file.finding(line, "allow: use expect with a reason"));
            } else if has_word(&text, "expect") && !has_word(&text, "reason") {
                found.push(file.finding(line, "expect without a reason"));
            }
        }
    }
    found
}

/// `use a::*`.
pub(crate) fn glob_imports(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.ending(".rs") {
        let code = file.code();
        for (at, _) in words(&code).filter(|(_, word)| *word == "use") {
            let import = code[at..].split(';').next().unwrap_or_default();
            let import: String = import.split_whitespace().collect();
            if ["::*", "{*,", "{*}", ",*,", ",*}"]
                .iter()
                .any(|glob| import.contains(glob))
            {
                let line = 1 + code[..at].matches('\n').count();
                found.push(file.finding(line, "glob import: name what is used"));
            }
        }
    }
    found
}

/// Features that only an unstable compiler has.
pub(crate) fn unstable_features(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.ending(".rs") {
        for (line, text) in attributes(file) {
            if text.starts_with("#![feature(") {
                found.push(file.finding(line, "unstable feature: stable Rust only"));
            }
        }
    }
    found
}

/// Macros that generate tests.
pub(crate) fn tests_from_macros(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.ending(".rs") {
        let code = file.code();
        for (at, _) in words(&code).filter(|(_, word)| *word == "macro_rules") {
            let Some(open) = code[at..].find('{') else {
                continue;
            };
            if code[at..closing(&code, at + open)].contains("#[test]") {
                let line = 1 + code[..at].matches('\n').count();
                found.push(file.finding(line, "writes tests: nobody can search for their names"));
            }
        }
    }
    found
}

/// Code disabled by a comment.
pub(crate) fn dead_code(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.ending(".rs") {
        for (at, line) in file.lines().iter().enumerate() {
            let text = line.comment.trim_start_matches("//");
            let is_doc = text.starts_with(['/', '!']);
            let text = text.trim();
            let statement = text.ends_with(';') && (text.contains('(') || text.contains(" = "));
            let opening = text.ends_with(" {") || text.ends_with("});") || text == "}";
            if line.is_comment() && !is_doc && (statement || opening) {
                found.push(file.finding(at + 1, "code in a comment: git remembers it"));
            }
        }
    }
    found
}

/// Tests whose names are not sentences about behaviour.
pub(crate) fn test_names(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.ending(".rs") {
        for function in functions(file)
            .into_iter()
            .filter(|function| function.is_test)
        {
            let name = &function.name;
            if name.split('_').count() < 3 || name.starts_with("test_") {
                let what = format!("{name}: say what is so, as in release_twice_is_refused");
                found.push(file.finding(function.first, what));
            }
        }
    }
    found
}

/// Test files must be named for the hazard that they guard against.
pub(crate) fn test_files(tree: &Tree) -> Vec<Finding> {
    const SAY_NOTHING: &[&str] = &[
        "all",
        "basic",
        "basics",
        "integration",
        "it",
        "main",
        "misc",
        "more",
        "other",
        "stuff",
        "test",
        "tests",
        "unit",
        "various",
    ];
    let mut found = Vec::new();
    for file in tree.under("crates/") {
        let Some((_, name)) = file.path.split_once("/tests/") else {
            continue;
        };
        let name = name
            .strip_suffix("/main.rs")
            .or_else(|| name.strip_suffix(".rs"));
        if name.is_some_and(|name| SAY_NOTHING.contains(&name) || name.contains("test")) {
            found.push(file.finding(1, "name the file for the hazard that it guards against"));
        }
    }
    found
}
