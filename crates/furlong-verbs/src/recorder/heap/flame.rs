//! A flame graph as an SVG picture: the outermost functions on top, each as wide as its bytes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use furlong_lab::report::text::plain;

/// The width of the picture and the height of a row, in pixels.
const WIDTH: f64 = 1200.0;
const ROW: f64 = 18.0;

/// The narrowest box that is drawn, and the narrowest one with a name.
const NARROW: f64 = 0.4;
const NAMED: f64 = 30.0;

/// The width of a letter.
const LETTER: f64 = 6.7;

/// A function, with its bytes and those of the functions that it calls.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) bytes: u64,
    callees: BTreeMap<String, Node>,
}

impl Node {
    /// Adds a stack, from the outermost function on.
    pub(super) fn add<'a>(&mut self, functions: impl IntoIterator<Item = &'a str>, bytes: u64) {
        let mut node = self;
        node.bytes += bytes;
        for function in functions {
            node = node.callees.entry(function.to_owned()).or_default();
            node.bytes += bytes;
        }
    }

    /// Rows below this one that are drawn.
    fn rows(&self, scale: f64) -> usize {
        let drawn = self
            .callees
            .values()
            .filter(|node| node.bytes as f64 * scale >= NARROW);
        drawn.map(|node| 1 + node.rows(scale)).max().unwrap_or(0)
    }
}

/// A number of bytes for people.
pub(super) fn amount(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = "bytes";
    for next in units.into_iter().take_while(|_| bytes >= 1024) {
        if value < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    if unit == "bytes" {
        format!("{bytes} bytes")
    } else {
        format!("{value:.1} {unit}")
    }
}

fn escaped(text: &str) -> String {
    let text = plain(text).replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// Draws trees below each other, each under its title.
pub(super) fn draw(trees: &[(String, Node)]) -> String {
    let scale = |root: &Node| WIDTH / root.bytes.max(1) as f64;
    let height: f64 = trees
        .iter()
        .map(|(_, root)| (root.rows(scale(root)) + 3) as f64 * ROW)
        .sum();
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"monospace\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fffdf7\"/>\n"
    );
    let mut y = ROW;
    for (title, root) in trees {
        let _ = writeln!(
            picture,
            "<text x=\"4\" y=\"{y}\" font-size=\"14\">{}</text>",
            escaped(title)
        );
        y += ROW / 2.0;
        draw_callees(&mut picture, root, (0.0, y), (scale(root), root.bytes));
        y += (root.rows(scale(root)) as f64 + 2.5) * ROW;
    }
    picture + "</svg>\n"
}

fn draw_callees(picture: &mut String, node: &Node, (x, y): (f64, f64), of: (f64, u64)) {
    let mut x = x;
    for (name, callee) in &node.callees {
        let width = callee.bytes as f64 * of.0;
        if width >= NARROW {
            draw_box(picture, name, callee.bytes, (x, y, width), of.1);
            draw_callees(picture, callee, (x, y + ROW), of);
        }
        x += width;
    }
}

fn draw_box(
    picture: &mut String,
    name: &str,
    bytes: u64,
    (x, y, width): (f64, f64, f64),
    all: u64,
) {
    let part = bytes as f64 * 100.0 / all.max(1) as f64;
    let hue = name
        .bytes()
        .fold(7_u32, |hue, byte| hue.wrapping_mul(31) + u32::from(byte))
        % 50;
    let title = format!("{name}: {}, {part:.1} %", amount(bytes));
    let inner = (width - 0.5).max(0.2);
    let _ = write!(
        picture,
        "<g><title>{}</title><rect x=\"{x:.2}\" y=\"{y:.1}\" width=\"{inner:.2}\" height=\"{}\" \
         fill=\"hsl({hue},85%,68%)\" rx=\"1\"/>",
        escaped(&title),
        ROW - 1.0
    );
    if width >= NAMED {
        let letters = ((width - 6.0) / LETTER) as usize;
        let mut shown: String = name.chars().take(letters).collect();
        if shown.len() < name.len() {
            shown.pop();
            shown.push('…');
        }
        let _ = write!(
            picture,
            "<text x=\"{:.2}\" y=\"{:.1}\">{}</text>",
            x + 3.0,
            y + ROW * 0.7,
            escaped(&shown)
        );
    }
    picture.push_str("</g>\n");
}

#[cfg(test)]
mod tests {
    use super::{Node, amount, draw};

    #[test]
    fn a_box_is_as_wide_as_its_bytes_and_lies_below_its_caller() {
        let mut root = Node::default();
        root.add(["main", "a<b>"], 3 << 20);
        root.add(["main", "c"], 1 << 20);
        let picture = draw(&[("in use".to_owned(), root)]);
        for part in [
            "<title>main: 4.0 MiB, 100.0 %</title><rect x=\"0.00\" y=\"27.0\" width=\"1199.50\"",
            "<title>a&lt;b&gt;: 3.0 MiB, 75.0 %</title><rect x=\"0.00\" y=\"45.0\" width=\"899.5",
            "<title>c: 1.0 MiB, 25.0 %</title><rect x=\"900.00\" y=\"45.0\" width=\"299.50\"",
        ] {
            assert!(picture.contains(part), "{part}: {picture}");
        }
    }

    #[test]
    fn a_long_name_is_cut_off_and_no_bytes_draw_nothing() {
        let mut root = Node::default();
        root.add([&*"x".repeat(1000)], 5);
        let picture = draw(&[("t".to_owned(), root), ("u".to_owned(), Node::default())]);
        assert!(picture.contains("xxx…</text>") && picture.ends_with("</svg>\n"));
        assert_eq!(picture.matches("<g>").count(), 1);
    }

    #[test]
    fn amounts_have_the_unit_that_suits_them() {
        let amounts = [0, 1023, 1024, 1 << 20, 5 << 29].map(amount);
        assert_eq!(
            amounts,
            ["0 bytes", "1023 bytes", "1.0 KiB", "1.0 MiB", "2.5 GiB"]
        );
    }
}
