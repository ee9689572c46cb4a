//! Caveats about a sample or a comparison, in sentences.

use super::comparison::{Comparison, Side};
use super::general::general;
use super::input::Skipped;
use furlong_stats::drift::{lag1, ljung_box_p, mann_kendall, n_effective};
use furlong_stats::outliers::Outliers;
use furlong_stats::rank::least_p;

/// With fewer values, order cannot be told from chance.
const SERIES_MIN: usize = 8;

/// Largest size for the trend test, which compares all pairs.
const SERIES_MAX: usize = 5_000;

/// From this number of values on, outliers are reported as a share.
const MANY: usize = 100;

/// Significance of a note: one false alarm in a hundred unremarkable files is acceptable.
const ALARM_P: f64 = 0.01;

/// A p in the usual notation, without the zero before the point.
pub(crate) fn p_text(p: f64) -> String {
    if p < 1e-4 {
        return general(p, 2);
    }
    let digits = match p {
        p if p < 0.001 => 5,
        p if p < 0.1 => 4,
        _ => 3,
    };
    let text = format!("{p:.digits$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.strip_prefix('0').unwrap_or(text).to_string()
}

/// Notes on one set.
pub(crate) fn on_set(values: &[f64], outliers: Outliers, skipped: Skipped) -> Vec<String> {
    let mut notes = Vec::new();
    if skipped.count > 0 {
        notes.push(format!(
            "{} without the wanted column left out, the first is line {}",
            counted(skipped.count, "line"),
            skipped.first_line
        ));
    }
    if outliers.mild > 0 {
        notes.push(on_outliers(outliers, values.len()));
    }
    notes.extend(on_order(values));
    notes
}

/// Outliers are counted and kept: some of many values are always far out.
fn on_outliers(outliers: Outliers, n: usize) -> String {
    let far = counted(outliers.mild as u64, "value");
    let severe = match outliers.severe {
        0 => String::new(),
        severe => format!(" ({severe} beyond 3)"),
    };
    if n < MANY {
        return format!("{far} beyond 1.5 interquartile ranges{severe}: kept; find the cause");
    }
    let share = 100.0 * outliers.mild as f64 / n as f64;
    format!(
        "{far} beyond 1.5 interquartile ranges{severe}: kept; {} % where a normal distribution \
         has .7 %",
        general(share, 2)
    )
}

fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Signs of drift in the order of the values, if that is the order of measurement.
fn on_order(values: &[f64]) -> Option<String> {
    let varies = values.iter().any(|v| *v != values[0]);
    if values.len() < SERIES_MIN || !varies {
        return None;
    }
    if values.is_sorted() || values.iter().rev().is_sorted() {
        return Some(
            "the values are sorted, which hides any drift; keep the order of the runs".into(),
        );
    }
    let trend = (values.len() <= SERIES_MAX).then(|| mann_kendall(values));
    if let Some(trend) = trend.flatten().filter(|trend| trend.p < ALARM_P) {
        let way = if trend.s > 0.0 { "rise" } else { "fall" };
        return Some(format!(
            "the values {way} along the file (p = {}): if that is the order of the runs, \
             measure both sides in turn",
            p_text(trend.p)
        ));
    }
    let neighbours = lag1(values).filter(|r| *r > 0.0)?;
    ljung_box_p(values, 1).filter(|p| *p < ALARM_P)?;
    Some(format!(
        "neighbouring values are correlated (r = {neighbours:.2}): they are worth about {:.0} \
         independent values",
        n_effective(values.len(), neighbours)
    ))
}

/// Notes on one comparison.
pub(crate) fn on_comparison(
    found: &Comparison,
    base: Side<'_>,
    other: Side<'_>,
    level: f64,
) -> Vec<String> {
    let alpha = 1.0 - level;
    let notes = [
        on_no_variance(found),
        on_few_values(found, base.values.len(), other.values.len(), alpha),
        on_spread(found, alpha),
        on_student(found, alpha),
        on_ranks(found, alpha),
        on_base(found, base.moments.mean),
    ];
    notes.into_iter().flatten().collect()
}

fn on_no_variance(found: &Comparison) -> Option<String> {
    found
        .welch
        .is_none()
        .then(|| "neither set varies: the difference is exact, and no test is needed".to_string())
}

fn on_few_values(found: &Comparison, na: usize, nb: usize, alpha: f64) -> Option<String> {
    let least = found.mann_whitney_least_p;
    if least < alpha {
        return None;
    }
    let enough = (2..).find(|&n| least_p(n, n) < alpha)?;
    Some(format!(
        "cannot reach p < {} with {na} and {nb} values by ranks (at best {}); \
         {enough} and {enough} can",
        p_text(alpha),
        p_text(least)
    ))
}

fn on_spread(found: &Comparison, alpha: f64) -> Option<String> {
    let variance = found.variance.filter(|v| v.p < alpha)?;
    let (less, more) = if variance.ratio > 1.0 {
        (&found.base, &found.name)
    } else {
        (&found.name, &found.base)
    };
    Some(format!(
        "{more} varies more than {less} (p = {}): Student's test assumes equal variances, Welch's \
         does not",
        p_text(variance.p)
    ))
}

fn on_student(found: &Comparison, alpha: f64) -> Option<String> {
    let (welch, student) = (found.welch?.p, found.student_test?.p);
    if (welch < alpha) == (student < alpha) {
        return None;
    }
    Some(format!(
        "Student (p = {}) and Welch (p = {}) disagree; Welch's test is valid with unequal \
         variances too",
        p_text(student),
        p_text(welch)
    ))
}

/// No note if no ranks of this many values could be significant.
fn on_ranks(found: &Comparison, alpha: f64) -> Option<String> {
    let (welch, ranks) = (found.welch?.p, found.mann_whitney.p);
    if (welch < alpha) == (ranks < alpha) || found.mann_whitney_least_p >= alpha {
        return None;
    }
    Some(format!(
        "means (p = {}) and ranks (p = {}) disagree: look at the picture, or measure more",
        p_text(welch),
        p_text(ranks)
    ))
}

fn on_base(found: &Comparison, mean: f64) -> Option<String> {
    if found.ratio_interval.is_none() {
        return Some(format!(
            "the mean of {} is not distinguishable from zero: a ratio to it has no interval",
            found.base
        ));
    }
    (mean < 0.0).then(|| {
        format!(
            "the mean of {} is negative: per cents are of its size, without the sign",
            found.base
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{on_order, p_text};

    #[test]
    fn p_values_lose_their_zero_and_keep_what_matters() {
        for (p, wanted) in [
            (0.05, ".05"),
            (0.047_185, ".0472"),
            (0.5, ".5"),
            (1.0, "1"),
            (0.123_45, ".123"),
            (1.662e-146, "1.7e-146"),
            (0.000_992, ".00099"),
            (0.001_04, ".001"),
            (0.0, "0"),
        ] {
            assert_eq!(p_text(p), wanted);
        }
    }

    #[test]
    fn an_order_that_chance_explains_is_not_mentioned() {
        assert_eq!(on_order(&[3.0, 1.0, 2.0, 5.0, 4.0, 1.5, 3.5, 2.5]), None);
        assert_eq!(on_order(&[1.0, 2.0, 3.0]), None);
        assert_eq!(on_order(&[1.0; 20]), None);
    }

    #[test]
    fn sorted_drifting_and_clinging_values_are_each_called_what_they_are() {
        let sorted: Vec<f64> = (0..10).map(f64::from).collect();
        assert!(
            on_order(&sorted)
                .unwrap()
                .starts_with("the values are sorted")
        );
        let drifting: Vec<f64> = (0..30).map(|i| f64::from(i + i * 7 % 5)).collect();
        assert!(on_order(&drifting).unwrap().contains("rise along"));
        let clinging: Vec<f64> = (0..40).map(|i| (f64::from(i) * 0.4).sin()).collect();
        assert!(
            on_order(&clinging)
                .unwrap()
                .starts_with("neighbouring values")
        );
    }
}
