//! ministat's output, byte for byte, from sets read by its input rules.
//!
//! It has ministat's statistics with their defects: sums of squares in one pass, and the upper of
//! two middle values as the median. Quantiles have three digits; beyond 100 degrees of freedom they
//! are normal ones, and those for 99.5 % are the quantiles of 99.8 %. Input for which ministat
//! would crash or print a value that is not a number is refused before the first byte.

use std::cmp::Ordering;
use std::ffi::OsString;
use std::io::{self, Write};

use super::fault::unusable;
use super::general::general;
use super::input::Set;
use super::options::CLASSIC_CONFIDENCES;
use super::picture::{Drawing, Figure, Picture, SYMBOLS, Undrawable};
use crate::error::Error;
use crate::model::result::Summary;
use furlong_stats::distribution::{normal_upper, t_upper};

/// Probability above the quantile, for each of [`CLASSIC_CONFIDENCES`]. The last is ministat's
/// error: it belongs to 99.8 %, not to 99.5 %.
const TAILS: [f64; 6] = [0.1, 0.05, 0.025, 0.01, 0.005, 0.001];

/// Largest number of degrees of freedom with Student's quantiles.
const DF_MAX: usize = 100;

/// Wrong quantiles of ministat's table: its last column, from 7 degrees of freedom on.
const MISPRINTS: [f64; 6] = [4.782, 4.499, 4.296, 4.143, 4.024, 3.929];

/// Parameters of the output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// One of [`CLASSIC_CONFIDENCES`].
    pub confidence: f64,
    /// The picture, unless it is suppressed.
    pub picture: Option<Picture>,
    /// True to compare each set with the first.
    pub tests: bool,
}

/// ministat's statistics of a set.
#[derive(Clone, Copy, Debug)]
struct Vitals {
    summary: Summary,
    variance: f64,
}

impl Vitals {
    /// Sums the values in the order of the file, then sorts them.
    fn of(values: &mut [f64]) -> Self {
        let n = values.len();
        let (sum, squares) = values
            .iter()
            .fold((0.0, 0.0), |(sum, squares), v| (sum + v, squares + v * v));
        // Stable, and the two zeros are equal: their order in the file decides which one is least.
        values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
        let variance = (squares - sum * sum / n as f64) / (n as f64 - 1.0);
        let summary = Summary {
            n,
            min: values[0],
            max: values[n - 1],
            median: values[n / 2],
            mean: sum / n as f64,
            stddev: Some(variance.sqrt()),
            cv_pct: None,
        };
        Self { summary, variance }
    }
}

/// A line of the table: minimum, maximum, median, mean and standard deviation.
pub(crate) fn row(symbol: char, s: &Summary) -> String {
    let figures = [s.min, s.max, s.median, s.mean, s.stddev.unwrap_or(0.0)];
    let [min, max, median, mean, stddev] = figures.map(|v| general(v, 8));
    let n = s.n;
    format!("{symbol} {n:>3} {min:>13} {max:>13} {median:>13} {mean:>13} {stddev:>13}")
}

/// The line above the rows.
pub(crate) const HEADER: &str =
    "    N           Min           Max        Median           Avg        Stddev";

/// ministat's output, ready to write.
#[derive(Debug)]
pub struct Classic {
    names: Vec<OsString>,
    vitals: Vec<Vitals>,
    drawing: Option<Result<Drawing, Undrawable>>,
    comparisons: Vec<String>,
    options: Options,
}

impl Classic {
    /// Computes everything: values that cannot be printed are found before the first byte.
    ///
    /// # Errors
    /// A standard deviation, a percentage or a picture that is not a number, or a range that no
    /// picture can show.
    pub fn new(sets: Vec<Set>, options: Options) -> Result<Self, Error> {
        let (names, mut values): (Vec<_>, Vec<_>) =
            sets.into_iter().map(|s| (s.name, s.values)).unzip();
        let vitals: Vec<Vitals> = values.iter_mut().map(|v| Vitals::of(v)).collect();
        for (name, vitals) in names.iter().zip(&vitals) {
            if vitals.summary.stddev.is_some_and(f64::is_nan) {
                return Err(unusable(
                    name,
                    "ministat's one-pass variance has no square root; without --ministat it is \
                     computed in two passes",
                ));
            }
        }
        let drawing = match options.picture {
            Some(picture) => Some(draw(&picture, &values, &vitals)?),
            None => None,
        };
        let mut comparisons = Vec::new();
        if options.tests {
            for set in &vitals[1..] {
                comparisons.push(compare(&vitals[0], set, options.confidence)?);
            }
        }
        Ok(Self {
            names,
            vitals,
            drawing,
            comparisons,
            options,
        })
    }

    /// Writes it.
    ///
    /// # Errors
    /// An error of `out`.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        for (name, symbol) in self.names.iter().zip(SYMBOLS) {
            write!(out, "{symbol} ")?;
            out.write_all(name.as_encoded_bytes())?;
            writeln!(out)?;
        }
        match (&self.drawing, &self.options.picture) {
            (Some(Ok(drawing)), _) => drawing.write(out)?,
            (Some(Err(why)), Some(picture)) => picture.excuse(*why, out)?,
            _ => {}
        }
        writeln!(out, "{HEADER}")?;
        for (set, (vitals, symbol)) in self.vitals.iter().zip(SYMBOLS).enumerate() {
            writeln!(out, "{}", row(symbol, &vitals.summary))?;
            if let Some(text) = set.checked_sub(1).and_then(|i| self.comparisons.get(i)) {
                out.write_all(text.as_bytes())?;
            }
        }
        out.flush()
    }
}

