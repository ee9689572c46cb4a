//! Files to 500 lines, functions to 70, Rust lines to 100 columns.

use super::functions::functions;
use super::tree::{Finding, Tree};

const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;
const COLUMNS_MAX: usize = 100;

/// Rust files that are too long.
pub(crate) fn files(tree: &Tree) -> Vec<Finding> {
    let long = |lines: usize| lines > FILE_LINES_MAX;
    tree.ending(".rs")
        .map(|file| (file, file.text.lines().count()))
        .filter(|(_, lines)| long(*lines))
        .map(|(file, n)| file.finding(n, format!("{n} lines; at most {FILE_LINES_MAX}")))
        .collect()
}

/// Functions that are too long, from `fn` to the closing brace.
pub(crate) fn long_functions(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.ending(".rs") {
        for function in functions(file) {
            let n = function.last - function.first + 1;
            if n > FUNCTION_LINES_MAX {
                let what = format!(
                    "{} has {n} lines; at most {FUNCTION_LINES_MAX}",
                    function.name
                );
                found.push(file.finding(function.first, what));
            }
        }
    }
    found
}

/// Rust lines that are too wide.
pub(crate) fn columns(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.ending(".rs") {
        for (at, line) in file.text.lines().enumerate() {
            let n = line.chars().count();
            if n > COLUMNS_MAX {
                found.push(file.finding(at + 1, format!("{n} columns; at most {COLUMNS_MAX}")));
            }
        }
    }
    found
}
