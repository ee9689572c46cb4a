//! Result of a prescription: `furlong.prescription/1`. Fields may be added, never renamed.

use serde::Serialize;

use super::Forecast;
use furlong_lab::report::json;

/// JSON schema of the result.
pub const SCHEMA: &str = include_str!("../../schema/furlong.prescription.1.schema.json");

/// A candidate must have this much less memory to be worth a change: in percent, and in KiB, since
/// the peak of the same program differs from run to run.
const WORTH_PCT: f64 = 5.0;
const WORTH_KIB: u64 = 1024;

/// Calls may take this much more of the program's processor time, in percent.
const DEARER_PCT: f64 = 2.0;

/// Result of a prescription.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// `furlong.prescription/1`.
    pub schema: &'static str,
    /// The command.
    pub command: String,
    /// The recording, in a sentence.
    pub described: String,
    /// Processor time of the recorded process, recording included.
    pub busy_ms: f64,
    /// Name of the candidate that the program uses now.
    pub present: String,
    /// The advice.
    pub choice: Choice,
    /// All candidates, that with the smallest peak first.
    pub candidates: Vec<Forecast>,
}

/// The advice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// Name of the candidate to use; the present one if none is worth a change, or if its own
    /// replay has failed.
    pub name: String,
    /// Change of the peak against the present one, in percent.
    pub peak_pct: f64,
    /// Change of the time of the calls, in percent of the program's processor time.
    pub calls_pct: f64,
    /// The same for people.
    pub sentence: String,
}

impl Outcome {
    /// Sorts the forecasts and chooses among them.
    ///
    /// # Shapes
    ///
    /// `forecasts` are not empty; `present` is the place in them of the program's own allocator.
    #[must_use]
    pub fn new(
        command: String,
        described: String,
        busy_ms: f64,
        mut forecasts: Vec<Forecast>,
        present: usize,
    ) -> Outcome {
        let choice = Choice::of(&forecasts, &forecasts[present], busy_ms);
        let present = forecasts[present].name.clone();
        forecasts.sort_by_key(|forecast| (forecast.na.is_some(), forecast.peak_kib));
        Outcome {
            schema: "furlong.prescription/1",
            command,
            described,
            busy_ms,
            present,
            choice,
            candidates: forecasts,
        }
    }

    /// The result as JSON.
    #[must_use]
    pub fn json(&self) -> String {
        json::figures(self)
    }
}

impl Choice {
    fn of(forecasts: &[Forecast], present: &Forecast, busy_ms: f64) -> Choice {
        let peak_pct = |one: &Forecast| {
            let peaks = [one, present].map(|one| one.peak_kib.max(1) as f64);
            (peaks[0] / peaks[1] - 1.0) * 100.0
        };
        let calls_pct = |one: &Forecast| {
            let more_ms = one.calls_ms - present.calls_ms;
            more_ms / busy_ms.max(present.calls_ms) * 100.0
        };
        let is_worth = |one: &&Forecast| {
            [one, present].iter().all(|one| one.na.is_none())
                && one.peak_kib + WORTH_KIB <= present.peak_kib
                && peak_pct(one) <= -WORTH_PCT
                && calls_pct(one) <= DEARER_PCT
        };
        let best = forecasts.iter().filter(is_worth);
        let best = best.min_by_key(|one| one.peak_kib);
        let sentence = match best {
            None if present.na.is_some() => format!(
                "No advice: the replay with {}, which the program uses now, has failed.",
                present.name
            ),
            None => format!(
                "Stay with {}: nothing else saves {WORTH_PCT} % of the peak, and at least 1 MiB, \
                 for at most {DEARER_PCT} % more processor time.",
                present.name
            ),
            Some(best) => format!(
                "Use {}: it saves {:.0} % of the peak of {}, which is {}, and its calls take {}.",
                best.name,
                -peak_pct(best),
                present.name,
                amount(present.peak_kib - best.peak_kib),
                time(best.calls_ms - present.calls_ms, calls_pct(best))
            ),
        };
        let best = best.unwrap_or(present);
        Choice {
            name: best.name.clone(),
            peak_pct: peak_pct(best),
            calls_pct: calls_pct(best),
            sentence,
        }
    }
}

/// A change of time for people.
fn time(more_ms: f64, pct: f64) -> String {
    let word = if more_ms < 0.0 { "less" } else { "more" };
    format!(
        "{:.1} ms {word} ({:.1} % of the processor time)",
        more_ms.abs(),
        pct.abs()
    )
}

/// An amount of memory for people.
pub(super) fn amount(kib: u64) -> String {
    match kib {
        0..10_240 => format!("{kib} KiB"),
        _ => format!("{:.1} MiB", kib as f64 / 1024.0),
    }
}
