//! The lines on the terminal.

use std::fmt::Write;

use furlong_stats::value::{Comparison, Verdict, WorkloadResult};

/// A group: a line for each benchmark, with its verdict against the baseline.
pub(crate) fn group(result: &WorkloadResult, metric: &str) -> String {
    let mut page = format!("{}\n", result.name);
    let names = result.arms.iter().map(|arm| arm.name.chars().count());
    let width = names.max().unwrap_or(0);
    for arm in &result.arms {
        let Some(summary) = arm.summary.get(metric) else {
            continue;
        };
        let spread = summary
            .cv_pct
            .map_or_else(String::new, |cv| format!("± {cv:.1} %"));
        let compared = result.comparisons.iter().find(|one| one.arm == arm.name);
        let answer = match compared {
            Some(compared) => sentence(compared),
            None if result.arms.len() > 1 => "baseline".to_owned(),
            None => String::new(),
        };
        let line = format!(
            "  {:<width$}  {:>9}  {spread:<9}  {answer}",
            arm.name,
            time(summary.median)
        );
        let _ = writeln!(page, "{}", line.trim_end());
    }
    for warning in &result.warnings {
        let _ = writeln!(page, "  warning: {warning}");
    }
    page
}

/// "27.0 % faster [26.1, 27.9]".
fn sentence(compared: &Comparison) -> String {
    let effect = compared.effect_pct;
    let direction = if effect < 0.0 { "faster" } else { "slower" };
    let interval = compared.ci_adj_pct.or(compared.ci95_pct);
    let Some([low, high]) = interval else {
        return "too few blocks for an interval".to_owned();
    };
    // The interval in the direction of the effect, the end nearer to zero first.
    let ends = if effect < 0.0 {
        (-high, -low)
    } else {
        (low, high)
    };
    let figure = format!(
        "{:.1} % {direction} [{:.1}, {:.1}]",
        effect.abs(),
        ends.0,
        ends.1
    );
    match compared.verdict {
        Verdict::Keep | Verdict::Revert => figure,
        Verdict::Equivalent => {
            let margin = compared.margin_pct;
            format!("the same within {margin} % [{:.1}, {:.1}]", ends.0, ends.1)
        }
        Verdict::Inconclusive if compared.direction.is_some() => format!(
            "{direction}, by {:.1} to {:.1} %; whether by more than {} % is open",
            ends.0, ends.1, compared.margin_pct
        ),
        Verdict::Inconclusive => format!("cannot tell: {figure}"),
    }
}

/// Nanoseconds with a unit that suits them.
fn time(ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    let found = units.iter().find(|(size, _)| ns >= *size);
    let (size, unit) = *found.unwrap_or(&(1.0, "ns"));
    let value = ns / size;
    let decimals = match value {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

/// Seconds since 1970 as RFC 3339, in UTC. The days are counted from 1 March 2000 in eras of 400
/// years, so that the leap day is the last of its year.
pub(crate) fn date(seconds: u64) -> String {
    const DAY: u64 = 86_400;
    const ERA: u64 = 146_097;
    let (days, second) = (seconds / DAY + 719_468, seconds % DAY);
    let (era, day_of_era) = (days / ERA, days % ERA);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}+00:00",
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use furlong_stats::judge;
    use furlong_stats::value::{Better, Kind, Metric, WorkloadResult};

    use super::{date, group, time};

    /// The lines on a group whose arms take so many nanoseconds, each eight times with a spread of
    /// `spread` per cent.
    fn lines(arms: &[(&str, f64)], spread: f64) -> Vec<String> {
        let values = |ns: f64, turn: usize| -> Vec<Option<f64>> {
            let off = |at: usize| ((at * 5 + turn * 3) % 8) as f64 / 3.5 - 1.0;
            (0..8)
                .map(|at| Some(ns * (1.0 + off(at) * spread / 100.0)))
                .collect()
        };
        let metric = Metric {
            unit: "ns".to_owned(),
            better: Better::Lower,
            kind: Kind::Sampled,
            primary: true,
            margin_pct: Some(1.0),
            about: String::new(),
        };
        let control = values(arms[0].1, 7);
        let arms = arms.iter().enumerate();
        let arms = arms.map(|(turn, (name, ns))| (*name, values(*ns, turn)));
        let mut result = WorkloadResult::sampled("group", "time", arms, control);
        let metrics = BTreeMap::from([("time".to_owned(), metric)]);
        judge(&mut result, &metrics, &["time".to_owned()], None);
        let page = group(&result, "time");
        page.lines().map(str::to_owned).collect()
    }

    #[test]
    fn each_line_says_which_is_faster_and_how_sure_that_is() {
        let arms = [
            ("old", 100.0),
            ("half", 50.0),
            ("twice", 200.0),
            ("alike", 100.0),
        ];
        let said = lines(&arms, 0.1);
        assert_eq!(said[0], "group");
        assert!(
            said[1].starts_with("  old") && said[1].ends_with("baseline"),
            "{said:?}"
        );
        assert!(said[2].contains("50.0 % faster [50.0, 50.0]"), "{said:?}");
        assert!(
            said[3].contains("% slower [") && !said[3].contains("cannot"),
            "{said:?}"
        );
        assert!(
            said[4].contains("the same within 1 % [-0.1, 0.1]"),
            "{said:?}"
        );
    }

    #[test]
    fn an_open_size_is_told_with_its_direction() {
        let said = lines(&[("old", 100.0), ("new", 101.1), ("less", 98.9)], 0.4);
        for (line, word) in said[2..].iter().zip(["slower", "faster"]) {
            assert!(line.contains(&format!("{word}, by 0.")), "{line}");
            assert!(
                line.ends_with("%; whether by more than 1 % is open"),
                "{line}"
            );
        }
    }

    #[test]
    fn a_noisy_group_cannot_tell() {
        let said = lines(&[("old", 100.0), ("new", 101.0)], 30.0);
        assert!(said[2].contains("cannot tell: "), "{said:?}");
    }

    #[test]
    fn a_benchmark_alone_is_compared_with_nothing() {
        let said = lines(&[("old", 1500.0)], 0.1);
        assert!(
            said[1].contains("1.50 µs") && !said[1].contains("baseline"),
            "{said:?}"
        );
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01T00:00:00+00:00");
        assert_eq!(date(951_782_400), "2000-02-29T00:00:00+00:00");
        assert_eq!(date(1_709_251_199), "2024-02-29T23:59:59+00:00");
        assert_eq!(date(4_107_542_400), "2100-03-01T00:00:00+00:00");
    }

    #[test]
    fn times_have_three_digits_and_a_unit() {
        assert_eq!(time(0.5), "0.50 ns");
        assert_eq!(time(12.34), "12.3 ns");
        assert_eq!(time(1_234.0), "1.23 µs");
        assert_eq!(time(5e9), "5.00 s");
    }
}
