//! Every rule finds the marked places of its samples, and no others.

use super::RULES;
use super::tree::{Finding, Tree};

/// The samples, and a description of their form.
const SAMPLES: &str = include_str!("samples.txt");

/// A few files, and the places in them that a rule must find.
struct Sample {
    rule: &'static str,
    files: Vec<(&'static str, String)>,
    places: Vec<String>,
}

impl Sample {
    /// Reads a sample without the sign at its beginning.
    fn of(text: &'static str) -> Self {
        let mut lines = text.trim_end().lines();
        let mut sample = Sample {
            rule: lines.next().unwrap_or_default(),
            files: Vec::new(),
            places: Vec::new(),
        };
        for line in lines {
            let (line, findings) = split_mark(line, " <<");
            let (line, times) = split_mark(line, " >>");
            let place = if let Some(path) = line.strip_prefix("-- ") {
                sample.files.push((path, String::new()));
                format!("{path}:0")
            } else if let Some(path) = line.strip_prefix("!! ") {
                format!("{path}:0")
            } else if let Some((path, text)) = sample.files.last_mut() {
                let line = line.replace("<>", "") + "\n";
                text.push_str(&line.repeat(times.unwrap_or(1)));
                format!("{path}:{}", text.lines().count())
            } else {
                continue; // its description
            };
            sample.places.extend(vec![place; findings.unwrap_or(0)]);
        }
        sample.places.sort();
        sample
    }
}

/// A line without its mark, and the mark's number, which is 1 if it is not written.
fn split_mark<'a>(line: &'a str, mark: &str) -> (&'a str, Option<usize>) {
    match line.rsplit_once(mark) {
        Some((rest, number)) => (rest, Some(number.parse().unwrap_or(1))),
        None => (line, None),
    }
}

#[test]
fn every_rule_finds_the_marked_places_of_its_samples() {
    let samples: Vec<Sample> = SAMPLES.split("\n== ").skip(1).map(Sample::of).collect();
    for Sample {
        rule,
        files,
        places,
    } in &samples
    {
        let find = RULES.iter().find(|(what, _)| what == rule);
        let (_, find) = find.unwrap_or_else(|| panic!("a sample of no rule: {rule}"));
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| (*path, text.as_str()))
            .collect();
        let mut found: Vec<_> = find(&Tree::of(&files)).iter().map(Finding::place).collect();
        found.sort();
        assert_eq!(&found, places, "{rule}");
    }
    for (what, _) in RULES {
        let breaks = |sample: &Sample| sample.rule == *what && !sample.places.is_empty();
        assert!(
            samples.iter().any(breaks),
            "no sample breaks the rule: {what}"
        );
    }
}
