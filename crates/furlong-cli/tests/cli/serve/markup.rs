//! A strict parser of the site's pages that rejects everything foreign.

/// Elements of the site.
const ELEMENTS: &str = "\
    html head meta link title body a svg defs path header nav ol li ul span bdi main h1 h2 h3 h4 p \
    code div table caption thead tbody tr th td time footer form label select option input button \
    section details summary figure figcaption b g use line text rect desc dl dt dd pre datalist \
    circle i em strong polygon polyline small abbr br sup";

fn is_known(name: &str) -> bool {
    ELEMENTS.split(' ').any(|known| known == name)
}

/// The start of an element, with its attributes as text.
pub(crate) struct Tag {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
}

impl Tag {
    fn attribute(&self, name: &str) -> Option<&str> {
        let mut all = self.attributes.iter();
        all.find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Every element of a page.
///
/// # Panics
///
/// The text is not markup that this project writes.
pub(crate) fn tags(page: &str) -> Vec<Tag> {
    let rest = page
        .strip_prefix("<!DOCTYPE html>")
        .unwrap_or_else(|| panic!("{page}"));
    let mut tags = vec![];
    for piece in rest.split('<').skip(1) {
        let (inside, _) = piece.split_once('>').unwrap_or_else(|| panic!("<{piece}"));
        if let Some(name) = inside.strip_prefix('/') {
            assert!(is_known(name), "</{name}>");
            continue;
        }
        let (name, attributes) = inside.split_once(' ').unwrap_or((inside, ""));
        tags.push(Tag {
            name: name.to_owned(),
            attributes: pairs(attributes),
        });
    }
    tags
}

fn pairs(mut text: &str) -> Vec<(String, String)> {
    let mut pairs = vec![];
    while !text.is_empty() {
        let end = text.find([' ', '=']).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let (value, rest) = match rest.strip_prefix("=\"") {
            Some(rest) => rest.split_once('"').unwrap_or_else(|| panic!("{text}")),
            None => ("", rest),
        };
        pairs.push((name.to_owned(), unescape(value)));
        text = rest.trim_start();
    }
    pairs
}

fn unescape(text: &str) -> String {
    let signs = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&amp;", "&"),
    ];
    signs
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// Checks that a page has only the site's elements and no link elsewhere; returns its links.
pub(crate) fn check(address: &str, page: &str) -> Vec<String> {
    let mut links = vec![];
    let tags = tags(page);
    for tag in &tags {
        assert!(is_known(&tag.name), "{address}: <{}>", tag.name);
        for (name, value) in &tag.attributes {
            let plain = name
                .bytes()
                .all(|b| b.is_ascii_alphabetic() || b == b'-' || b == b'1' || b == b'2');
            assert!(plain && !name.starts_with("on"), "{address}: {name}");
            assert!(!["style", "src", "srcdoc", "formaction", "ping"].contains(&name.as_str()));
            if name == "href" || name == "action" {
                let inside = value.starts_with('#') || value.starts_with('/');
                assert!(inside && !value.starts_with("//"), "{address}: {value}");
            }
        }
        let link = tag.attribute("href").filter(|href| href.starts_with('/'));
        links.extend(link.map(str::to_owned));
    }
    in_order(address, &tags);
    links
}

/// Checks the outline: headings descend one level at a time, from a single first-level one. Every
/// table has a caption or is in a named box, and every id is unique.
fn in_order(address: &str, tags: &[Tag]) {
    let levels = tags
        .iter()
        .filter_map(|tag| tag.name.strip_prefix('h')?.parse::<u32>().ok());
    let levels: Vec<u32> = levels.collect();
    assert_eq!(levels.first(), Some(&1), "{address}");
    let steps = levels.windows(2);
    assert!(
        steps
            .clone()
            .all(|pair| pair[1] > 1 && pair[1] <= pair[0] + 1),
        "{address}: {levels:?}"
    );
    let mut ids: Vec<&str> = tags.iter().filter_map(|tag| tag.attribute("id")).collect();
    ids.sort_unstable();
    let twice = ids.windows(2).find(|pair| pair[0] == pair[1]);
    assert_eq!(twice, None, "{address}");
    for tag in tags.iter().filter(|tag| tag.name == "th") {
        assert!(
            tag.attribute("scope").is_some(),
            "{address}: a heading of nothing"
        );
    }
    let titled = tags.iter().any(|tag| tag.name == "title");
    assert!(titled, "{address}");
}
