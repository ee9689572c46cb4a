//! The sentences about two commands, in words that need no glossary.

use super::quantity::{effect_decimals, fixed};
use super::text::{plain, shorten};
use super::wording::{FACTOR_FROM, blocks, factor, interval, is_time, margin, times};
use crate::model::result::{Better, Comparison, Metric, Verdict};
use furlong_stats::comparison::{CHANCE, FROM_ZERO};

/// The word of a verdict on two commands.
pub(super) fn told(metric: &Metric, c: &Comparison) -> &'static str {
    let (up, down) = match (is_time(metric), metric.better) {
        (true, _) => ("slower", "faster"),
        (false, Better::Lower) => ("worse", "better"),
        (false, Better::Higher) => ("better", "worse"),
    };
    match c.verdict {
        Verdict::Equivalent => "same",
        Verdict::Inconclusive if c.direction.is_none() => "cannot tell",
        _ if c.effect_pct > 0.0 => up,
        _ => down,
    }
}

/// The interval that decided: the adjusted one if there is one.
fn deciding(c: &Comparison) -> Option<[f64; 2]> {
    c.ci_adj_pct.or(c.ci95_pct)
}

/// A metric of commands in words; any other by its name.
pub(super) fn called(metric: &str) -> String {
    let words = match metric {
        "wall_s" => "time",
        "user_s" => "user time",
        "sys_s" => "system time",
        "maxrss_kib" => "peak memory",
        "minor_faults" => "page faults",
        "major_faults" => "page faults from disk",
        "context_switches" => "context switches",
        other => return plain(other),
    };
    words.to_owned()
}

/// A change of one metric among others, without its interval: `3.0 % more`, `2.1 times as much`.
/// Nothing is faster by it: that is said of the time that was compared.
pub(super) fn amount(c: &Comparison) -> String {
    let ratio = 1.0 + c.effect_pct / 100.0;
    match c.reason.as_deref() {
        Some(FROM_ZERO) => percent_and_interval(c).0,
        _ if ratio >= FACTOR_FROM => format!("{} times as much", times(ratio)),
        _ if ratio > 0.0 && 1.0 / ratio >= FACTOR_FROM => {
            format!("1/{} as much", times(1.0 / ratio))
        }
        _ => percent_and_interval(c).0,
    }
}

/// A change as a percentage, and its interval: `3.0 % more`, `[2.9, 3.1]`.
fn percent_and_interval(c: &Comparison) -> (String, Option<String>) {
    let found = deciding(c);
    let decimals = effect_decimals(c.effect_pct, found);
    let size = fixed(c.effect_pct.abs(), decimals);
    let down = c.effect_pct < 0.0;
    let (word, sign) = if down { ("less", -1.0) } else { ("more", 1.0) };
    let interval = found.map(|ci| interval(ci, decimals, sign));
    (format!("{size} % {word}"), interval)
}

/// A change in words, and its interval in the same terms: `3.0 % more`, `[2.9, 3.1]`.
pub(super) fn amount_and_interval(metric: &Metric, c: &Comparison) -> (String, Option<String>) {
    let found = deciding(c);
    let down = c.effect_pct < 0.0;
    if factor(metric, c).is_some() {
        let word = match (is_time(metric), down) {
            (true, true) => "as fast",
            (true, false) => "as long",
            (false, _) => "as much",
        };
        let ratio = |pct: f64| 1.0 + pct / 100.0;
        let told = |pct: f64| match (is_time(metric), down) {
            (true, true) => times(1.0 / ratio(pct)),
            (false, true) => format!("1/{}", times(1.0 / ratio(pct))),
            (_, false) => times(ratio(pct)),
        };
        let ends = |[low, high]: [f64; 2]| if down { [high, low] } else { [low, high] };
        let interval = found.map(ends).map(|ci| ci.map(told));
        let interval = interval.map(|[low, high]| format!("[{low}, {high}]"));
        let size = told(c.effect_pct);
        let times = if size.starts_with("1/") { "" } else { " times" };
        return (format!("{size}{times} {word}"), interval);
    }
    percent_and_interval(c)
}

/// The rest of a sentence whose direction is certain and whose verdict is open.
pub(super) fn open(c: &Comparison) -> String {
    if c.reason.as_deref() == Some(CHANCE) {
        return CHANCE.to_owned();
    }
    let margin = margin(c);
    format!("whether by more than the margin of {margin} is open")
}

/// The sentence about two commands, which begins with its word.
pub(super) fn answer(metric: &Metric, c: &Comparison, [baseline, arm]: [&str; 2]) -> String {
    let word = told(metric, c);
    let (amount, interval) = amount_and_interval(metric, c);
    let margin = margin(c);
    let change = match amount.as_str() {
        fast if fast.ends_with("as fast") => format!("{arm} is {amount} as {baseline}"),
        much if much.ends_with("as long") => format!("{arm} takes {amount} as {baseline}"),
        _ if is_time(metric) => format!("{arm} takes {amount} time than {baseline}"),
        much if much.ends_with("as much") => {
            format!("{arm} has {amount} {} as {baseline}", plain(&c.metric))
        }
        _ => format!("{arm} has {amount} {} than {baseline}", plain(&c.metric)),
    };
    let interval = interval.map_or(String::new(), |ci| format!(", 95 % interval {ci}"));
    let close = match c.verdict {
        Verdict::Keep | Verdict::Revert => String::new(),
        Verdict::Equivalent => format!("; all of it within the margin of {margin}"),
        Verdict::Inconclusive if word == "cannot tell" => format!("; margin {margin}"),
        Verdict::Inconclusive => format!("; {}", open(c)),
    };
    format!("{word}: {change}{interval}{close}; {}", blocks(c.n as u64))
}

/// Names of at most `columns`, cut at their ends, or at their beginnings if they differ only there.
pub(super) fn labels(names: &[&str], columns: usize) -> Vec<String> {
    let cut: Vec<String> = names.iter().map(|name| shorten(name, columns)).collect();
    let alike = |label: &String| cut.iter().filter(|other| *other == label).count() > 1;
    if !cut.iter().any(alike) {
        return cut;
    }
    let end = |name: &&str| {
        let turned: String = plain(name).chars().rev().collect();
        shorten(&turned, columns).chars().rev().collect()
    };
    names.iter().map(end).collect()
}
