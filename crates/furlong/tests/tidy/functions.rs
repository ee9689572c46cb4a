//! Finds the functions of a Rust file by their braces.

use super::lexer::words;
use super::tree::File;

/// A function with a body.
#[derive(Debug, PartialEq)]
pub(crate) struct Function {
    /// As declared.
    pub(crate) name: String,
    /// Line of `fn`, from 1.
    pub(crate) first: usize,
    /// Line of the closing brace.
    pub(crate) last: usize,
    /// Carries `#[test]`.
    pub(crate) is_test: bool,
}

/// Every function with a body, including methods and inner functions.
pub(crate) fn functions(file: &File) -> Vec<Function> {
    let code = file.code();
    let line_of = |at: usize| 1 + code[..at].matches('\n').count();
    let mut found = Vec::new();
    let all: Vec<(usize, &str)> = words(&code).collect();
    for pair in all.windows(2) {
        let [(at, "fn"), (name_at, name)] = *pair else {
            continue;
        };
        if !code[at + 2..name_at].trim().is_empty() {
            continue;
        }
        let Some(open) = body(&code, name_at + name.len()) else {
            continue;
        };
        found.push(Function {
            name: name.into(),
            first: line_of(at),
            last: line_of(closing(&code, open)),
            is_test: is_test(file, line_of(at)),
        });
    }
    found
}

/// Position of the body of a function whose name ends at `from`; `None` for a mere signature.
fn body(code: &str, from: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in code[from..].char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '{' if depth == 0 => return Some(from + at),
            ';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// Position of the brace that closes the one at `open`, or the end of the text.
pub(crate) fn closing(code: &str, open: usize) -> usize {
    let mut depth = 0;
    for (at, c) in code[open..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return open + at;
        }
    }
    code.len()
}

/// True if the attributes right above line `first` include `#[test]`.
fn is_test(file: &File, first: usize) -> bool {
    let above = file.lines()[..first].iter().rev().skip(1);
    above
        .take_while(|line| line.is_comment() || line.code.trim_start().starts_with('#'))
        .any(|line| line.code.trim() == "#[test]")
}

#[test]
fn functions_are_found_with_their_ends() {
    let text = "trait A {\n  fn no(&self) -> [u8; 4];\n  fn yes(&self, f: fn(u8)) {\n    if a {}\n\
                  }\n}\n/// Says.\n#[test]\n// why\nfn b() { fn c() {} }\n";
    let tree = super::tree::Tree::of(&[("a.rs", text)]);
    let file = tree.file("a.rs").expect("the sample is there");
    let seen: Vec<_> = functions(file)
        .into_iter()
        .map(|function| {
            (
                function.name,
                function.first,
                function.last,
                function.is_test,
            )
        })
        .collect();
    let expected = [
        ("yes", 3, 5, false),
        ("b", 10, 10, true),
        ("c", 10, 10, true),
    ];
    assert_eq!(
        seen,
        expected.map(|(name, first, last, test)| (name.to_string(), first, last, test))
    );
}
