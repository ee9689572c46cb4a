//! Checks that doc comments and documents are in plain English, as far as a machine can see.

use super::tree::{File, Finding, Tree};

/// Words that begin a clause without a subject.
const CLAUSES: [&str; 7] = ["What", "Who", "How", "Where", "Whether", "Why", "Which"];

/// Doc comments and sentences that may begin so, per hundred.
const PERCENT_MAX: usize = 1;

/// Documents whose text is older or somebody else's.
const QUOTED: [&str; 2] = ["docs/records/", "tests/vectors/"];

/// A count of texts, and those among them that begin with such a word.
#[derive(Default)]
struct Tally {
    all: usize,
    found: Vec<Finding>,
}

impl Tally {
    fn add(&mut self, file: &File, line: usize, text: &str) {
        self.all += 1;
        let word = text.split(|c: char| !c.is_alphabetic()).next();
        if let Some(word) = word.filter(|word| CLAUSES.contains(word)) {
            let wrong = format!("begins with {word:?}: begin with a noun phrase or a verb");
            self.found.push(file.finding(line, wrong));
        }
    }

    /// The findings, if there are too many.
    fn excess(self) -> Vec<Finding> {
        if 100 * self.found.len() > PERCENT_MAX * self.all {
            self.found
        } else {
            Vec::new()
        }
    }
}

/// Doc comments, and apart from them sentences of documents, of which too many begin with a word of
/// `CLAUSES`.
pub(crate) fn beginnings(tree: &Tree) -> Vec<Finding> {
    let (mut comments, mut sentences) = (Tally::default(), Tally::default());
    for file in tree.ending(".rs") {
        for (line, text) in doc_comments(file) {
            comments.add(file, line, text);
        }
    }
    let quoted = |file: &&File| QUOTED.iter().any(|part| file.path.contains(part));
    for file in tree.ending(".md").filter(|file| !quoted(file)) {
        for (line, text) in sentences_of(file) {
            sentences.add(file, line, text);
        }
    }
    let mut found = comments.excess();
    found.extend(sentences.excess());
    found
}

/// The first line of each doc comment, with its number.
fn doc_comments(file: &File) -> Vec<(usize, &str)> {
    let mut inside = false;
    let mut found = Vec::new();
    for (at, line) in file.text.lines().enumerate() {
        let line = line.trim_start();
        let text = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"));
        if let Some(text) = text.filter(|_| !inside) {
            found.push((at + 1, text.trim_start_matches([' ', '#', '*'])));
        }
        inside = text.is_some();
    }
    found
}

/// Beginnings of the sentences of a document outside its code blocks, each with its line.
fn sentences_of(file: &File) -> Vec<(usize, &str)> {
    const MARKS: [char; 6] = [' ', '#', '*', '-', '[', '|'];
    let mut block = false;
    let mut open = false;
    let mut found = Vec::new();
    for (at, line) in file.text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with("```") {
            block = !block;
        }
        if block || line.is_empty() {
            open = false;
            continue;
        }
        let begins = !open || line.starts_with(['#', '-', '*', '|']);
        let first = line.trim_start_matches(MARKS);
        if begins && first.starts_with(char::is_alphabetic) {
            found.push((at + 1, first));
        }
        for (place, _) in line.match_indices(['.', '!', '?', ':', ';']) {
            let rest = line[place + 1..].strip_prefix(' ');
            let rest = rest.map(|rest| rest.trim_start_matches(MARKS));
            found.extend(
                rest.filter(|rest| rest.starts_with(char::is_uppercase))
                    .map(|rest| (at + 1, rest)),
            );
        }
        open = !line.ends_with(['.', '!', '?']);
    }
    found
}
