//! Splits a command line into words, without a shell if none is needed.

/// A command line after splitting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Words that need no shell, at least one.
    Words(Vec<String>),
    /// Something that only a shell can do. Holds that part.
    NeedsShell(String),
    /// No words.
    Empty,
    /// A quotation mark without its partner.
    Unclosed(char),
}

/// Characters outside quotes that are special to a shell.
const SHELL_ONLY: &str = "|&;<>()$`*?[]{}~#!\n";

/// Splits a command line as a shell does, or reports why only a shell can.
///
/// Words are separated by blanks. Single quotes, double quotes and backslashes work as in the
/// shell. Expansions, lists and redirections are left to a shell, and so is a line that begins with
/// an assignment.
///
/// # Cost
///
/// O(length).
///
/// # Example
///
/// ```
/// use furlong_lab::shell_words::{Line, split};
///
/// let words = |list: &[&str]| Line::Words(list.iter().map(ToString::to_string).collect());
/// assert_eq!(split("grep -c 'two words' file"), words(&["grep", "-c", "two words", "file"]));
/// assert_eq!(split("ls | wc -l"), Line::NeedsShell("|".into()));
/// ```
pub fn split(text: &str) -> Line {
    let mut words = Vec::new();
    let mut rest = text.chars().peekable();
    loop {
        while rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        if rest.peek().is_none() {
            break;
        }
        match word(&mut rest) {
            Ok(word) => words.push(word),
            Err(line) => return line,
        }
    }
    match words.first() {
        None => Line::Empty,
        Some(first) if is_assignment(first) => Line::NeedsShell(first.clone()),
        Some(_) => Line::Words(words),
    }
}

/// Returns the next word, or the result for the whole line if it cannot be split.
fn word(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<String, Line> {
    let mut word = String::new();
    while let Some(c) = rest.next_if(|c| !matches!(c, ' ' | '\t')) {
        match c {
            '\'' => loop {
                match rest.next() {
                    Some('\'') => break,
                    Some(c) => word.push(c),
                    None => return Err(Line::Unclosed('\'')),
                }
            },
            '"' => double_quoted(rest, &mut word)?,
            '\\' => match rest.next() {
                None | Some('\n') => return Err(Line::NeedsShell("\\".to_owned())),
                Some(c) => word.push(c),
            },
            c if SHELL_ONLY.contains(c) => return Err(Line::NeedsShell(c.to_string())),
            c => word.push(c),
        }
    }
    Ok(word)
}

/// Reads the text between double quotes, where a backslash is special only before a few characters.
fn double_quoted(
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
    word: &mut String,
) -> Result<(), Line> {
    loop {
        match rest.next() {
            Some('"') => return Ok(()),
            Some(c @ ('$' | '`')) => return Err(Line::NeedsShell(c.to_string())),
            Some('\\') => {
                if let Some(c) = rest.next_if(|c| matches!(c, '"' | '\\' | '$' | '`')) {
                    word.push(c);
                } else if rest.next_if_eq(&'\n').is_none() {
                    word.push('\\');
                }
            }
            Some(c) => word.push(c),
            None => return Err(Line::Unclosed('"')),
        }
    }
}

/// True if a first word is `NAME=value`.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let letters = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        letters && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{Line, split};

    /// Splits a line with `sh`: its words, each ended by a zero.
    fn by_shell(text: &str) -> Vec<String> {
        let script = format!("printf '%s\\0' {text}");
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.split_terminator('\0').map(str::to_owned).collect()
    }

    #[test]
    fn words_are_cut_as_the_shell_cuts_them() {
        for text in [
            "a b  c\t d ",
            "  'single  quoted' \"double  quoted\"",
            r#"back\ slash "in \"quotes\" \\ \n" 'in \n single'"#,
            r#"joined'to'"gether" '' "" end"#,
            r"\| \& \$HOME \'",
            "--option=value a=b",
            "umlaut ü 'ß ß'",
            "@ % ^ + - _ = : , . /",
        ] {
            assert_eq!(split(text), Line::Words(by_shell(text)), "{text}");
        }
    }

    #[test]
    fn what_a_shell_would_expand_join_or_redirect_is_left_to_it() {
        for (text, what) in [
            ("a | b", "|"),
            ("a && b", "&"),
            ("a; b", ";"),
            ("a > b", ">"),
            ("a < b", "<"),
            ("(a)", "("),
            ("echo $HOME", "$"),
            ("echo \"$HOME\"", "$"),
            ("echo \"`date`\"", "`"),
            ("ls *.c", "*"),
            ("ls a?", "?"),
            ("ls [ab]", "["),
            ("ls {a,b}", "{"),
            ("ls ~", "~"),
            ("a # b", "#"),
            ("! a", "!"),
            ("a\nb", "\n"),
            ("a \\\nb", "\\"),
            ("X=1 a", "X=1"),
        ] {
            assert_eq!(split(text), Line::NeedsShell(what.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn quotes_without_a_partner_and_nothing_are_told_apart() {
        assert_eq!(split("a 'b"), Line::Unclosed('\''));
        assert_eq!(split("a \"b\\\""), Line::Unclosed('"'));
        assert_eq!(split(" \t "), Line::Empty);
        assert_eq!(split(""), Line::Empty);
        assert_eq!(split("''"), Line::Words(vec![String::new()]));
    }
}
