//! The answer of a search, in a few lines and as JSON.

use serde::Serialize;

use super::Args;
use super::bench::{Bench, Block};
use crate::cmd::ab::command_line;
use crate::cmd::ab::repository::{Commit, Range};
use crate::error::Error;
use crate::publish::keep_record;
use crate::record::build;
use crate::report::quantity::{change, chosen_percent, count, counted};
use crate::report::{Target, causes, json};
use crate::session::new_id;
use crate::talk::{self, Voice};
use furlong_stats::attribution::Attribution;
use furlong_stats::bisect::{Belief, Candidate, Change, Search, State};
use furlong_stats::distribution::normal_upper;

/// The form of the JSON.
const SCHEMA: &str = "furlong.bisect/1";

/// Commits of the set that are shown.
const SHOWN: usize = 5;

/// Probability of no step, or of several ones, from which it is told.
const TOLD: f64 = 0.05;

/// Probability from which something is taken for a fact.
const LIKELY: f64 = 0.5;

/// Characters of a subject.
const SUBJECT_CHARS: usize = 60;

/// Everything that an answer is made from.
pub(super) struct Answer<'a> {
    pub(super) args: &'a Args,
    /// A change within this many per cent does not matter.
    pub(super) margin_pct: f64,
    pub(super) range: &'a Range,
    pub(super) belief: &'a Belief,
    pub(super) state: State,
    pub(super) search: &'a Search,
    pub(super) bench: &'a Bench<'a>,
    pub(super) seed: u64,
}

/// A commit of the set, as JSON.
#[derive(Serialize)]
struct Named<'a> {
    commit: &'a str,
    date: &'a str,
    subject: &'a str,
    probability: f64,
}

/// Figures of a search, as JSON.
#[derive(Serialize)]
struct Figures<'a> {
    schema: &'static str,
    version: String,
    seed: u64,
    command: String,
    good: &'a str,
    bad: &'a str,
    metric: &'a str,
    outcome: &'static str,
    commits: Vec<&'a str>,
    probability_none: f64,
    probability_several: f64,
    candidates: Vec<Named<'a>>,
    step_pct: f64,
    step_ci95_pct: [f64; 2],
    bad_pct: f64,
    bad_ci95_pct: [f64; 2],
    cv_pct: f64,
    build_effect_pct: f64,
    builds: usize,
    samples: usize,
    seconds: f64,
    left_out: Vec<(&'a str, &'a str)>,
    /// The functions behind the change, if they were counted.
    functions: Option<&'a Attribution>,
    blocks: &'a [Block],
}

/// A change in per cent, with its 95 % interval.
fn pct(change: Change) -> (f64, [f64; 2]) {
    let half = normal_upper(0.025) * change.deviation;
    let of = |log: f64| 100.0 * log.exp_m1();
    let ends = [change.mean - half, change.mean + half];
    (of(change.mean), ends.map(of))
}

fn told(of: Change) -> String {
    let (pct, interval) = pct(of);
    change(pct, Some(interval))
}

