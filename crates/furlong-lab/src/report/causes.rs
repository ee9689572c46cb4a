//! The functions behind a difference in instructions, in words.

use super::family::instructions;
use super::quantity::{Scale, fixed};
use super::text::{plain, width};
use crate::model::result::{ArmResult, WorkloadResult};
use crate::record::functions::behind;
use furlong_stats::attribution::{Attribution, Callee, Cause};

/// Share of all changes, in per cent, below which a function is not worth a line.
const SHARE_MIN_PCT: f64 = 1.0;

/// Difference in instructions, in per cent, below which there is nothing to explain.
const AMOUNT_MIN_PCT: f64 = 0.01;

/// The difference of an arm from its baseline, by function.
pub(super) struct Causes {
    /// `3.000 % more instructions`.
    pub(super) amount: String,
    /// The greatest first.
    pub(super) functions: Vec<Told>,
}

/// A function behind a difference.
pub(super) struct Told {
    /// Its share of the difference: `62 %`.
    pub(super) share: String,
    pub(super) function: String,
    /// `60.0 instructions a call instead of 48.0`.
    pub(super) change: String,
}

/// Returns the functions behind the differences of all arms, each with the arm's name.
pub(super) fn of_arms(w: &WorkloadResult) -> Vec<(&str, Causes)> {
    let Some((base, others)) = w.arms.split_first() else {
        return vec![];
    };
    let found = |arm: &ArmResult| causes(w, &arm.name, [&base.name, &arm.name]);
    let arms = others.iter();
    arms.filter_map(|arm| Some((arm.name.as_str(), found(arm)?)))
        .collect()
}

/// Returns the functions behind the difference of an arm from its baseline; `None` if they were not
/// counted, or nothing differs. `shown` has the names of both.
pub(super) fn causes(w: &WorkloadResult, arm: &str, shown: [&str; 2]) -> Option<Causes> {
    of(&behind(w, arm)?, shown)
}

/// Returns lines for a terminal; none if nothing differs. `shown` has the names of both sides.
pub(crate) fn lines(found: &Attribution, shown: [&str; 2]) -> Vec<String> {
    of(found, shown).map_or(vec![], |causes| causes.lines())
}

impl Causes {
    /// A line of the amount, and one for each function.
    pub(super) fn lines(&self) -> Vec<String> {
        let widest = self.functions.iter().map(|one| width(&one.share)).max();
        let of = |one: &Told| {
            let blank = " ".repeat(widest.unwrap_or(0) - width(&one.share));
            format!("  {blank}{}  {}: {}", one.share, one.function, one.change)
        };
        let head = format!("why: {}, by function:", self.amount);
        [head]
            .into_iter()
            .chain(self.functions.iter().map(of))
            .collect()
    }
}

fn of(found: &Attribution, shown: [&str; 2]) -> Option<Causes> {
    let [base, other] = found.totals;
    let more = other - base;
    let all: f64 = found.causes.iter().map(|one| one.difference.abs()).sum();
    let worth = |one: &&Cause| one.difference.abs() >= all * SHARE_MIN_PCT / 100.0;
    let told = |one: &Cause| Told {
        share: format!("{} %", fixed(100.0 * one.difference / more, 0)),
        function: match plain(&one.function) {
            name if name.is_empty() => "start of the program".to_owned(),
            name => name,
        },
        change: change(one, shown),
    };
    let functions: Vec<Told> = found.causes.iter().filter(worth).map(told).collect();
    let amount = instructions(100.0 * more / base);
    let is_shown = 100.0 * more.abs() >= AMOUNT_MIN_PCT * base;
    is_shown.then_some(Causes { amount, functions })
}

