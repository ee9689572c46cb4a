//! A metric that a command prints and a regular expression finds.

use regex::bytes::{Regex, RegexBuilder};

use crate::model::MetricPlan;
use crate::model::result::{Better, Kind};

/// The smallest difference that matters, per cent.
const MARGIN_PCT: f64 = 1.0;

/// A metric as the user declares it.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Printed {
    /// Regular expression that finds it in the command's output.
    pub regex: String,
    /// Unit.
    pub unit: String,
    /// The direction of improvement.
    pub better: Better,
}

/// A metric with its compiled expression.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
    /// The capture group that holds the number.
    group: usize,
    /// The metric in the record.
    pub metric: MetricPlan,
}

impl Pattern {
    /// Compiles a metric. Its name is that of its group (`(?<mib_per_s>..)`), else `value`. The
    /// number is that group, else the first group, else the whole match.
    ///
    /// # Errors
    ///
    /// The reason why the expression is invalid, in one line.
    pub fn new(printed: &Printed) -> Result<Self, String> {
        let text = &printed.regex;
        let regex = RegexBuilder::new(text).multi_line(true).build();
        let regex = regex.map_err(|error| {
            let whole = error.to_string();
            // The last line holds the message; the lines before it draw the place.
            let last = whole.lines().last().unwrap_or_default();
            let last = last.trim_start_matches("error: ");
            format!("--metric `{text}` is not a regular expression: {last}")
        })?;
        let named = regex.capture_names().enumerate();
        let named = named.filter_map(|(group, name)| Some((group, name?.to_owned())));
        let first = regex.captures_len().min(2) - 1;
        let (group, name) = named.min().unwrap_or((first, "value".to_owned()));
        let about = format!("the match of `{text}` in the output");
        Ok(Self {
            regex,
            group,
            metric: MetricPlan {
                better: printed.better,
                ..MetricPlan::new(&name, &printed.unit, Kind::Sampled, MARGIN_PCT, &about)
            },
        })
    }

    /// Returns the failure of a command whose output does not have the figure.
    pub(super) fn without_match(&self) -> String {
        format!("its output has no match of --metric `{}`", self.regex)
    }

    /// Returns the number of the last match; `None` if nothing matches.
    ///
    /// # Errors
    ///
    /// The last match is not a finite number.
    pub fn find(&self, output: &[u8]) -> Result<Option<f64>, String> {
        let Some(last) = self.regex.captures_iter(output).last() else {
            return Ok(None);
        };
        let bytes = match last.get(self.group) {
            Some(found) => found.as_bytes(),
            None => b"",
        };
        let text = String::from_utf8_lossy(bytes);
        let number = text.trim().parse::<f64>().ok();
        match number.filter(|value| value.is_finite()) {
            Some(value) => Ok(Some(value)),
            None => Err(format!(
                "`{}` is not a number: --metric must match a number",
                text.escape_debug().take(40).collect::<String>()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Pattern, Printed};
    use crate::model::result::Better;

    fn pattern(regex: &str) -> Result<Pattern, String> {
        Pattern::new(&Printed {
            regex: regex.to_owned(),
            unit: "MiB/s".to_owned(),
            better: Better::Higher,
        })
    }

    fn found(regex: &str, output: &str) -> Result<Option<f64>, String> {
        pattern(regex).unwrap().find(output.as_bytes())
    }

    #[test]
    fn the_number_is_the_named_group_or_the_first_or_the_whole_match() {
        let output = "run 7: bw=12.5 MiB/s\nrun 8: bw=13e0 MiB/s\n";
        assert_eq!(found(r"bw=(\S+)", output), Ok(Some(13.0)));
        assert_eq!(found(r"run (\d+): bw=(?<bw>\S+)", output), Ok(Some(13.0)));
        assert_eq!(found("[0-9]+", "a 42 b"), Ok(Some(42.0)));
        assert_eq!(found(r"^run (\d)", output), Ok(Some(8.0)));
        assert_eq!(found("iops=(.*)", output), Ok(None));
        let named = pattern(r"(\d+)(?<mib_per_s>\d)").unwrap().metric;
        assert_eq!((&named.name[..], &named.unit[..]), ("mib_per_s", "MiB/s"));
        assert_eq!(pattern(r"\d").unwrap().metric.name, "value");
    }

    #[test]
    fn what_is_no_number_is_said() {
        let said = found("bw=(.*)", "bw=fast\u{7}").expect_err("not a number");
        assert_eq!(
            said,
            "`fast\\u{7}` is not a number: --metric must match a number"
        );
        assert!(found("bw=(.*)", "bw=inf").is_err());
        assert!(found("(x)?y", "y").is_err());
    }

    #[test]
    fn a_bad_expression_is_one_line() {
        let said = pattern("bw=(").expect_err("unclosed");
        assert_eq!(
            said,
            "--metric `bw=(` is not a regular expression: unclosed group"
        );
    }
}