impl Answer<'_> {
    /// Shows the answer, keeps its record, and writes the JSON.
    pub(super) fn publish(&self, voice: Voice) -> Result<(), Error> {
        let first = self.belief.candidates.first();
        let found = first.filter(|_| self.state == State::Found);
        let why = found.and_then(|one| self.bench.why(one.commit));
        let figures = json::figures(&self.figures(why.as_ref()));
        let mut lines = self.lines();
        if let (Some((before, functions)), Some(one)) = (&why, found) {
            let names = [before, self.commit(one.commit).revision.short()];
            lines.extend(causes::lines(functions, names));
        }
        match keep_record(&format!("{}.json", new_id()?), &figures) {
            Ok(path) => lines.push(format!("record: {}", path.display())),
            Err(why) => voice.warn(&format!("no record: {why}")),
        }
        let text = lines.join("\n") + "\n";
        let Some(path) = &self.args.json else {
            return talk::data(&text);
        };
        let option = "--json";
        let target = Target { option, path };
        let shown = match target.is_stdout() {
            true => {
                talk::say(text.trim_end());
                Ok(())
            }
            false => talk::data(&text),
        };
        shown.and(target.put(figures.as_bytes()))
    }

    fn commit(&self, number: usize) -> &Commit {
        &self.range.commits[number - 1]
    }

    /// `3f2a91c07d1e (2026-03-01) Copy the input first`.
    fn named(&self, number: usize) -> String {
        let commit = self.commit(number);
        let subject: String = commit.subject.chars().take(SUBJECT_CHARS).collect();
        format!("{} ({}) {subject}", commit.revision.short(), commit.date)
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = match self.outcome() {
            "unchanged" => vec![format!(
                "no change between {} and {} beyond {} %: {} {}",
                self.args.good,
                self.args.bad,
                self.margin_pct,
                self.bench.metric,
                told(self.belief.last)
            )],
            "unknown" => vec![format!(
                "cannot tell whether {} differs from {}: {} {}; {}",
                self.args.bad,
                self.args.good,
                self.bench.metric,
                told(self.belief.last),
                self.rest()
            )],
            _ => self.found(),
        };
        let commits = self.range.commits.len() as u64;
        let mut path = counted(commits, "commit");
        path.push_str(" along first parents");
        if self.range.merges > 0 {
            path.push_str(&format!(", {} of them merges", self.range.merges));
        }
        lines.push(format!(
            "{path}; {} built, {} in {:.0} s",
            count(self.bench.built() as u64),
            counted(3 * self.bench.blocks.len() as u64, "sample"),
            self.bench.seconds()
        ));
        if !self.bench.left_out.is_empty() {
            let names = self.bench.left_out.keys();
            let names = names.map(|number| self.commit(*number).revision.short());
            let names: Vec<&str> = names.take(SHOWN).collect();
            let all = counted(self.bench.left_out.len() as u64, "commit");
            lines.push(format!("left out: {all}: {}", names.join(", ")));
        }
        lines
    }

    /// Lines about the commits of the set.
    fn found(&self) -> Vec<String> {
        let candidates = &self.belief.candidates;
        let Some(first) = candidates.first() else {
            return vec!["no commit was measured".to_owned()];
        };
        let sure = |one: &Candidate| chosen(one.probability * (1.0 - self.belief.none));
        let mut lines = vec![
            format!("{} probable: {}", sure(first), self.named(first.commit)),
            format!("{} {} there", self.bench.metric, told(self.belief.change)),
        ];
        match candidates.len() {
            1 => lines.push("95 % set: this commit".to_owned()),
            all => {
                lines.push(format!("95 % set: {}", counted(all as u64, "commit")));
                let others = candidates[1..].iter().take(SHOWN - 1);
                lines.extend(
                    others.map(|one| format!("  {}: {}", sure(one), self.named(one.commit))),
                );
                if all > SHOWN {
                    lines.push(format!("  and {} more", all - SHOWN));
                }
            }
        }
        if self.belief.several >= LIKELY {
            lines.push(format!(
                "several commits changed it ({}), and this is the largest change: search on both \
                 sides of it",
                chosen(self.belief.several)
            ));
        }
        if self.belief.none >= TOLD {
            let none = chosen(self.belief.none);
            lines.push(format!(
                "{none}: no commit, but the luck of builds and noise"
            ));
        }
        match self.state {
            State::Open(_) => lines.push(self.rest().to_owned()),
            State::Exhausted => lines.push("more runs would not tell these apart".to_owned()),
            State::Found | State::Unchanged => {}
        }
        lines
    }

    /// The reason why a search is open.
    fn rest(&self) -> &'static str {
        match self.bench.is_over() {
            true => "the time was over: --max-time allows more",
            false => "the search did not come to its end",
        }
    }

    fn outcome(&self) -> &'static str {
        let last = self.search.commits();
        let only_last = self.search.measured().all(|commit| commit == last);
        match self.state {
            State::Unchanged => "unchanged",
            State::Found => "found",
            State::Open(next) if only_last && next.commit == last => "unknown",
            State::Open(_) => "open",
            State::Exhausted => "exhausted",
        }
    }

    fn figures<'s>(&'s self, why: Option<&'s (String, Attribution)>) -> Figures<'s> {
        let id = |number: usize| self.commit(number).revision.commit.as_str();
        let named = |one: &Candidate| Named {
            commit: id(one.commit),
            date: &self.commit(one.commit).date,
            subject: &self.commit(one.commit).subject,
            probability: one.probability * (1.0 - self.belief.none),
        };
        let (step_pct, step_ci95_pct) = pct(self.belief.change);
        let (bad_pct, bad_ci95_pct) = pct(self.belief.last);
        let left_out = self.bench.left_out.iter();
        Figures {
            schema: SCHEMA,
            version: build::version(),
            seed: self.seed,
            command: command_line(&self.args.command),
            good: &self.range.good.commit,
            bad: id(self.range.commits.len()),
            metric: &self.bench.metric,
            outcome: self.outcome(),
            commits: (1..=self.range.commits.len()).map(id).collect(),
            probability_none: self.belief.none,
            probability_several: self.belief.several,
            candidates: self.belief.candidates.iter().map(named).collect(),
            step_pct,
            step_ci95_pct,
            bad_pct,
            bad_ci95_pct,
            cv_pct: 100.0 * self.belief.noise,
            build_effect_pct: 100.0 * self.belief.build,
            builds: self.bench.built(),
            samples: 3 * self.bench.blocks.len(),
            seconds: self.bench.seconds(),
            left_out: left_out
                .map(|(number, why)| (id(*number), why.as_str()))
                .collect(),
            functions: why.map(|(_, functions)| functions),
            blocks: &self.bench.blocks,
        }
    }
}

/// A probability in per cent, never rounded up to certainty.
fn chosen(probability: f64) -> String {
    let pct = 100.0 * probability;
    match pct > 99.9 {
        true => "over 99.9 %".to_owned(),
        false => chosen_percent((10.0 * pct).floor() / 10.0),
    }
}
