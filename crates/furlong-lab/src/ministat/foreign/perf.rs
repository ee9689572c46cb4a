//! The output of `perf stat`: text, CSV (`-x,`) and JSON (`-j`), one or several per file, also in
//! intervals (`-I`). Each output gives one value per event.

use serde_json::Value;

use super::{Foreign, Tool};

/// perf's line above its figures.
const HEADLINE: &str = "Performance counter stats for";

pub(super) fn is_perf(text: &str) -> bool {
    text.contains(HEADLINE)
        || text
            .lines()
            .any(|line| csv(line).is_some() || json(line).is_some())
}

/// One series per event. An event that was not counted gives no value.
pub(super) fn read(text: &str) -> Foreign {
    let mut foreign = Foreign::new(Tool::Perf);
    for line in text.lines() {
        let found = json(line).or_else(|| csv(line)).or_else(|| plain(line));
        if let Some((Some(value), event)) = found {
            foreign.add(&event, "1", value);
        }
    }
    foreign
}

/// A figure, if it was counted, and its event.
type Figure = (Option<f64>, String);

/// Reads a value in perf's format; the outer `None` if it is not one.
fn value(text: &str) -> Option<Option<f64>> {
    if matches!(text, "<not counted>" | "<not supported>") {
        return Some(None);
    }
    let digits = text.replace(',', "");
    digits.parse().ok().map(Some)
}

fn json(line: &str) -> Option<Figure> {
    let line = line.trim();
    if !line.starts_with('{') || !line.contains("counter-value") {
        return None;
    }
    let json: Value = serde_json::from_str(line).ok()?;
    let figure = json.get("counter-value")?.as_str()?;
    Some((value(figure)?, json.get("event")?.as_str()?.to_owned()))
}

/// `value,unit,event,time,share,..`, with a timestamp before it in intervals. `time` is the time
/// for which the event was counted, and `share` its percentage of the whole.
fn csv(line: &str) -> Option<Figure> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let figure = |place: usize| match fields.get(place..)? {
        [figure, unit, event, time_ns, share, ..] => {
            let is_event = event.starts_with(|letter: char| letter.is_ascii_alphabetic());
            let was_on = time_ns.parse::<u64>().is_ok() && share.contains('.');
            let share: f64 = share.parse().ok()?;
            let is_perfs = is_event && is_unit(unit) && was_on && (0.0..=100.0).contains(&share);
            is_perfs.then_some((value(figure)?, (*event).to_owned()))
        }
        _ => None,
    };
    figure(0).or_else(|| figure(1))
}

fn is_unit(text: &str) -> bool {
    text.chars()
        .all(|letter| letter.is_ascii_alphabetic() || letter == '/')
}

/// `1,234 msec task-clock # ..`, `0.1 seconds time elapsed`.
fn plain(line: &str) -> Option<Figure> {
    let line = line.split('#').next()?.split("( +-").next()?.trim();
    let (figure, rest) = match line.strip_prefix('<') {
        Some(_) => line.split_at_checked(line.find('>')? + 1)?,
        None => line.split_once(char::is_whitespace)?,
    };
    let words: Vec<&str> = rest.split_whitespace().collect();
    let event = match &words[..] {
        ["seconds", event @ ..] if !event.is_empty() => event.join(" "),
        // perf's units in between: msec, Joules, MiB, ..
        [_, event] | [event] => (*event).to_owned(),
        _ => return None,
    };
    Some((value(figure)?, event))
}
