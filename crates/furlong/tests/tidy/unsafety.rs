//! Rules about the permitted places of `unsafe`, and the comments required beside it and beside
//! each memory ordering.

use super::lexer::{Line, has_word, words};
use super::tree::{File, Finding, Tree};

/// Lists every file that may have `unsafe`, each with its reason. All others forbid it, or lie in a
/// module that denies it.
const UNSAFE_FILES: &str = "crates/furlong/tests/tidy/unsafe.txt";

const FORBID: &str = "#![forbid(unsafe_code)]";
/// As strict as the other: the files that lift it must be on the list.
const DENY: &str = "#![deny(unsafe_code)]";

/// Files without the attribute that keeps `unsafe` out, and list entries that are out of date.
pub(crate) fn forbidden(tree: &Tree) -> Vec<Finding> {
    let Some(list) = tree.file(UNSAFE_FILES) else {
        return vec![Finding::at(UNSAFE_FILES, "is missing")];
    };
    let mut found = Vec::new();
    let mut listed = Vec::new();
    for (at, line) in list.text.lines().enumerate() {
        match line.split_once(": ") {
            Some((path, _)) => listed.push(path),
            None => found.push(list.finding(at + 1, "has no reason")),
        }
    }
    let keeping_out: Vec<&File> = tree.ending(".rs").filter(|file| keeps_out(file)).collect();
    for file in tree.ending(".rs") {
        // The compiler counts assembly outside of functions as unsafe code, too.
        let words = ["unsafe", "global_asm"];
        let has = |line: &Line| words.iter().any(|word| has_word(&line.code, word));
        let uses = file.lines().iter().any(has);
        if listed.contains(&file.path.as_str()) {
            if !uses {
                found.push(file.finding(1, "has no unsafe: take it off the list, forbid it here"));
            }
            continue;
        }
        // A module's attribute applies to its children, so no module around a listed file can
        // forbid.
        let included = included(file);
        let parent = listed.iter().any(|path| {
            let is_included = included
                .iter()
                .any(|file| file == path || is_parent(file, path));
            is_included || is_parent(&file.path, path)
        });
        if uses {
            found.push(file.finding(1, "unsafe outside the listed files"));
        } else if !parent && !is_kept_out(file, &keeping_out) {
            let need = format!("must begin with {FORBID}, as a module around it may");
            found.push(file.finding(1, format!("{need}, or be on the list")));
        }
    }
    let gone = listed.iter().filter(|path| tree.file(path).is_none());
    found.extend(gone.map(|path| Finding::at(*path, "is on the list and does not exist")));
    found
}

/// Modules that a file names by their path: those of a program or of a source in another folder,
/// and those that tests share.
fn included(file: &File) -> Vec<String> {
    let lines = file.text.lines();
    if let Some((crate_folder, _)) = file.path.rsplit_once("/examples/") {
        let paths = lines.filter_map(|line| line.trim().strip_prefix("#[path = \"../"));
        let paths = paths.map(|path| path.trim_end_matches("\"]"));
        return paths.map(|path| format!("{crate_folder}/{path}")).collect();
    }
    let folder = file.path.rsplit_once('/').map(|(folder, _)| folder);
    if let Some(folder) = folder.filter(|folder| folder.contains("/src/")) {
        let paths = lines.filter_map(|line| line.strip_prefix("#[path = \"")?.strip_suffix("\"]"));
        return paths.map(|path| format!("{folder}/{path}")).collect();
    }
    let Some(folder) = folder.filter(|folder| folder.ends_with("/tests")) else {
        return Vec::new();
    };
    let names = lines.filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    names
        .map(|name| format!("{folder}/{name}/mod.rs"))
        .collect()
}

/// True if the module in `file` encloses the module in `path`.
fn is_parent(file: &str, path: &str) -> bool {
    let folder = ["mod.rs", "lib.rs", "main.rs"]
        .iter()
        .find_map(|name| file.strip_suffix(name))
        .map_or_else(
            || file.trim_end_matches(".rs").to_string() + "/",
            String::from,
        );
    folder.ends_with('/') && path != file && path.starts_with(&folder)
}

