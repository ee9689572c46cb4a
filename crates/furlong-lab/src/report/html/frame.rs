//! Small pieces that every part of the page uses.

use maud::{Markup, Render, html};

use crate::model::result::Verdict;
use crate::report::text::{called, plain, shorten};
use crate::report::wording;

/// Columns of a name that is shown beside others.
const NAME_COLUMNS: usize = 60;

/// A name from the result, isolated: it cannot change the direction of neighbouring text.
pub(crate) struct Name<'a>(pub(crate) &'a str);

impl Render for Name<'_> {
    fn render(&self) -> Markup {
        html! { bdi { (shorten(&called(self.0), NAME_COLUMNS)) } }
    }
}

/// A name in a cell of a table, which is isolated itself.
pub(super) fn cell(name: &str) -> String {
    shorten(&called(name), NAME_COLUMNS)
}

/// A verdict as a word with its symbol.
pub(crate) fn verdict(verdict: Verdict) -> Markup {
    html! { span class={ "v " (wording::word(verdict)) } { (wording::word(verdict)) } }
}

/// Text with true minus signs, and with no line break before a `%` or within an interval.
pub(crate) fn minus(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut before, mut inside) = (' ', false);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let number = rest.peek().is_some_and(char::is_ascii_digit);
        inside = c == '[' || (inside && c != ']');
        out.push(match c {
            '-' if number && !before.is_alphanumeric() => '\u{2212}',
            ' ' if inside => '\u{a0}',
            c => c,
        });
        before = c;
    }
    out.replace(" %", "\u{a0}%")
}

/// A table in a box that scrolls separately.
pub(crate) fn scroll(label: &str, content: &Markup) -> Markup {
    html! { div.scroll tabindex="0" role="group" aria-label=(label) { (content) } }
}

/// The headings of a table, with `|` between them; `>` before one marks a column of numbers.
pub(crate) fn heads(headings: &str) -> Markup {
    html! {
        thead {
            tr {
                @for word in headings.split('|') {
                    @match word.strip_prefix('>') {
                        Some(word) => th.number scope="col" { (word) },
                        None => th scope="col" { (word) },
                    }
                }
            }
        }
    }
}

/// Sentences as a list.
pub(crate) fn warnings(sentences: &[String], class: &str) -> Markup {
    html! {
        @if !sentences.is_empty() {
            ul class={ "plain " (class) } {
                @for sentence in sentences { li { (super::capital(&plain(sentence))) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::minus;

    #[test]
    fn only_signs_of_numbers_become_minus_signs() {
        assert_eq!(
            minus("-26.1 % [-26.8, -25.4]"),
            "−26.1\u{a0}% [−26.8,\u{a0}−25.4]"
        );
        assert_eq!(minus("sign-flip, lag-1"), "sign-flip, lag-1");
    }
}
