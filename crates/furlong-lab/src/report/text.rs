//! Safe display: names come from files, and must not move a cursor, ring a bell or start a line.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::talk::{quoted, visible};

/// The text on one line, with control characters and direction marks made visible.
pub fn plain(text: &str) -> String {
    visible(text).trim().to_owned()
}

/// A name for display: an empty one becomes a placeholder, which can be referred to.
pub(crate) fn called(name: &str) -> String {
    match plain(name) {
        none if none.is_empty() => "(no name)".to_owned(),
        name => name,
    }
}

/// Columns of the text.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// [`plain`] text of at most `columns` columns; an ellipsis marks a cut.
pub(crate) fn shorten(text: &str, columns: usize) -> String {
    let text = plain(text);
    if width(&text) <= columns {
        return text;
    }
    let mut out = String::new();
    let mut left = columns.saturating_sub(1);
    for c in text.chars() {
        let w = c.width().unwrap_or(0);
        if w > left {
            break;
        }
        left -= w;
        out.push(c);
    }
    out.push('…');
    out
}

/// Words folded into lines of at most `columns`, with the second and further lines indented. A word
/// longer than a line is broken: no line is ever too long.
pub fn fold(text: &str, columns: usize, indent: usize) -> String {
    fold_marked(text, columns, indent, |_, piece| piece.to_owned())
}

/// [`fold`], with each piece of a word rewritten by `mark`, which is given the word's number. The
/// added text takes no columns.
pub(super) fn fold_marked(
    text: &str,
    columns: usize,
    indent: usize,
    mark: impl Fn(usize, &str) -> String,
) -> String {
    let columns = columns.max(indent + 8);
    let (mut lines, mut line, mut used, mut empty) = (vec![], String::new(), 0, true);
    for (number, word) in words(text).into_iter().enumerate() {
        let mut rest = word.as_str();
        loop {
            let gap = usize::from(!empty);
            if used + gap + width(rest) <= columns {
                line.push_str(if empty { "" } else { " " });
                line.push_str(&mark(number, rest));
                used += gap + width(rest);
                empty = false;
                break;
            }
            if empty {
                let (head, tail) = split_at_width(rest, columns - used);
                line.push_str(&mark(number, head));
                rest = tail;
            }
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            (used, empty) = (indent, true);
        }
    }
    lines.push(line);
    lines.join("\n")
}

/// The words. A `%` stays with its number, and an interval stays whole.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![];
    let open = |before: &str| before.starts_with('[') && !before.contains(']');
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(before) if word.starts_with('%') || open(before) => {
                before.push(' ');
                before.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Cuts before the first character that does not fit; at least one character is taken.
fn split_at_width(text: &str, columns: usize) -> (&str, &str) {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > columns && at > 0 {
            return text.split_at(at);
        }
    }
    (text, "")
}

/// The arguments, quoted for a shell.
pub(super) fn command_line(arguments: &[String]) -> String {
    arguments
        .iter()
        .map(|argument| quoted(&plain(argument)))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::{command_line, fold, plain, shorten, width};

    #[test]
    fn control_characters_and_turns_of_direction_become_visible() {
        assert_eq!(plain("a\x1b[31mb"), r"a\u{1b}[31mb");
        assert_eq!(plain("x\u{202e}y"), r"x\u{202e}y");
        assert_eq!(plain("two\nlines"), "two lines");
    }

    #[test]
    fn long_names_are_cut_to_columns_not_to_bytes() {
        assert_eq!(shorten("plain", 8), "plain");
        assert_eq!(shorten("a-very-long-name", 8), "a-very-…");
        assert_eq!(width(&shorten("漢字漢字漢字", 8)), 7);
    }

    #[test]
    fn folded_lines_never_exceed_the_width() {
        let text = format!("one two {} three", "x".repeat(50));
        let folded = fold(&text, 20, 2);
        assert!(folded.lines().all(|l| width(l) <= 20), "{folded}");
        assert_eq!(folded.replace(['\n', ' '], ""), text.replace(' ', ""));
        assert_eq!(fold("a margin of 1 %, and", 13, 0), "a margin of\n1 %, and");
        assert_eq!(fold("from [1.5, 2.5], at", 16, 0), "from [1.5, 2.5],\nat");
    }

    #[test]
    fn a_command_is_shown_as_a_shell_takes_it() {
        let args = ["furlong", "compare", "sleep 1", "it's"].map(str::to_owned);
        assert_eq!(command_line(&args), r"furlong compare 'sleep 1' 'it'\''s'");
    }
}
