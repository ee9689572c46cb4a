//! The command line of a benchmark.

use std::path::PathBuf;

pub(crate) const HELP: &str = "\
Usage: cargo bench --bench NAME -- [FILTER].. [OPTION]..

Runs the groups whose name contains a FILTER, or all.

  --blocks N      blocks of each group; a verdict needs 6 [default: 12]
  --time SECONDS  timed stretch of a sample [default: 0.1]
  --margin PCT    a difference within this does not matter [default: 1]
  --seed S        decides every order and every input [default: 1]
  --json FILE     write the result there (furlong.result/1)
  --list          list the benchmarks
  --test          run each benchmark once, as `cargo test --benches`

`furlong import FILE` takes a result into the history.";

/// The options of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Options {
    pub mode: Mode,
    pub filters: Vec<String>,
    pub blocks: u32,
    pub time_s: f64,
    pub margin_pct: f64,
    pub seed: u64,
    pub json: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mode {
    Measure,
    Test,
    List,
    Help,
}

impl Options {
    /// Reads the arguments after the program's name. Without `--bench`, which cargo adds for
    /// `cargo bench`, benchmarks only run once.
    ///
    /// # Errors
    /// An unknown or incomplete option, in one line.
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            mode: Mode::Test,
            filters: vec![],
            blocks: 12,
            time_s: 0.1,
            margin_pct: 1.0,
            seed: 1,
            json: None,
        };
        let mut words = words.peekable();
        let mut wanted = None;
        while let Some(word) = words.next() {
            let (name, mut given) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => {
                    (name.to_owned(), Some(value.to_owned()))
                }
                _ => (word, None),
            };
            let mut value = |what: &str| {
                let value = given.take().or_else(|| words.next());
                value.ok_or_else(|| format!("{name} needs {what}"))
            };
            match name.as_str() {
                "--bench" => options.mode = Mode::Measure,
                "--test" => wanted = Some(Mode::Test),
                "--list" => wanted = Some(Mode::List),
                "--help" | "-h" => wanted = Some(Mode::Help),
                // Options of the standard test harness that cargo or an editor may pass on.
                "--nocapture" | "--quiet" | "-q" | "--exact" | "--show-output" => {}
                "--blocks" => options.blocks = number(&name, &value("a number")?, |n| *n >= 1)?,
                "--time" => {
                    let seconds = value("a number of seconds")?;
                    options.time_s = number(&name, &seconds, |s: &f64| *s > 0.0 && s.is_finite())?;
                }
                "--margin" => {
                    let percent = value("a number of per cent")?;
                    options.margin_pct = number(&name, &percent, |p| (0.0..=1000.0).contains(p))?;
                }
                "--seed" => options.seed = number(&name, &value("a number")?, |_| true)?,
                "--json" => options.json = Some(value("a file")?.into()),
                flag if flag.starts_with('-') => {
                    return Err(format!("unknown option {flag}; --help lists the options"));
                }
                filter => options.filters.push(filter.to_owned()),
            }
        }
        options.mode = wanted.unwrap_or(options.mode);
        Ok(options)
    }
}

fn number<T: std::str::FromStr>(
    name: &str,
    text: &str,
    allowed: impl Fn(&T) -> bool,
) -> Result<T, String> {
    let value = text.parse().ok().filter(allowed);
    value.ok_or_else(|| format!("{name}: {text:?} is no number in its range"))
}

#[cfg(test)]
mod tests {
    use super::{Mode, Options};

    fn parsed(words: &[&str]) -> Result<Options, String> {
        Options::parse(words.iter().map(ToString::to_string))
    }

    #[test]
    fn cargo_bench_measures_and_cargo_test_runs_once() {
        assert_eq!(parsed(&["--bench"]).unwrap().mode, Mode::Measure);
        assert_eq!(parsed(&[]).unwrap().mode, Mode::Test);
        assert_eq!(parsed(&["--nocapture", "sort"]).unwrap().filters, ["sort"]);
        assert_eq!(parsed(&["--bench", "--list"]).unwrap().mode, Mode::List);
    }

    #[test]
    fn values_come_after_a_blank_or_an_equals_sign() {
        let options = parsed(&["--blocks", "20", "--time=0.5", "--margin=0", "--seed", "7"]);
        let options = options.unwrap();
        assert_eq!((options.blocks, options.seed), (20, 7));
        assert_eq!((options.time_s, options.margin_pct), (0.5, 0.0));
    }

    #[test]
    fn a_wrong_option_is_refused_with_its_name() {
        for (words, part) in [
            (&["--blok", "3"][..], "--blok"),
            (&["--blocks"], "--blocks needs"),
            (&["--blocks", "0"], "\"0\""),
            (&["--time", "nan"], "--time"),
            (&["--margin", "-1"], "--margin"),
        ] {
            let said = parsed(words).unwrap_err();
            assert!(said.contains(part), "{said}");
        }
    }
}
