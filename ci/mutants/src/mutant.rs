//! Mutants: one change each, their names, and the order in which they are drawn.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::sites::Function;

/// One change of one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// Relative to the root of the repository.
    pub file: String,
    /// The range of the function's body, which identifies the function within its file.
    pub body: Range<usize>,
    pub range: Range<usize>,
    pub new: String,
    pub name: Name,
}

/// Names a mutant by its change, so that a list outlives other changes of the file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    pub file: String,
    pub function: String,
    /// The old text and the new one, without line breaks; numbered if a function has the change
    /// twice.
    pub change: String,
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} | {} | {}", self.file, self.function, self.change)
    }
}

/// All mutants of a file, grouped by place.
pub fn all(file: &str, source: &str, functions: &[Function]) -> Vec<Vec<Mutant>> {
    let mut seen: BTreeMap<Name, usize> = BTreeMap::new();
    let mut places = vec![];
    for function in functions {
        for site in &function.sites {
            let of = |new: &String| {
                let old = match site.range == function.body {
                    true => "the whole body",
                    false => &source[site.range.clone()],
                };
                let mut name = Name {
                    file: file.to_string(),
                    function: function.path.clone(),
                    change: format!("{} -> {}", on_one_line(old), on_one_line(new)),
                };
                let times = seen.entry(name.clone()).or_default();
                *times += 1;
                if *times > 1 {
                    name.change = format!("{} (occurrence {times})", name.change);
                }
                Mutant {
                    file: file.to_string(),
                    body: function.body.clone(),
                    range: site.range.clone(),
                    new: new.clone(),
                    name,
                }
            };
            places.push(site.variants.iter().map(of).collect());
        }
    }
    places
}

fn on_one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.is_empty() {
        "nothing".into()
    } else {
        words.join(" ")
    }
}

/// The mutants that a text names, each at the end of a line as in a report. Each becomes a place of
/// its own.
pub fn named(places: Vec<Vec<Mutant>>, text: &str) -> Vec<Vec<Mutant>> {
    let is_named = |one: &Mutant| {
        let name = one.name.to_string();
        let before = |line: &str| line.trim_end().strip_suffix(&name).map(str::len);
        text.lines()
            .any(|line| before(line).is_some_and(|at| at == 0 || line[..at].ends_with(' ')))
    };
    let all = places.into_iter().flatten();
    all.filter(is_named).map(|one| vec![one]).collect()
}

/// One mutant of each place, in random order; the order depends on the seed alone.
pub fn shuffled(places: Vec<Vec<Mutant>>, seed: u64) -> Vec<Mutant> {
    let mut random = Random(seed);
    let mut drawn: Vec<Mutant> = places
        .into_iter()
        .filter_map(|mut variants| {
            let at = random.below(variants.len());
            (at < variants.len()).then(|| variants.swap_remove(at))
        })
        .collect();
    for at in (1..drawn.len()).rev() {
        drawn.swap(at, random.below(at + 1));
    }
    drawn
}

/// The generator SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % end.max(1) as u64).unwrap_or_default()
    }
}
