//! The tables of benchstat and divan. They have medians, not the values behind them.

use super::{Foreign, Tool};

/// Marks the columns of both.
const BAR: char = '│';

/// True if a text has the heading of one of the tables.
pub(super) fn is_table(text: &str) -> bool {
    text.lines()
        .any(|line| median_at(line).is_some() || units(line).is_some())
}

pub(super) fn read(text: &str) -> Foreign {
    match text.lines().any(|line| median_at(line).is_some()) {
        true => divan(text),
        false => benchstat(text),
    }
}

/// Columns of divan's names and of its medians, from its heading.
fn median_at(line: &str) -> Option<(usize, usize)> {
    let column = |word: &str| Some(line[..line.find(word)?].chars().count());
    let is_heading = ["fastest", "slowest", "median", "mean"].map(|word| line.contains(word));
    (is_heading == [true; 4] && line.contains(BAR))
        .then(|| Some((column("fastest")?, column("median")?)))
        .flatten()
}

/// The median of every benchmark. Its name is that of its branch of the tree.
fn divan(text: &str) -> Foreign {
    let mut foreign = Foreign::new(Tool::Divan);
    let mut at = None;
    let mut path: Vec<String> = vec![];
    for line in text.lines() {
        if let Some(columns) = median_at(line) {
            let name = line.split_whitespace().next().unwrap_or_default();
            path = vec![name.to_owned()];
            at = Some(columns);
            continue;
        }
        let Some((names, medians)) = at else { continue };
        let branch: String = line.chars().take(names).collect();
        let name = branch.trim_start_matches([' ', BAR, '├', '╰', '─']);
        if name.trim().is_empty() {
            // A second line of a benchmark has its throughput.
            continue;
        }
        let depth = (branch.chars().count() - name.chars().count()) / BRANCH;
        path.truncate(depth.max(1));
        path.push(name.trim().to_owned());
        let median: String = line
            .chars()
            .skip(medians)
            .take_while(|c| *c != BAR)
            .collect();
        let mut words = median.split_whitespace();
        let value = words.next().and_then(|word| word.parse().ok());
        if let Some((value, unit)) = value.zip(words.next()) {
            // divan chooses a unit for each cell: a benchmark keeps one, whatever it takes.
            let time = TIMES.iter().find(|(name, _)| *name == unit);
            let (unit, factor) = time.map_or((unit, 1.0), |(_, factor)| ("ns", *factor));
            let value: f64 = value;
            foreign.add(&path.join("/"), unit, value * factor);
        }
    }
    foreign
}

/// divan's units of time, in nanoseconds.
const TIMES: [(&str, f64); 7] = [
    ("ps", 1e-3),
    ("ns", 1.0),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 6e10),
    ("h", 3.6e12),
];

/// Columns of a level of divan's tree.
const BRANCH: usize = 3;

/// Words of a line that benchstat begins with a bar: its files, or their units.
fn units(line: &str) -> Option<Vec<&str>> {
    let line = line.trim();
    let is_heading = line.starts_with(BAR) && line.ends_with(BAR);
    let cells = line.trim_matches(BAR).split(BAR).map(str::trim);
    is_heading.then(|| cells.collect())
}

/// The median of every benchmark and file.
fn benchstat(text: &str) -> Foreign {
    let mut foreign = Foreign::new(Tool::Benchstat);
    let (mut files, mut unit, mut bars) = (vec![], "", vec![]);
    let mut heading: Option<Vec<&str>> = None;
    for line in text.lines() {
        if let Some(cells) = units(line) {
            // The units are the last row, and the files that before it.
            if let Some(above) = heading.take() {
                files = above;
            }
            unit = cells[0].split_whitespace().next().unwrap_or_default();
            heading = Some(cells);
            let all = line.chars().enumerate();
            bars = all.filter(|(_, c)| *c == BAR).map(|(at, _)| at).collect();
            continue;
        }
        heading = None;
        if let Some(cpu) = line.strip_prefix("cpu: ") {
            foreign.origin.cpu = Some(cpu.trim().to_owned());
        }
        let words = words_at(line);
        let Some((_, name)) = words.first().filter(|(_, name)| *name != "geomean") else {
            continue;
        };
        let pairs = words.windows(2).filter(|pair| pair[1].1 == "±");
        let values = pairs.map(|pair| Some((pair[1].0, number(pair[0].1)?)));
        let values: Option<Vec<(usize, f64)>> = values.collect();
        for (at, value) in values.unwrap_or_default() {
            // A benchmark that one file lacks has an empty cell there.
            let place = bars.iter().filter(|bar| **bar <= at).count();
            let file = place.checked_sub(1).and_then(|place| files.get(place));
            let file = file.filter(|_| files.len() > 1);
            let file = file.map_or(String::new(), |file| format!(" {file}"));
            foreign.add(&format!("{name}{file}"), unit, value);
        }
    }
    foreign
}

/// The words of a line, with their columns.
fn words_at(line: &str) -> Vec<(usize, &str)> {
    let mut words = vec![];
    let (mut column, mut rest) = (0, line);
    while let Some(start) = rest.find(|c: char| !c.is_whitespace()) {
        column += rest[..start].chars().count();
        let word = rest[start..]
            .split(char::is_whitespace)
            .next()
            .unwrap_or_default();
        words.push((column, word));
        column += word.chars().count();
        rest = &rest[start + word.len()..];
    }
    words
}

/// A number with a prefix of the SI or a binary one: `1.718µ`, `80.00`, `1.05Ki`.
fn number(word: &str) -> Option<f64> {
    const PREFIXES: [(&str, f64); 14] = [
        ("Ki", 1024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("Ti", 1_099_511_627_776.0),
        ("n", 1e-9),
        ("µ", 1e-6),
        ("μ", 1e-6),
        ("u", 1e-6),
        ("m", 1e-3),
        ("k", 1e3),
        ("K", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
    ];
    let prefix = PREFIXES.iter().find(|(prefix, _)| word.ends_with(prefix));
    let (digits, factor) = match prefix {
        Some((prefix, factor)) => (word.strip_suffix(prefix)?, *factor),
        None => (word, 1.0),
    };
    digits.parse().ok().map(|value: f64| value * factor)
}