/// The change in a function's own code.
fn change(cause: &Cause, arms: [&str; 2]) -> String {
    match &cause.callee {
        Some(callee) => calls(callee, arms),
        None if is_called_more(cause) => {
            let [before, after] = figures(cause.calls);
            format!("called {after} times instead of {before}, in a circle with others")
        }
        None => {
            let [before, after] = figures(cause.own);
            match cause.calls == [1.0; 2] {
                true => format!("{after} instructions instead of {before}"),
                false => format!("{after} instructions a call instead of {before}"),
            }
        }
    }
}

/// True for a member of a circle whose number of calls changed more than the cost of one.
fn is_called_more(cause: &Cause) -> bool {
    let change = |[before, after]: [f64; 2]| (after / before).ln().abs();
    cause.circle && change(cause.calls) > change(cause.own)
}

fn calls(callee: &Callee, arms: [&str; 2]) -> String {
    let [base, arm] = arms.map(plain);
    let name = plain(&callee.function);
    match callee.occurs {
        [false, _] => format!("calls {name}, which is inlined or absent in {base}"),
        [_, false] => format!("does not call {name}, which is inlined or absent in {arm}"),
        _ => {
            let [before, after] = figures(callee.calls);
            format!("calls {name} {after} times a call instead of {before}")
        }
    }
}

/// Two figures with the same number of decimals.
fn figures(pair: [f64; 2]) -> [String; 2] {
    let scale = Scale::of("", pair);
    pair.map(|one| scale.show(one))
}

#[cfg(test)]
mod tests {
    use super::causes;
    use crate::model::result::WorkloadResult;
    use crate::record::functions::FUNCTIONS;
    use serde_json::json;

    fn told(attribution: &serde_json::Value) -> Option<(String, Vec<String>)> {
        let mut w = WorkloadResult::default();
        let value = json!({ "new": attribution });
        w.params.insert(FUNCTIONS.to_owned(), value);
        let found = causes(&w, "new", ["old", "new"])?;
        let lines = found.functions.iter();
        let lines = lines.map(|one| format!("{} {}: {}", one.share, one.function, one.change));
        Some((found.amount, lines.collect()))
    }

    #[test]
    fn every_kind_of_change_has_its_words() {
        let callee = |occurs: [bool; 2]| {
            let calls = [1.0, 2.5];
            json!({ "function": "part", "calls": calls, "occurs": occurs })
        };
        let cause = |function: &str, difference: f64, callee: serde_json::Value| {
            let (calls, own) = ([100.0, 100.0], [48.0, 60.0]);
            json!({ "function": function, "difference": difference, "calls": calls, "own": own,
                "circle": false, "callee": callee })
        };
        let (amount, lines) = told(&json!({ "totals": [10_000.0, 12_000.0], "causes": [
            cause("parse", 1200.0, json!(null)),
            cause("main", 900.0, callee([true, true])),
            cause("step", 400.0, callee([false, true])),
            cause("stop", -500.0, callee([true, false])),
            cause("noise", 3.0, json!(null)),
        ]}))
        .expect("they differ");
        assert_eq!(amount, "20.0 % more instructions");
        assert_eq!(
            lines,
            [
                "60 % parse: 60 instructions a call instead of 48",
                "45 % main: calls part 2.500 times a call instead of 1.000",
                "20 % step: calls part, which is inlined or absent in old",
                "-25 % stop: does not call part, which is inlined or absent in new",
            ]
        );
    }

    #[test]
    fn a_member_of_a_circle_is_called_more_often() {
        let (_, lines) = told(
            &json!({ "totals": [100.0, 200.0], "causes": [{ "function": "add",
            "difference": 100.0, "calls": [10.0, 20.0], "own": [10.0, 10.0], "circle": true,
            "callee": null }]}),
        )
        .expect("they differ");
        let wanted = "100 % add: called 20 times instead of 10, in a circle with others";
        assert_eq!(lines, [wanted]);
    }

    #[test]
    fn without_a_difference_there_is_nothing_to_tell() {
        assert!(told(&json!({ "totals": [5.0, 5.0], "causes": [] })).is_none());
        assert!(told(&json!("broken")).is_none());
    }
}
