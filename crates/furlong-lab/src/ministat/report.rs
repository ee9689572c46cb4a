//! The report of `furlong stat` on its files, as data and as text.

use std::io::{self, Write};

use serde::Serialize;

use super::classic::{self, HEADER};
use super::comparison::{Comparison, Pairs, Side, Test, compare_all};
use super::fault::{shown, unusable};
use super::general::general;
use super::input::{Set, Skipped};
use super::picture::{Figure, Picture, SYMBOLS, overlap_symbol};
use super::remark::{on_set, p_text};
use crate::error::Error;
use crate::model::result::{Student, Summary, TTest, VarianceTest};
use furlong_stats::outliers::outliers;
use furlong_stats::{Moments, describe};

/// The output of `furlong stat` as data.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "schema", rename = "furlong.stat/1")]
pub struct Report {
    /// Confidence of every interval, in per cent.
    pub confidence_pct: f64,
    /// The files, the base first.
    pub sets: Vec<Described>,
    /// Each of the others against the base; empty if only the summary is requested.
    pub comparisons: Vec<Comparison>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Described {
    /// As given; `<stdin>` for standard input.
    pub name: String,
    /// Its symbol in the picture.
    pub symbol: char,
    /// Number, range, median, mean, deviation.
    #[serde(flatten)]
    pub summary: Summary,
    /// Values beyond 1.5 interquartile ranges from the quartiles.
    pub outliers: usize,
    /// Values beyond 3.
    pub outliers_severe: usize,
    /// Lines without the wanted column.
    pub lines_skipped: u64,
    /// Caveats.
    pub notes: Vec<String>,
}

impl Report {
    /// Describes the sets and, if a test is requested, compares each with the first.
    ///
    /// # Errors
    /// The first set with a variance that is infinite or underflows.
    pub fn new(sets: &[Set], confidence_pct: f64, test: Option<Test>) -> Result<Self, Error> {
        let described: Vec<Described> = sets
            .iter()
            .zip(SYMBOLS)
            .map(|(set, symbol)| {
                let name = shown(set.name.as_encoded_bytes());
                let refuse = |why| Err(unusable(&set.name, why));
                match describe_set(&name, symbol, &set.values, set.skipped) {
                    None => refuse("the variance of such large values overflows; scale them down"),
                    Some(set) if is_lost(&set.summary) => {
                        refuse("the variance of such small values underflows; scale them up")
                    }
                    Some(set) => Ok(set),
                }
            })
            .collect::<Result<_, _>>()?;
        let sides: Vec<Side<'_>> = sets
            .iter()
            .zip(&described)
            .filter_map(|(set, d)| {
                Some(Side {
                    name: &d.name,
                    values: &set.values,
                    moments: Moments::of(&set.values)?,
                })
            })
            .collect();
        let comparisons = test.map_or_else(Vec::new, |test| {
            compare_all(&sides, confidence_pct / 100.0, test)
        });
        Ok(Self {
            confidence_pct,
            sets: described,
            comparisons,
        })
    }

    /// Writes the report for people.
    ///
    /// # Errors
    /// An error of `out`.
    pub fn write(
        &self,
        sets: &[Set],
        picture: Option<&Picture>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        for set in &self.sets {
            writeln!(out, "{} {}", set.symbol, set.name)?;
        }
        if let Some(picture) = picture {
            self.draw(sets, picture, out)?;
        }
        writeln!(out, "{HEADER}")?;
        for set in &self.sets {
            writeln!(out, "{}", classic::row(set.symbol, &set.summary))?;
        }
        for set in &self.sets {
            for note in &set.notes {
                writeln!(out, "  {} {}: {note}", set.symbol, set.name)?;
            }
        }
        for (comparison, set) in self.comparisons.iter().zip(&self.sets[1..]) {
            writeln!(out)?;
            self.write_comparison(comparison, set.symbol, out)?;
        }
        out.flush()
    }

    fn draw(&self, sets: &[Set], picture: &Picture, out: &mut impl Write) -> io::Result<()> {
        if sets.len() > 1 {
            let both = if sets.len() == 2 { "both" } else { "several" };
            let symbols = self.sets.iter().map(|set| set.symbol);
            writeln!(out, "{} {both}", overlap_symbol(symbols))?;
        }
        let figures: Vec<Figure<'_>> = sets
            .iter()
            .zip(&self.sets)
            .map(|(set, described)| Figure {
                symbol: described.symbol,
                values: &set.values,
                summary: described.summary,
            })
            .collect();
        picture.write(&figures, out)
    }

