//! The result of a prescription as text for people.

use std::fmt::Write as _;

use super::Forecast;
use super::outcome::{Outcome, amount};
use furlong_lab::report::terminal::Style;
use furlong_lab::report::terminal::columns::{Column, table};
use furlong_lab::report::text::{fold, plain};

/// Maximum number of candidates that are shown.
const ROWS: usize = 10;

/// Shares of the given bytes that are worth a line, in percent.
const WASTE_PCT: f64 = 10.0;

/// The command, a row for each of the best candidates and the present one, and the advice.
#[must_use]
pub fn page(outcome: &Outcome, style: &Style) -> String {
    let described = fold(&outcome.described, style.width, 0);
    let mut page = format!("{}\n{described}\n\n", plain(&outcome.command));
    let rows = rows(outcome);
    page.push_str(&table(&columns(&rows), style.width, style.colour));
    page.push('\n');
    let hidden = outcome.candidates.len() - rows.len();
    if hidden > 0 {
        let _ = writeln!(page, "{hidden} more in --json\n");
    }
    for one in &outcome.candidates {
        for (what, why) in [("n/a", &one.na), ("live: n/a", &one.live_na)] {
            if let Some(why) = why {
                let _ = writeln!(page, "{}: {what}: {}", one.name, plain(why));
            }
        }
    }
    if let Some(waste) = waste(outcome) {
        let _ = writeln!(page, "{}", fold(&waste, style.width, 0));
    }
    page.push_str(&fold(&outcome.choice.sentence, style.width, 0));
    page.push('\n');
    page
}

/// The candidates to show: the present one, the chosen one, and those with the smallest peaks.
fn rows(outcome: &Outcome) -> Vec<&Forecast> {
    let able = outcome.candidates.iter().filter(|one| one.na.is_none());
    let (mut rows, mut rest) = (vec![], ROWS);
    for one in able {
        let is_named = one.name == outcome.present || one.name == outcome.choice.name;
        if is_named || rest > 2 {
            rows.push(one);
            rest -= usize::from(!is_named);
        }
    }
    rows
}

fn columns(rows: &[&Forecast]) -> Vec<Column> {
    let mut columns = vec![Column::words("allocator and setting")];
    for one in rows {
        columns[0].push(one.name.as_str());
    }
    let mut numbers = |heading: &str, of: &dyn Fn(&Forecast) -> String| {
        let mut column = Column::numbers(heading);
        rows.iter().for_each(|one| column.push(of(one)));
        columns.push(column);
    };
    numbers("peak\nMiB", &|one| mib(one.peak_kib));
    if rows.iter().any(|one| one.live_peak_kib.is_some()) {
        numbers("live\nMiB", &|one| {
            one.live_peak_kib.map(mib).unwrap_or_default()
        });
        numbers("error\n%", &|one| {
            let error = one.error_pct().map(|error| format!("{error:+.1}"));
            error.unwrap_or_default()
        });
    }
    numbers("at end\nMiB", &|one| mib(one.end_kib));
    numbers("calls\nms", &|one| format!("{:.1}", one.calls_ms));
    columns
}

fn mib(kib: u64) -> String {
    format!("{:.1}", kib as f64 / 1024.0)
}

/// The size class in which the present allocator gives the most bytes that nobody requested.
fn waste(outcome: &Outcome) -> Option<String> {
    let mut all = outcome.candidates.iter();
    let present = all.find(|one| one.name == outcome.present)?;
    let wasted = |class: &super::forecast::SizeClass| {
        let given = class.given_bytes?;
        Some((given.checked_sub(class.requested_bytes)?, *class))
    };
    let worst = present.classes.iter().filter_map(wasted);
    let (bytes, class) = worst.max_by_key(|(bytes, _)| *bytes)?;
    let given = class.given_bytes?;
    let pct = bytes as f64 / given as f64 * 100.0;
    (pct >= WASTE_PCT && bytes >> 10 > 0).then(|| {
        format!(
            "At the peak {} rounds {} blocks of at most {} bytes up by {} ({pct:.0} %).",
            present.name,
            class.blocks,
            class.size_max_bytes,
            amount(bytes >> 10)
        )
    })
}
