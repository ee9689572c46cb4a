//! Forbidden habits: silenced lints, glob imports, unstable features, tests whose names cannot be
//! searched for.
#![forbid(unsafe_code)]

use super::functions::{closing, functions};
use super::lexer::{has_word, words};
use super::tree::{File, Finding, Tree, places};

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

#[test]
fn allow_and_expect_without_a_reason_are_found() {
    let bad = "#[allow(dead_code)]\nfn f() {}\n#![cfg_attr(x, allow(a))]\n#[expect(\n    a,\n)]\n";
    let good = "#[expect(\n    dead_code,\n    reason = \"later\",\n)]\nfn f() { allow(1); }\n";
    let tree = Tree::of(&[("bad.rs", bad), ("good.rs", good)]);
    assert_eq!(
        places(&silenced_lints(&tree)),
        ["bad.rs:1", "bad.rs:3", "bad.rs:4"]
    );
}

#[test]
fn glob_imports_are_found_in_groups_too() {
    let bad = "use a::*;\nmod t {\n    use super::*;\n}\npub use b::{\n    c::*,\n    d,\n};\n\
               use e::{f, *};\n";
    let good = "use a::b;\nlet x = a * b;\n// use a::*;\nhtml! { use href=(f(*a, *b)) {} }\n";
    let tree = Tree::of(&[("bad.rs", bad), ("good.rs", good)]);
    assert_eq!(
        places(&glob_imports(&tree)),
        ["bad.rs:1", "bad.rs:3", "bad.rs:5", "bad.rs:9"]
    );
}

#[test]
fn an_unstable_feature_is_found() {
    let tree = Tree::of(&[
        ("a.rs", "//! A.\n#![feature(x)]\n"),
        ("b.rs", "#[cfg(feature = 1)]\n"),
    ]);
    assert_eq!(places(&unstable_features(&tree)), ["a.rs:2"]);
}

#[test]
fn a_macro_that_writes_tests_is_found() {
    let bad = "macro_rules! m {\n    () => {\n        #[test]\n        fn t() {}\n    };\n}\n";
    let good = "macro_rules! m { () => {} }\n#[test]\nfn t() {}\n";
    let tree = Tree::of(&[("bad.rs", bad), ("good.rs", good)]);
    assert_eq!(places(&tests_from_macros(&tree)), ["bad.rs:1"]);
}

#[test]
fn code_in_a_comment_is_found() {
    let bad = "// let a = 1;\nfn f() {\n    // g(1);\n    // if b {\n    // }\n}\n";
    let good = "// What is so; and why.\n/// let a = b();\n//! f();\n// One (a), two; three.\n";
    let tree = Tree::of(&[("bad.rs", bad), ("good.rs", good)]);
    assert_eq!(
        places(&dead_code(&tree)),
        [1, 3, 4, 5].map(|line| format!("bad.rs:{line}"))
    );
}

#[test]
fn a_test_name_that_says_nothing_is_found() {
    let text = "#[test]\nfn insert_works() {}\n#[test]\nfn test_that_it_is_so() {}\n#[test]\n\
                fn release_twice_is_refused() {}\nfn helper() {}\n";
    assert_eq!(
        places(&test_names(&Tree::of(&[("a.rs", text)]))),
        ["a.rs:2", "a.rs:4"]
    );
}

#[test]
fn a_test_file_without_a_hazard_in_its_name_is_found() {
    let tree = Tree::of(&[
        ("crates/a/tests/misc.rs", ""),
        ("crates/a/tests/tests/main.rs", ""),
        ("crates/a/tests/killed_run.rs", ""),
        ("crates/a/tests/tidy/main.rs", ""),
    ]);
    let expected = ["crates/a/tests/misc.rs:1", "crates/a/tests/tests/main.rs:1"];
    assert_eq!(places(&test_files(&tree)), expected);
}
