//! A metric that a command prints: a regular expression finds it.
#![forbid(unsafe_code)]

use regex::bytes::{Regex, RegexBuilder};

use crate::model::MetricPlan;
use crate::model::result::{Better, Kind};

/// What a difference must exceed to matter, per cent.
const MARGIN_PCT: f64 = 1.0;

/// What a user says of a metric.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Printed {
    /// Finds it in what the command prints.
    pub regex: String,
    /// Its unit.
    pub unit: String,
    /// Which way is good.
    pub better: Better,
}

/// A metric, ready to be looked for.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
    /// Which part of a match is the number.
    group: usize,
    /// How the record calls it.
    pub metric: MetricPlan,
}

impl Pattern {
    /// Makes a metric ready. It is called as its group is (`(?<mib_per_s>..)`), else `value`; the
    /// number is that group, else the first one, else the whole match.
    ///
    /// # Errors
    ///
    /// Why the expression is none, in one line.
    pub fn new(printed: &Printed) -> Result<Self, String> {
        let text = &printed.regex;
        let regex = RegexBuilder::new(text).multi_line(true).build();
        let regex = regex.map_err(|error| {
            let whole = error.to_string();
            // The last line says what is wrong; those before it draw where.
            let last = whole.lines().last().unwrap_or_default();
            let last = last.trim_start_matches("error: ");
            format!("--metric `{text}` is no regular expression: {last}")
        })?;
        let named = regex.capture_names().enumerate();
        let named = named.filter_map(|(group, name)| Some((group, name?.to_owned())));
        let first = regex.captures_len().min(2) - 1;
        let (group, name) = named.min().unwrap_or((first, "value".to_owned()));
        Ok(Self {
            regex,
            group,
            metric: MetricPlan {
                name,
                unit: printed.unit.clone(),
                better: printed.better,
                kind: Kind::Sampled,
                margin_pct: MARGIN_PCT,
                about: format!("what `{text}` finds in the output"),
            },
        })
    }

    /// The number of the last match; `None` where nothing matches.
    ///
    /// # Errors
    ///
    /// The last match is no finite number.
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
                "`{}` is no number: what --metric finds must be one",
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
        pattern(regex)
            .expect("an expression")
            .find(output.as_bytes())
    }

    #[test]
    fn the_number_is_the_named_group_or_the_first_or_the_whole_match() {
        let output = "run 7: bw=12.5 MiB/s\nrun 8: bw=13e0 MiB/s\n";
        assert_eq!(found(r"bw=(\S+)", output), Ok(Some(13.0)));
        assert_eq!(found(r"run (\d+): bw=(?<bw>\S+)", output), Ok(Some(13.0)));
        assert_eq!(found("[0-9]+", "a 42 b"), Ok(Some(42.0)));
        assert_eq!(found(r"^run (\d)", output), Ok(Some(8.0)));
        assert_eq!(found("iops=(.*)", output), Ok(None));
        let named = pattern(r"(\d+)(?<mib_per_s>\d)")
            .expect("an expression")
            .metric;
        assert_eq!((&named.name[..], &named.unit[..]), ("mib_per_s", "MiB/s"));
        assert_eq!(pattern(r"\d").expect("an expression").metric.name, "value");
    }

    #[test]
    fn what_is_no_number_is_said() {
        let said = found("bw=(.*)", "bw=fast\u{7}").expect_err("no number");
        assert_eq!(
            said,
            "`fast\\u{7}` is no number: what --metric finds must be one"
        );
        assert!(found("bw=(.*)", "bw=inf").is_err());
        assert!(found("(x)?y", "y").is_err());
    }

    #[test]
    fn a_bad_expression_is_one_line() {
        let said = pattern("bw=(").expect_err("unclosed");
        assert_eq!(
            said,
            "--metric `bw=(` is no regular expression: unclosed group"
        );
    }
}
