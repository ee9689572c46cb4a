//! The output of `perf stat`: text, CSV (`-x,`) and JSON (`-j`), one or several per file. The last
//! two may be in intervals (`-I`). Each output gives one value per event.

use std::collections::BTreeSet;

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

/// One series per event. An event that was not counted gives no value. If the outputs are of
/// several commands, the names begin with these.
///
/// # Errors
/// A figure has a comma before its decimals.
pub(super) fn read(text: &str) -> Result<Foreign, String> {
    let mut foreign = Foreign::new(Tool::Perf);
    let commands: BTreeSet<&str> = text.lines().filter_map(command).collect();
    let mut of = "";
    for line in text.lines() {
        if let Some(command) = command(line).filter(|_| commands.len() > 1) {
            of = command;
        }
        if is_in_another_language(line) {
            return Err(
                "is written by perf stat with decimal commas, so a point may separate thousands; \
                 measure again with LC_ALL=C"
                    .to_owned(),
            );
        }
        let found = json(line).or_else(|| csv(line)).or_else(|| plain(line));
        if let Some((Some(value), event)) = found {
            let name = format!("{of} {event}");
            foreign.add(name.trim_start(), "1", value);
        }
    }
    Ok(foreign)
}

/// The command of a headline: `Performance counter stats for './a b' (5 runs):`. Those of a process
/// have none.
fn command(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once(HEADLINE)?;
    let rest = rest.trim_start().strip_prefix('\'')?;
    rest.rsplit_once('\'').map(|(command, _)| command)
}

/// True for `34.269,05 msec task-clock`, as perf writes it in some languages.
fn is_in_another_language(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let figure = words.next().unwrap_or_default();
    let is_text = words
        .next()
        .is_some_and(|word| word.starts_with(char::is_alphabetic));
    let Some((whole, decimals)) = figure.rsplit_once(',') else {
        return false;
    };
    let has_decimals = is_digits(decimals) && decimals.len() != 3;
    is_text && has_decimals && whole.split(['.', ',']).all(is_digits)
}

/// A figure, if it was counted, and its event.
type Figure = (Option<f64>, String);

fn is_digits(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit())
}

/// Reads a value in perf's format; the outer `None` if it is not one.
fn value(text: &str) -> Option<Option<f64>> {
    if matches!(text, "<not counted>" | "<not supported>") {
        return Some(None);
    }
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let mut groups = whole.split(',');
    let first = groups.next().is_some_and(is_digits);
    let is_figure = first && groups.all(|group| is_digits(group) && group.len() == 3);
    let is_figure = is_figure && is_digits(decimals);
    is_figure.then(|| text.replace(',', "").parse().ok())
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
    let mut words: Vec<&str> = rest.split_whitespace().collect();
    // The part of the time in which it was counted.
    words.pop_if(|word| word.starts_with('(') && word.ends_with("%)"));
    let event = match &words[..] {
        ["seconds", event @ ..] | ["+-", _, "seconds", event @ ..] if !event.is_empty() => {
            event.join(" ")
        }
        // perf's units in between: msec, Joules, MiB, ..
        [unit, event] if is_unit(unit) => (*event).to_owned(),
        [event] => (*event).to_owned(),
        _ => return None,
    };
    Some((value(figure)?, event))
}