/// True if an attribute is in the file or in a module around it. A program or a library has its
/// own, whatever lies beside it.
fn is_kept_out(file: &File, keeping_out: &[&File]) -> bool {
    let is_root = ["/main.rs", "/lib.rs"]
        .iter()
        .any(|name| file.path.ends_with(name));
    let mut around = keeping_out.iter();
    keeps_out(file) || !is_root && around.any(|other| is_parent(&other.path, &file.path))
}

/// True if one of the two attributes is among those at the head of the file.
fn keeps_out(file: &File) -> bool {
    let code = file
        .lines()
        .iter()
        .map(|line| line.code.trim())
        .filter(|code| !code.is_empty());
    code.take_while(|code| code.starts_with("#!["))
        .any(|code| code == FORBID || code == DENY)
}

/// `unsafe` blocks and implementations without a `SAFETY` comment.
pub(crate) fn safety_comments(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.ending(".rs") {
        for (at, _) in lines_with(file, |line| claims(&line.code)) {
            if !said_above(file.lines(), at).contains("SAFETY:") {
                found.push(file.finding(at + 1, "unsafe without a SAFETY comment above it"));
            }
        }
    }
    found
}

/// True if this line makes a claim of soundness: an unsafe block or implementation.
fn claims(code: &str) -> bool {
    words(code)
        .filter(|(_, word)| *word == "unsafe")
        .any(|(at, word)| {
            let next = code[at + word.len()..].trim_start();
            next.is_empty() || next.starts_with('{') || next.starts_with("impl")
        })
}

/// Atomic orderings weaker than `SeqCst` whose comments do not name a partner. For `Relaxed`, a
/// comment that names it and explains the lack of a partner suffices.
pub(crate) fn orderings(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.ending(".rs") {
        for (at, line) in lines_with(file, |line| !weak(&line.code).is_empty()) {
            if line.code.trim_start().starts_with("use ") {
                found.push(file.finding(at + 1, "import Ordering, not its variants"));
                continue;
            }
            let said = said_above(file.lines(), at);
            let pairs = said.to_lowercase().contains("pair");
            let excused = said_in_function(file.lines(), at).contains("Relaxed");
            let silent = |name: &&str| !pairs && (*name != "Relaxed" || !excused);
            for name in weak(&line.code).into_iter().filter(silent) {
                found.push(file.finding(at + 1, format!("{name} without what it pairs with")));
            }
        }
    }
    found
}

/// The orderings in this line of code that need a partner.
fn weak(code: &str) -> Vec<&str> {
    let imports = code.trim_start().starts_with("use ") && has_word(code, "Ordering");
    let names = words(code).filter(|(at, word)| {
        ["Relaxed", "Acquire", "Release", "AcqRel"].contains(word)
            && (imports || code[..*at].ends_with("Ordering::"))
    });
    names.map(|(_, word)| word).collect()
}

fn lines_with(file: &File, wanted: impl Fn(&Line) -> bool) -> Vec<(usize, &Line)> {
    file.lines()
        .iter()
        .enumerate()
        .filter(|(_, line)| wanted(line))
        .collect()
}

/// The comments on a line and right above the statement that it belongs to.
fn said_above(lines: &[Line], at: usize) -> String {
    let mut said = lines[at].comment.clone();
    let mut heard = false;
    for line in lines[..at].iter().rev() {
        let code = line.code.trim();
        if line.is_comment() {
            said.push_str(&line.comment);
            heard = true;
        } else if heard || code.is_empty() || code.ends_with([';', '{', '}']) {
            break;
        } else {
            said.push_str(&line.comment);
        }
    }
    said
}

/// The comments from the head of the line's function down to the line: `Relaxed` may be explained
/// once for all of a function's own words.
fn said_in_function(lines: &[Line], at: usize) -> String {
    let head = lines[..at]
        .iter()
        .rposition(|line| has_word(&line.code, "fn"))
        .unwrap_or(0);
    lines[head..=at]
        .iter()
        .map(|line| line.comment.as_str())
        .collect()
}
