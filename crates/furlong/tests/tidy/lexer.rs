//! Splits Rust text into code and comments, line by line, so that no rule mistakes a string or a
//! comment for code. Columns are kept: removed text becomes blank.

use std::ops::Range;

use ra_ap_rustc_lexer::{FrontmatterAllowed, TokenKind, tokenize};

/// One line of a Rust file.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Line {
    /// Without comments, and with the contents of strings and characters blanked.
    pub(crate) code: String,
    /// The comments alone, `//`, `///` and `//!` included.
    pub(crate) comment: String,
}

impl Line {
    /// True if the line holds only a comment.
    pub(crate) fn is_comment(&self) -> bool {
        self.code.trim().is_empty() && !self.comment.is_empty()
    }
}

/// The lines of a Rust file.
pub(crate) fn lines(text: &str) -> Vec<Line> {
    let mut lines = vec![Line::default()];
    let mut at = 0;
    for token in tokenize(text, FrontmatterAllowed::No) {
        let part = &text[at..at + token.len as usize];
        at += part.len();
        let comment = matches!(
            token.kind,
            TokenKind::LineComment { .. } | TokenKind::BlockComment { .. }
        );
        let content = match token.kind {
            TokenKind::Literal { .. } => content(part),
            _ => 0..0,
        };
        for (place, c) in part.char_indices() {
            let line = lines.last_mut().expect("there is a first line");
            match c {
                '\n' => lines.push(Line::default()),
                _ if comment => {
                    line.comment.push(c);
                    line.code.push(' ');
                }
                _ if content.contains(&place) => line.code.push(' '),
                _ => line.code.push(c),
            }
        }
    }
    if text.ends_with('\n') {
        lines.pop();
    }
    lines
}

/// The bytes of a literal between its quotes, if it has any.
fn content(literal: &str) -> Range<usize> {
    let Some(open) = literal.find(['"', '\'']) else {
        return 0..0;
    };
    let quote = &literal[open..=open];
    let close = literal.rfind(quote).filter(|close| *close > open);
    open + 1..close.unwrap_or(literal.len())
}

/// The identifiers of a line of code, each with the byte at which it begins.
pub(crate) fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    let starts = code
        .char_indices()
        .filter(move |(at, c)| inside(*c) && !code[..*at].chars().next_back().is_some_and(inside));
    starts.map(move |(at, _)| {
        let rest = &code[at..];
        (at, &rest[..rest.find(|c| !inside(c)).unwrap_or(rest.len())])
    })
}

/// True if a line of code has this identifier.
pub(crate) fn has_word(code: &str, word: &str) -> bool {
    words(code).any(|(_, found)| found == word)
}

fn code_of(text: &str) -> String {
    lines(text)
        .into_iter()
        .map(|line| line.code + "\n")
        .collect()
}

#[test]
fn strings_and_comments_are_not_code() {
    assert_eq!(code_of("a(\"fn {\"); // fn {\n"), "a(\"    \");        \n");
    assert_eq!(
        code_of("x /* a /* b */ c */ y\n"),
        "x                   y\n"
    );
    assert_eq!(code_of("p(\"\\\"{\"); q\n"), "p(\"   \"); q\n");
    assert_eq!(
        code_of("b\"{\" br#\"\"{\"# r\"\\\" c\n"),
        "b\" \" br#\"  \"# r\" \" c\n"
    );
}

#[test]
fn characters_are_told_from_lifetimes() {
    assert_eq!(
        code_of("f::<'a>('{', '\\'', b'\"')\n"),
        "f::<'a>(' ', '  ', b' ')\n"
    );
    assert_eq!(code_of("'\\u{7b}' { 'static }\n"), "'      ' { 'static }\n");
}

#[test]
fn strings_go_on_over_line_ends() {
    let found = lines("let a = \"one \\\n  fn {\n\"; b // c\n");
    assert_eq!(found.len(), 3);
    assert_eq!(found[1].code.trim(), "");
    assert_eq!(found[2].code, "\"; b     ");
    assert_eq!(found[2].comment, "// c");
}

#[test]
fn words_are_whole_identifiers() {
    assert!(has_word("pub(crate) fn go()", "fn"));
    assert!(!has_word("fn_ptr unfn", "fn"));
}
