//! Splits Rust text into code and comments, line by line, so that no rule mistakes a string or a
//! comment for code. Columns are kept: removed text becomes blank.
#![forbid(unsafe_code)]

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

#[derive(Clone, Copy)]
enum State {
    Code,
    LineComment,
    BlockComment { depth: u32 },
    Text,
    RawText { hashes: usize },
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    state: State,
    lines: Vec<Line>,
}

/// The lines of a Rust file.
pub(crate) fn lines(text: &str) -> Vec<Line> {
    let chars = text.chars().collect();
    let mut lexer = Lexer {
        chars,
        at: 0,
        state: State::Code,
        lines: vec![Line::default()],
    };
    while lexer.at < lexer.chars.len() {
        lexer.step();
    }
    if text.ends_with('\n') {
        lexer.lines.pop();
    }
    lexer.lines
}

impl Lexer {
    fn step(&mut self) {
        if self.chars[self.at] == '\n' {
            if matches!(self.state, State::LineComment) {
                self.state = State::Code;
            }
            self.lines.push(Line::default());
            self.at += 1;
            return;
        }
        match self.state {
            State::Code => self.code(),
            State::LineComment => self.comment(1),
            State::BlockComment { depth } => self.block_comment(depth),
            State::Text => self.text(),
            State::RawText { hashes } => self.raw_text(hashes),
        }
    }

    fn code(&mut self) {
        if self.sees("//") {
            self.state = State::LineComment;
            self.comment(2);
        } else if self.sees("/*") {
            self.state = State::BlockComment { depth: 1 };
            self.comment(2);
        } else if let Some((prefix, hashes)) = self.raw_start() {
            self.state = State::RawText { hashes };
            self.keep(prefix + hashes + 1);
        } else if self.sees("\"") {
            self.state = State::Text;
            self.keep(1);
        } else if let Some(len) = self.character() {
            self.keep(1);
            self.blank(len - 2);
            self.keep(1);
        } else {
            self.keep(1);
        }
    }

    fn block_comment(&mut self, depth: u32) {
        if self.sees("/*") {
            self.state = State::BlockComment { depth: depth + 1 };
            self.comment(2);
        } else if self.sees("*/") {
            self.comment(2);
            self.state = if depth == 1 {
                State::Code
            } else {
                State::BlockComment { depth: depth - 1 }
            };
        } else {
            self.comment(1);
        }
    }

    fn text(&mut self) {
        if self.sees("\\")
            && self
                .chars
                .get(self.at + 1)
                .is_some_and(|next| *next != '\n')
        {
            self.blank(2);
        } else if self.sees("\"") {
            self.state = State::Code;
            self.keep(1);
        } else {
            self.blank(1);
        }
    }

    fn raw_text(&mut self, hashes: usize) {
        let end = format!("\"{}", "#".repeat(hashes));
        if self.sees(&end) {
            self.state = State::Code;
            self.keep(1 + hashes);
        } else {
            self.blank(1);
        }
    }

    /// Lengths of the prefix (`r`, `br`, `cr`) and of the hashes at the start of a raw string.
    fn raw_start(&self) -> Option<(usize, usize)> {
        let before = self.at.checked_sub(1).map(|at| self.chars[at]);
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            return None;
        }
        let prefix = ["r", "br", "cr"]
            .into_iter()
            .find(|prefix| self.sees(&format!("{prefix}\"")) || self.sees(&format!("{prefix}#")))?;
        let rest = &self.chars[self.at + prefix.len()..];
        let hashes = rest.iter().take_while(|c| **c == '#').count();
        (rest.get(hashes) == Some(&'"')).then_some((prefix.len(), hashes))
    }

    /// Length of the character literal that begins here; `None` for a lifetime.
    fn character(&self) -> Option<usize> {
        if !self.sees("'") {
            return None;
        }
        if self.chars.get(self.at + 1) == Some(&'\\') {
            let rest = self.chars.get(self.at + 3..)?;
            return rest.iter().position(|c| *c == '\'').map(|end| end + 4);
        }
        (self.chars.get(self.at + 2) == Some(&'\'')).then_some(3)
    }

    fn sees(&self, what: &str) -> bool {
        let rest = &self.chars[self.at..];
        what.chars()
            .enumerate()
            .all(|(i, c)| rest.get(i) == Some(&c))
    }

    fn keep(&mut self, count: usize) {
        for _ in 0..count {
            let c = self.chars[self.at];
            self.line().code.push(c);
            self.at += 1;
        }
    }

    fn blank(&mut self, count: usize) {
        for _ in 0..count {
            self.line().code.push(' ');
            self.at += 1;
        }
    }

    fn comment(&mut self, count: usize) {
        for _ in 0..count {
            let c = self.chars[self.at];
            self.line().comment.push(c);
            self.line().code.push(' ');
            self.at += 1;
        }
    }

    fn line(&mut self) -> &mut Line {
        let last = self.lines.len() - 1;
        &mut self.lines[last]
    }
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
