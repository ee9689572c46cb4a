//! Conversion of bytes to lines, for all sources that are text.

use std::borrow::Cow;

use super::fault::{Fault, MapError};

/// The text of a file. Invalid UTF-8 is replaced.
pub(super) fn text_of(bytes: &[u8]) -> Result<Cow<'_, str>, MapError> {
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
        return Err(MapError::at(line, Fault::Binary));
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    Ok(String::from_utf8_lossy(text))
}

/// The lines with content, numbered and without trailing blanks. A comment is a line that begins
/// with `#` and a blank.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter_map(|(at, line)| {
        let line = line.trim_end();
        let rest = line.trim_start();
        let comment = rest == "#" || rest.starts_with("# ");
        (!rest.is_empty() && !comment).then_some((at + 1, line))
    })
}

/// The provenance in the comments at the top of a file: `# key: value`.
#[must_use]
pub fn provenance(text: &str) -> Vec<(&str, &str)> {
    text.lines()
        .map_while(|line| line.strip_prefix("# "))
        .filter_map(|said| said.split_once(": "))
        .map(|(key, value)| (key.trim(), value.trim()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Fault, lines, provenance, text_of};

    #[test]
    fn comments_blanks_and_carriage_returns_are_no_lines() {
        let text = "# a\r\n\r\nb \r\n  c\n#d: 1\n#\n\te";
        let found: Vec<_> = lines(text).collect();
        assert_eq!(found, [(3, "b"), (4, "  c"), (5, "#d: 1"), (7, "\te")]);
    }

    #[test]
    fn the_header_ends_with_the_first_line_that_is_no_comment() {
        let text = "# machine: a: b\n# said without a key\n# date: 2\nx\n# late: 3\n";
        assert_eq!(provenance(text), [("machine", "a: b"), ("date", "2")]);
    }

    #[test]
    fn binary_files_are_told_from_texts() {
        let of = |bytes: &[u8]| text_of(bytes).unwrap_err();
        let error = of(b"a\nb\n\0");
        assert!(matches!(error.fault, Fault::Binary));
        assert_eq!(error.line, Some(3));
        assert_eq!(text_of(b"\xef\xbb\xbfa\xff").unwrap(), "a\u{fffd}");
    }
}
