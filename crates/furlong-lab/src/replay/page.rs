//! A replay as a person reads it.
#![forbid(unsafe_code)]

use std::fmt::Write as _;

use super::outcome::{Outcome, SubjectOutcome};
use crate::report::terminal::Style;
use crate::report::terminal::columns::{Column, table};
use crate::report::text::plain;

/// Times above this are shown as microseconds.
const NS_MAX: f64 = 10_000.0;

/// What was run, a row for each subject, and a line for each that has more to say.
#[must_use]
pub fn page(outcome: &Outcome, style: &Style) -> String {
    let mut page = format!(
        "{}: {}\n{}\n\n",
        plain(&outcome.trace),
        outcome.form,
        outcome.described
    );
    page.push_str(&table(&columns(outcome), style.width, style.colour));
    page.push('\n');
    for subject in &outcome.subjects {
        let name = &subject.name;
        if let Some(why) = &subject.na {
            let _ = writeln!(page, "{name}: n/a: {why}");
        }
        if let Some(first) = &subject.first_wrong {
            let _ = writeln!(page, "{name}: WRONG: {first}");
        }
    }
    let answers = outcome.subjects.iter().map(|subject| subject.answers);
    let _ = writeln!(
        page,
        "\n{} answers held against the specification, {} wrong. Times are of this one run, lookups \
         with\ntheir memory warm: they show what the trace does; `furlong run` measures.",
        answers.sum::<u64>(),
        outcome.wrong()
    );
    page
}

fn columns(outcome: &Outcome) -> Vec<Column> {
    let mut names = Column::words("subject");
    for subject in &outcome.subjects {
        names.push(subject.name.as_str());
    }
    let able = outcome.subjects.iter().find(|subject| subject.na.is_none());
    let mut columns = vec![names];
    if let Some(able) = able {
        let kinds = able.kinds.iter().enumerate();
        // What is done once is no mean; programs can read it.
        let often = kinds.filter(|(_, kind)| kind.operations > 1);
        columns.extend(often.map(|(at, kind)| times(outcome, kind.name, at)));
        let counts = able.counts.iter().enumerate();
        columns.extend(counts.map(|(at, count)| counted(outcome, count.name, at)));
    }
    let mut wrong = Column::numbers("wrong");
    for subject in &outcome.subjects {
        wrong.push(match subject.na {
            Some(_) => "n/a".to_owned(),
            None => subject.wrong.to_string(),
        });
    }
    columns.push(wrong);
    columns
}

/// The times of one kind of operation, in one unit.
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
        let text = subject.counts.get(at).map(|count| {
            let digits = if count.value.fract() == 0.0 { 0 } else { 2 };
            format!("{:.digits$}", count.value)
        });
        column.push(text.unwrap_or_default());
    }
    column
}
