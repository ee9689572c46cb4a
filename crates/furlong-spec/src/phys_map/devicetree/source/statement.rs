//! The outer grammar of a tree's source: node starts, node ends and properties.
#![forbid(unsafe_code)]

/// A statement, without the blanks around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statement<'a> {
    /// The text before a `{`.
    Open(&'a str),
    /// A `}`.
    Close,
    /// The text before a `;`, without braces.
    Property(&'a str),
    /// The text left at the end of the file.
    Unfinished(&'a str),
}

/// The text with blanks in place of comments, so that line numbers stay correct.
pub(super) fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let comment = match rest.get(..2) {
            Some("//") => rest.find('\n').unwrap_or(rest.len()),
            Some("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            _ if c == '"' => {
                let length = quoted(rest);
                plain.push_str(&rest[..length]);
                rest = &rest[length..];
                continue;
            }
            _ => 0,
        };
        if comment == 0 {
            plain.push(c);
            rest = &rest[c.len_utf8()..];
        } else {
            let (gone, after) = rest.split_at(comment);
            plain.push(' ');
            plain.extend(gone.chars().filter(|c| *c == '\n'));
            rest = after;
        }
    }
    plain
}

/// All statements, each with the line in which it begins.
pub(super) fn statements(text: &str) -> Vec<(usize, Statement<'_>)> {
    let mut found = Vec::new();
    let mut line = 1;
    let mut from = 0;
    let mut at = 0;
    let mut in_cells = false;
    while let Some(c) = text[at..].chars().next() {
        let length = if c == '"' {
            quoted(&text[at..])
        } else {
            c.len_utf8()
        };
        match c {
            '<' => in_cells = true,
            '>' => in_cells = false,
            // A reference to a node by its path contains braces: <&{/soc}>.
            ';' | '{' | '}' if !in_cells || c == ';' => {
                let (begin, said) = begins(line, &text[from..at]);
                let statement = match c {
                    '{' => Some(Statement::Open(said)),
                    ';' => Some(Statement::Property(said)).filter(|_| !said.is_empty()),
                    _ if !said.is_empty() => Some(Statement::Unfinished(said)),
                    _ => Some(Statement::Close),
                };
                found.extend(statement.map(|statement| (begin, statement)));
                in_cells = false;
                line += text[from..at].matches('\n').count();
                from = at + 1;
            }
            _ => {}
        }
        at += length;
    }
    let (begin, said) = begins(line, &text[from..]);
    if !said.is_empty() {
        found.push((begin, Statement::Unfinished(said)));
    }
    found
}

/// The line in which the words of a statement begin, and the words.
fn begins(line: usize, piece: &str) -> (usize, &str) {
    let said = piece.trim_start();
    let before = &piece[..piece.len() - said.len()];
    (line + before.matches('\n').count(), said.trim_end())
}

/// Length of the quoted string at the start of `text`; all of `text` if the closing quote is
/// missing.
fn quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::{Statement, statements, without_comments};

    #[test]
    fn statements_keep_their_lines() {
        let text =
            "/dts-v1/;\n/ {\n\tb = \"};{\\\"\";\n\n\tc: d@0 { e = <&{/f} 1>,\n <2>; };\n};\n";
        let expected = [
            (1, Statement::Property("/dts-v1/")),
            (2, Statement::Open("/")),
            (3, Statement::Property("b = \"};{\\\"\"")),
            (5, Statement::Open("c: d@0")),
            (5, Statement::Property("e = <&{/f} 1>,\n <2>")),
            (6, Statement::Close),
            (7, Statement::Close),
        ];
        assert_eq!(statements(text), expected);
        let unclosed = [
            (1, Statement::Property("a = <1")),
            (1, Statement::Open("b")),
        ];
        assert_eq!(statements("a = <1; b {"), unclosed);
        assert_eq!(
            statements("a {\n b = 1 }"),
            [
                (1, Statement::Open("a")),
                (2, Statement::Unfinished("b = 1")),
            ]
        );
        assert_eq!(
            statements(" a;\n\n b"),
            [
                (1, Statement::Property("a")),
                (3, Statement::Unfinished("b")),
            ]
        );
    }

    #[test]
    fn comments_leave_their_lines_and_strings_their_slashes() {
        let text = "a/*\n;\n*/b // c;\n\"//\" /* open\n";
        assert_eq!(without_comments(text), "a \n\nb  \n\"//\"  \n");
        assert_eq!(without_comments("\"é\\\"//"), "\"é\\\"//");
    }
}