    fn write_comparison(
        &self,
        c: &Comparison,
        symbol: char,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let (name, base, first) = (&c.name, &c.base, SYMBOLS[0]);
        let headline = headline(c, self.confidence_pct);
        writeln!(out, "{symbol} {name} against {first} {base}: {headline}")?;
        for (label, text) in lines(c) {
            writeln!(out, "    {label:<15} {text}")?;
        }
        for note in &c.notes {
            writeln!(out, "  note: {note}")?;
        }
        Ok(())
    }
}

/// True if values differ but their deviation is 0.
fn is_lost(summary: &Summary) -> bool {
    summary.min < summary.max && summary.stddev == Some(0.0)
}

fn describe_set(name: &str, symbol: char, values: &[f64], skipped: Skipped) -> Option<Described> {
    let far = outliers(values);
    Some(Described {
        name: name.to_string(),
        symbol,
        summary: describe(values)?,
        outliers: far.mild,
        outliers_severe: far.severe,
        lines_skipped: skipped.count,
        notes: on_set(values, far, skipped),
    })
}

/// The comparison in one line: the direction and the size with its interval, or that no difference
/// is proven, with the interval of the possible ones.
fn headline(c: &Comparison, confidence: f64) -> String {
    let confidence = general(confidence, 6);
    let (value, interval, unit) = change(c);
    let by = match c.test {
        Test::Welch => String::new(),
        test => format!(" by {}", test.name()),
    };
    let p = match (c.p, c.p_adjusted) {
        (None, _) => return format!("{}, without any variance", amount(value, unit)),
        (Some(p), None) => format!("p = {}{by}", p_text(p)),
        (Some(p), Some(adjusted)) => {
            format!("p = {}{by}, {} by Holm", p_text(p), p_text(adjusted))
        }
    };
    let range = match interval {
        Some(interval) => format!("{confidence} %: {}", range(interval, unit)),
        None => "too few values for an interval".to_owned(),
    };
    if c.different {
        format!("{} ({range}), {p}", amount(value, unit))
    } else {
        format!("no difference proven ({range}), {p}")
    }
}

/// The value that the deciding test is about, with its interval and unit.
fn change(c: &Comparison) -> (f64, Option<[f64; 2]>, &'static str) {
    let absolute = (c.difference, Some(c.difference_interval), "");
    match c.test {
        Test::Welch => match (c.difference_pct, c.difference_pct_interval) {
            (Some(value), Some(interval)) => (value, Some(interval), " %"),
            _ => absolute,
        },
        Test::Student => c.student.map_or(absolute, |s| {
            let (value, half) = (s.difference, s.plus_minus);
            (value, Some([value - half, value + half]), "")
        }),
        Test::MannWhitney => (c.shift.unwrap_or(c.difference), c.shift_interval, ""),
        Test::Paired => c.pairs.map_or(absolute, |pairs| {
            (pairs.change_pct, Some(pairs.interval), " %")
        }),
    }
}

fn amount(value: f64, unit: &str) -> String {
    let size = general(value.abs(), 3);
    match value {
        0.0 => "no difference".to_string(),
        v if v < 0.0 => format!("{size}{unit} less"),
        _ => format!("{size}{unit} more"),
    }
}

fn range([low, high]: [f64; 2], unit: &str) -> String {
    let size = |v: f64| general(v.abs(), 3);
    if low > 0.0 {
        format!("{} to {}{unit} more", size(low), size(high))
    } else if high < 0.0 {
        format!("{} to {}{unit} less", size(high), size(low))
    } else {
        format!("{}{unit} less to {}{unit} more", size(low), size(high))
    }
}

/// The tests, one line each.
fn lines(c: &Comparison) -> Vec<(&'static str, String)> {
    let how = if c.mann_whitney_exact {
        "exact"
    } else {
        "asymptotic"
    };
    let (u, p) = (six(c.mann_whitney.u), p_text(c.mann_whitney.p));
    [
        c.pairs.map(|pairs| ("pairs", pairs_line(&pairs))),
        Some(("difference", difference_line(c))),
        c.ratio
            .map(|ratio| ("ratio of means", ratio_line(ratio, c.ratio_interval))),
        c.student
            .map(|s| ("Student", student_line(&s, c.student_test))),
        Some(("Mann-Whitney", format!("U = {u}, p = {p} ({how})"))),
        c.shift
            .map(|shift| ("Hodges-Lehmann", shift_line(shift, c.shift_interval))),
        c.variance.map(|v| ("stddev", variance_line(&v))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn six(v: f64) -> String {
    general(v, 6)
}

fn bounds(interval: Option<[f64; 2]>, otherwise: &str) -> String {
    match interval {
        Some([low, high]) => format!("[{}, {}]", six(low), six(high)),
        None => format!("(no interval: {otherwise})"),
    }
}

fn difference_line(c: &Comparison) -> String {
    let test = match c.welch {
        Some(welch) => {
            let (t, df) = (general(welch.t, 5), general(welch.df, 5));
            format!("t = {t}, df = {df}, p = {}", p_text(welch.p))
        }
        None => "no test without variance".to_string(),
    };
    let interval = bounds(Some(c.difference_interval), "");
    format!("{} {interval}  Welch {test}", six(c.difference))
}

fn pairs_line(pairs: &Pairs) -> String {
    let [low, high] = pairs.interval.map(six);
    let what = if pairs.of_ratios {
        "ratios of pairs"
    } else {
        "differences of pairs over the base's mean"
    };
    let test = pairs.t_test.map_or_else(String::new, |test| {
        let (t, p) = (general(test.t, 5), p_text(test.p));
        format!(", t = {t}, df = {}, p = {p}", six(test.df))
    });
    let flips = p_text(pairs.sign_flip_p);
    let change = six(pairs.change_pct);
    format!("{change}% [{low}%, {high}%]  {what}{test}, sign-flip p = {flips}")
}

fn ratio_line(ratio: f64, interval: Option<[f64; 2]>) -> String {
    format!(
        "{} {}  Fieller",
        six(ratio),
        bounds(interval, "its base may be zero")
    )
}

fn student_line(s: &Student, test: Option<TTest>) -> String {
    let p = test.map_or_else(String::new, |test| format!(", p = {}", p_text(test.p)));
    let change = format!("{} +/- {}", six(s.difference), six(s.plus_minus));
    let change_pct = format!("{}% +/- {}%", six(s.difference_pct), six(s.plus_minus_pct));
    format!("{change}, {change_pct}, pooled s = {}{p}", six(s.pooled_s))
}

fn shift_line(shift: f64, interval: Option<[f64; 2]>) -> String {
    format!(
        "{} {}  median of all differences",
        six(shift),
        bounds(interval, "too few values")
    )
}

fn variance_line(v: &VarianceTest) -> String {
    format!(
        "{} times, p = {} (Brown-Forsythe)",
        six(v.ratio.sqrt()),
        p_text(v.p)
    )
}