fn draw(
    picture: &Picture,
    values: &[Vec<f64>],
    vitals: &[Vitals],
) -> Result<Result<Drawing, Undrawable>, Error> {
    let figures: Vec<Figure<'_>> = SYMBOLS
        .into_iter()
        .zip(values.iter().zip(vitals))
        .map(|(symbol, (values, vitals))| Figure {
            symbol,
            values,
            summary: vitals.summary,
        })
        .collect();
    match Drawing::new(picture, &figures) {
        Err(Undrawable::Range) if picture.width == 1 => Err(Error::usage(
            "-w 1: ministat cannot draw a single column; take 2 or more",
        )),
        Err(Undrawable::Range) => Err(Error::usage(
            "ministat cannot draw so wide or narrow a range; leave the picture out with -A",
        )),
        drawn => Ok(drawn),
    }
}

/// The quantile in ministat's table, computed and rounded.
fn quantile(confidence: f64, df: usize) -> f64 {
    let column = CLASSIC_CONFIDENCES.iter().position(|&c| c == confidence);
    // Callers pass one of the six; 95 is ministat's own default.
    let column = column.unwrap_or(2);
    if column == 5
        && let Some(misprint) = df.checked_sub(7).and_then(|i| MISPRINTS.get(i))
    {
        return *misprint;
    }
    let exact = if df > DF_MAX {
        normal_upper(TAILS[column])
    } else {
        t_upper(TAILS[column], df as f64)
    };
    (exact * 1000.0).round() / 1000.0
}

fn compare(base: &Vitals, set: &Vitals, confidence: f64) -> Result<String, Error> {
    let (n, m) = (base.summary.n, set.summary.n);
    let df = n + m - 2;
    let squares = (m - 1) as f64 * set.variance + (n - 1) as f64 * base.variance;
    let pooled = (squares / df as f64).sqrt();
    let error = quantile(confidence, df) * (pooled * (1.0 / m as f64 + 1.0 / n as f64).sqrt());
    let difference = set.summary.mean - base.summary.mean;
    // Not the other way round: NaN must count as no difference.
    let differs = difference.abs() > error;
    if !differs {
        return Ok(format!(
            "No difference proven at {confidence:.1}% confidence\n"
        ));
    }
    let percent = difference * 100.0 / base.summary.mean;
    let percent_error = error * 100.0 / base.summary.mean;
    if percent.is_nan() || percent_error.is_nan() {
        return Err(Error::usage(
            "the first set is all zeros: no difference has a percentage of it; \
             leave --ministat off",
        ));
    }
    let [difference, error, percent, percent_error, pooled] =
        [difference, error, percent, percent_error, pooled].map(|v| general(v, 6));
    Ok(format!(
        "Difference at {confidence:.1}% confidence\n\
         \t{difference} +/- {error}\n\
         \t{percent}% +/- {percent_error}%\n\
         \t(Student's t, pooled s = {pooled})\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::{Classic, Options, quantile};
    use crate::ministat::input::{Set, Skipped};
    use crate::ministat::options::CLASSIC_CONFIDENCES;
    use crate::ministat::picture::Picture;

    fn set(values: &[f64]) -> Set {
        Set {
            name: "f".into(),
            values: values.to_vec(),
            skipped: Skipped::default(),
        }
    }

    fn classic(width: Option<usize>) -> Options {
        Options {
            confidence: 95.0,
            picture: width.map(|width| Picture {
                classic: true,
                separate: false,
                ..Picture::new(width)
            }),
            tests: true,
        }
    }

    fn refusal(sets: &[&[f64]], width: Option<usize>) -> Option<String> {
        let sets = sets.iter().map(|values| set(values)).collect();
        Classic::new(sets, classic(width))
            .err()
            .map(|error| error.message)
    }

    #[test]
    fn quantiles_are_those_that_ministat_was_seen_to_use() {
        let seen = include_str!("../../../furlong-stats/tests/vectors/ministat/quantiles.txt");
        let mut checked = 0;
        for line in seen.lines().filter(|line| !line.starts_with('#')) {
            let numbers: Vec<f64> = line.split(' ').map(|n| n.parse().unwrap()).collect();
            for (confidence, wanted) in CLASSIC_CONFIDENCES.iter().zip(&numbers[1..]) {
                let df = numbers[0] as usize;
                assert_eq!(quantile(*confidence, df), *wanted, "{df} {confidence}");
                checked += 1;
            }
        }
        assert_eq!(checked, 6 * 98);
        assert_eq!(quantile(95.0, 1_000_000), 1.96);
    }

    #[test]
    fn a_negative_one_pass_variance_is_refused() {
        let found = refusal(&[&[1e9, 1_000_000_000.1, 1_000_000_000.2]], None);
        assert!(found.is_some_and(|line| line.starts_with("f: ministat's one-pass variance")));
        assert!(refusal(&[&[1e200, 2e200, 3e200]], None).is_some());
    }

    #[test]
    fn what_ministat_cannot_draw_is_refused() {
        let values: &[f64] = &[1.0, 2.0, 4.0];
        assert!(refusal(&[values], Some(1)).is_some_and(|line| line.starts_with("-w 1: ")));
        assert_eq!(refusal(&[values], Some(0)), None);
        assert_eq!(refusal(&[&[5.0; 3]], Some(1)), None);
    }

    #[test]
    fn per_cents_of_nothing_are_refused() {
        let found = refusal(&[&[0.0; 3], &[1.0; 3]], None);
        assert!(found.is_some_and(|line| line.contains("all zeros")));
        assert_eq!(refusal(&[&[-1.0, 0.0, 1.0], &[5.0, 5.0, 6.0]], None), None);
    }
}
