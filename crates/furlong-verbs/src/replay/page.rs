//! The result of a replay as text for people.

use std::fmt::Write as _;

use super::outcome::{Count, Outcome, SubjectOutcome};
use furlong_lab::report::terminal::Style;
use furlong_lab::report::terminal::columns::{Column, table};
use furlong_lab::report::text::{fold, plain};

/// Times above this are shown as microseconds.
const NS_MAX: f64 = 10_000.0;

/// Maximum number of kinds of operations shown as columns; if there are more, each gets a row.
const KINDS_ACROSS: usize = 6;

/// The trace, a row for each subject or for each kind of operation, and further lines by subject.
#[must_use]
pub fn page(outcome: &Outcome, style: &Style) -> String {
    let mut page = format!(
        "{}: {}\n{}\n\n",
        plain(&outcome.trace),
        outcome.form,
        fold(&outcome.described, style.width, 0)
    );
    let able = outcome.subjects.iter().find(|subject| subject.na.is_none());
    let columns = match able {
        Some(able) if able.kinds.len() > KINDS_ACROSS => by_kind(outcome, able),
        able => by_subject(outcome, able),
    };
    page.push_str(&table(&columns, style.width, style.colour));
    page.push('\n');
    for subject in &outcome.subjects {
        say(&mut page, subject);
    }
    let answers = outcome.subjects.iter().map(|subject| subject.answers);
    let held = format!(
        "{} answers compared with {}, {} wrong.",
        answers.sum::<u64>(),
        outcome.judge,
        outcome.wrong()
    );
    let times = "Times are of this one run, with warm caches: they describe the trace. Use \
                 `furlong run` to measure.";
    page.push('\n');
    page.push_str(&fold(&format!("{held} {times}"), style.width, 0));
    page.push('\n');
    page
}

/// Writes a subject's limits and wrong answers.
fn say(page: &mut String, subject: &SubjectOutcome) {
    let name = &subject.name;
    if let Some(why) = &subject.na {
        let _ = writeln!(page, "{name}: n/a: {why}");
    }
    if let Some(first) = &subject.first_wrong {
        let _ = writeln!(page, "{name}: WRONG: {first}");
    }
    for differing in &subject.differing {
        let _ = writeln!(page, "{name}: {differing}");
    }
}

/// A table with a row per subject.
fn by_subject(outcome: &Outcome, able: Option<&SubjectOutcome>) -> Vec<Column> {
    let mut names = Column::words("subject");
    for subject in &outcome.subjects {
        names.push(subject.name.as_str());
    }
    let mut columns = vec![names];
    if let Some(able) = able {
        let kinds = able.kinds.iter().enumerate();
        // A single operation has no mean; the JSON still contains it.
        let often = kinds.filter(|(_, kind)| kind.operations > 1);
        columns.extend(often.map(|(at, kind)| times(outcome, kind.name, at)));
        let counts = able.counts.iter().enumerate();
        columns.extend(counts.map(|(at, count)| counted(outcome, count.name, at)));
    }
    let mut wrong = Column::numbers("wrong");
    for subject in &outcome.subjects {
        wrong.push(wrongs(subject));
    }
    columns.push(wrong);
    columns
}

/// A table with a row per kind of operation and per counted number.
fn by_kind(outcome: &Outcome, able: &SubjectOutcome) -> Vec<Column> {
    let mut names = Column::words("");
    let mut often = Column::numbers("operations");
    for kind in &able.kinds {
        names.push(kind.name);
        often.push(kind.operations.to_string());
    }
    let counts = able.counts.iter().map(|count| count.name.replace('_', " "));
    for name in counts.chain(["wrong".to_owned()]) {
        names.push(name);
        often.push("");
    }
    let mut columns = vec![names, often];
    columns.extend(outcome.subjects.iter().map(|subject| {
        let mut column = Column::numbers(&format!("{}\nns", subject.name));
        for kind in &subject.kinds {
            let time = kind.time_ns_per_op.map(|ns| format!("{ns:.1}"));
            column.push(time.unwrap_or_default());
        }
        for count in &subject.counts {
            column.push(exact(count));
        }
        column.push(wrongs(subject));
        column
    }));
    columns
}

fn wrongs(subject: &SubjectOutcome) -> String {
    match subject.na {
        Some(_) => "n/a".to_owned(),
        None => subject.wrong.to_string(),
    }
}

fn exact(count: &Count) -> String {
    let digits = if count.value.fract() == 0.0 { 0 } else { 2 };
    format!("{:.digits$}", count.value)
}

/// Times of one kind of operation, in one unit.
fn times(outcome: &Outcome, name: &str, at: usize) -> Column {
    let time = |subject: &SubjectOutcome| subject.kinds.get(at).and_then(|k| k.time_ns_per_op);
    let greatest = outcome.subjects.iter().filter_map(time).fold(0.0, f64::max);
    let (unit, factor) = if greatest > NS_MAX {
        ("µs", 1e3)
    } else {
        ("ns", 1.0)
    };
    let mut column = Column::numbers(&format!("{name}\n{unit}"));
    for subject in &outcome.subjects {
        let text = time(subject).map(|ns| format!("{:.1}", ns / factor));
        column.push(text.unwrap_or_default());
    }
    column
}

fn counted(outcome: &Outcome, name: &str, at: usize) -> Column {
    let mut column = Column::numbers(&name.replacen('_', "\n", 1).replace('_', " "));
    for subject in &outcome.subjects {
        column.push(subject.counts.get(at).map(exact).unwrap_or_default());
    }
    column
}
