//! The report: for each module the noticed mutants and their tests, and the survivors.

use std::collections::BTreeMap;

use crate::equivalents::Equivalents;
use crate::mutant::{Mutant, Name};
use crate::trial::Fate;

/// A module's mutants and their fates.
#[derive(Debug)]
pub struct Report {
    pub module: String,
    mutants: Vec<Mutant>,
    pub fates: Vec<Fate>,
    /// Reasons of the mutants that are listed as equivalent.
    listed: BTreeMap<Name, String>,
}

/// The counts of a module.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub killed: usize,
    pub endless: usize,
    pub survived: usize,
    pub equivalent: usize,
    pub untested: usize,
    /// Listed as equivalent, but a test noticed: the list is wrong.
    pub mislisted: usize,
}

impl Report {
    pub fn new(module: &str, mutants: Vec<Mutant>, list: &Equivalents) -> Report {
        let is_here = |name: &Name| mutants.iter().any(|mutant| mutant.name == *name);
        let listed = list.iter().filter(|(name, _)| is_here(name));
        let listed = listed
            .map(|(name, why)| (name.clone(), why.clone()))
            .collect();
        Report {
            module: module.to_string(),
            fates: vec![Fate::Untested; mutants.len()],
            mutants,
            listed,
        }
    }

    /// Each mutant's number with that of the first mutant of its function.
    pub fn functions(&self) -> Vec<(usize, usize)> {
        let of = |mutant: &Mutant| (mutant.file.clone(), mutant.body.start);
        let mut first = BTreeMap::new();
        for (at, mutant) in self.mutants.iter().enumerate() {
            first.entry(of(mutant)).or_insert(at + 1);
        }
        let all = self.mutants.iter().enumerate();
        all.map(|(at, mutant)| (at + 1, first[&of(mutant)]))
            .collect()
    }

    /// The mutants that no test noticed.
    pub fn survivors(&self) -> Vec<Mutant> {
        let pairs = self.mutants.iter().zip(&self.fates);
        let left = pairs.filter(|(_, fate)| matches!(fate, Fate::Survived(_)));
        left.map(|(mutant, _)| mutant.clone()).collect()
    }

    /// The fates, for the driver's own tests.
    #[cfg(test)]
    pub fn fates_by_name(&self) -> Vec<(String, &Fate)> {
        let names = self.mutants.iter().map(|mutant| mutant.name.to_string());
        names.zip(&self.fates).collect()
    }

    /// Copies the fates of the mutants that models noticed.
    pub fn take_over(&mut self, models: &Report) {
        for (mutant, fate) in models.mutants.iter().zip(&models.fates) {
            let own = self.mutants.iter().position(|one| one.name == mutant.name);
            if let Some(at) = own.filter(|_| fate.is_noticed()) {
                self.fates[at] = fate.clone();
            }
        }
    }

    /// Prints a fate as soon as it is known.
    pub fn say(&self, at: usize, fate: &Fate) {
        let name = &self.mutants[at].name;
        println!("{} {}: {name}", self.module, self.word(name, fate));
    }

    fn word(&self, name: &Name, fate: &Fate) -> String {
        match (fate, self.listed.get(name)) {
            (Fate::Killed(test), None) => format!("killed by {test}"),
            (Fate::Endless(test), None) => format!("killed by the time of {test}"),
            (Fate::Killed(test) | Fate::Endless(test), Some(_)) => {
                format!("LISTED as equivalent, and killed by {test}")
            }
            (Fate::Survived(_), Some(why)) => format!("equivalent ({why})"),
            (Fate::Survived(tests), None) => format!("SURVIVED {tests} tests"),
            (Fate::Untested, _) => "not tested".to_string(),
        }
    }

    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for (mutant, fate) in self.mutants.iter().zip(&self.fates) {
            let listed = self.listed.contains_key(&mutant.name);
            *match (fate, listed) {
                (Fate::Killed(_) | Fate::Endless(_), true) => &mut tally.mislisted,
                (Fate::Killed(_), false) => &mut tally.killed,
                (Fate::Endless(_), false) => &mut tally.endless,
                (Fate::Survived(_), true) => &mut tally.equivalent,
                (Fate::Survived(_), false) => &mut tally.survived,
                (Fate::Untested, _) => &mut tally.untested,
            } += 1;
        }
        tally
    }

    /// Prints the tests by their number of kills, and every mutant that no test noticed.
    pub fn print(&self) {
        let mut kills: BTreeMap<&str, usize> = BTreeMap::new();
        for fate in &self.fates {
            if let Fate::Killed(test) | Fate::Endless(test) = fate {
                *kills.entry(test).or_default() += 1;
            }
        }
        let mut kills: Vec<_> = kills.into_iter().collect();
        kills.sort_by_key(|&(test, count)| (std::cmp::Reverse(count), test));
        println!("\n{}: {} tests killed something", self.module, kills.len());
        for (test, count) in kills.iter().take(10) {
            println!("{count:6} {test}");
        }
        println!("{}: not noticed by any test", self.module);
        for (mutant, fate) in self.mutants.iter().zip(&self.fates) {
            if !fate.is_noticed() {
                println!("  {}: {}", self.word(&mutant.name, fate), mutant.name);
            }
        }
    }
}

impl Tally {
    fn tested(&self) -> usize {
        self.killed + self.endless + self.survived + self.equivalent + self.mislisted
    }

    /// True if enough were noticed: nine in ten of all, of which one in twenty may be equivalent.
    /// For a few mutants of a few files three in four are enough, since their share says less.
    pub fn is_enough(&self, few: bool) -> bool {
        let noticed = self.killed + self.endless;
        let (of_all, most) = (self.tested(), self.equivalent * 20 <= self.tested());
        self.mislisted == 0
            && if few {
                noticed * 4 >= (of_all - self.equivalent) * 3
            } else {
                noticed * 10 >= of_all * 9 && most
            }
    }
}

/// Prints a row a module. Returns `true` if all have enough.
pub fn summary(reports: &[Report], few: bool) -> bool {
    println!(
        "\n{:<10}{:>7}{:>8}{:>9}{:>10}{:>12}{:>10}{:>9}",
        "module", "tested", "killed", "by time", "survived", "equivalent", "untested", "noticed"
    );
    let mut enough = true;
    for report in reports {
        let tally = report.tally();
        let share = (tally.killed + tally.endless) as f64 / tally.tested().max(1) as f64;
        println!(
            "{:<10}{:>7}{:>8}{:>9}{:>10}{:>12}{:>10}{:>7.1} %",
            report.module,
            tally.tested(),
            tally.killed,
            tally.endless,
            tally.survived,
            tally.equivalent,
            tally.untested,
            100.0 * share
        );
        if tally.mislisted > 0 {
            println!(
                "{}: {} are listed as equivalent, and a test noticed them",
                report.module, tally.mislisted
            );
        }
        enough &= tally.is_enough(few);
    }
    if reports.is_empty() {
        println!("no file of these modules has changed");
    }
    enough
}
