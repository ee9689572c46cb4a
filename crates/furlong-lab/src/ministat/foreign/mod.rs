//! Other tools' output as sets of values: hyperfine's JSON, lines of Go's benchmarks, criterion's
//! samples, and the output of `perf stat` as text, CSV or JSON.
//!
//! # Files
//! - `json`: hyperfine and criterion; `go`: benchmarks; `perf`: counters

mod go;
mod json;
mod perf;

use std::fmt;

/// Values of one command, benchmark or event.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The command, the benchmark with its unit, or the event.
    pub name: String,
    /// In the order of the file.
    pub values: Vec<f64>,
}

/// The tool that wrote a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// `hyperfine --export-json`.
    Hyperfine,
    /// criterion's `sample.json`.
    Criterion,
    /// `go test -bench`, and other tools that write such lines for benchstat.
    Go,
    /// `perf stat`.
    Perf,
}

impl Tool {
    /// True if users usually compare the series of one file.
    pub fn compares_within(self) -> bool {
        matches!(self, Self::Hyperfine | Self::Go)
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hyperfine => "hyperfine",
            Self::Criterion => "criterion",
            Self::Go => "Go's benchmarks",
            Self::Perf => "perf stat",
        })
    }
}

/// Bytes of a file's beginning that identify its tool.
pub const HEAD_BYTES: usize = 4096;

/// True if a file with this beginning may be another tool's.
pub fn may_be_foreign(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    json::is_json(&text) || go::is_go(&text) || perf::is_perf(&text)
}

/// The series of another tool's file.
///
/// # Shapes
/// `wanted` keeps the series whose name contains it. Without it, only the first of a benchmark's
/// units is kept.
///
/// # Errors
/// The reason why the file has none, in a sentence with a remedy.
pub fn read(text: &str, wanted: Option<&str>) -> Result<(Tool, Vec<Series>), String> {
    let (tool, all) = if json::is_json(text) && !perf::is_perf(text) {
        json::read(text)?
    } else if go::is_go(text) {
        (Tool::Go, go::read(text, wanted.is_some()))
    } else {
        (Tool::Perf, perf::read(text))
    };
    if let Some(bad) = all
        .iter()
        .find(|one| one.values.iter().any(|v| !v.is_finite()))
    {
        return Err(format!(
            "`{}` has a value that is not finite; remove it",
            bad.name
        ));
    }
    let names: Vec<String> = all.iter().map(|one| one.name.clone()).collect();
    let is_wanted = |one: &Series| wanted.is_none_or(|wanted| one.name.contains(wanted));
    let kept: Vec<Series> = all.into_iter().filter(is_wanted).collect();
    match (kept.is_empty(), wanted) {
        (true, Some(wanted)) if !names.is_empty() => {
            Err(format!("has no series `{wanted}`, but {}", listed(&names)))
        }
        (true, _) => Err(format!(
            "is written by {tool} and holds no value; measure again"
        )),
        (false, _) => Ok((tool, kept)),
    }
}

/// A few names in a line.
pub fn listed(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = names.iter().take(SHOWN).map(|name| format!("`{name}`"));
    let mut line = shown.collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        line.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    line
}

/// Adds a value to the series of that name.
fn add(all: &mut Vec<Series>, name: &str, value: f64) {
    match all.iter_mut().find(|one| one.name == name) {
        Some(series) => series.values.push(value),
        None => all.push(Series {
            name: name.to_owned(),
            values: vec![value],
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Series, Tool, may_be_foreign, read};

    fn series(name: &str, values: &[f64]) -> Series {
        let (name, values) = (name.to_owned(), values.to_vec());
        Series { name, values }
    }

    #[test]
    fn hyperfine_has_a_series_a_command() {
        let text = r#"{"results": [
            {"command": "a", "mean": 2, "times": [1.5, 2.5], "exit_codes": [0, 0]},
            {"command": "b x", "mean": 1, "times": [1]} ]}"#;
        assert!(may_be_foreign(text.as_bytes()));
        let wanted = vec![series("a", &[1.5, 2.5]), series("b x", &[1.0])];
        assert_eq!(read(text, None), Ok((Tool::Hyperfine, wanted)));
        let one = read(text, Some("x")).unwrap().1;
        assert_eq!(one, [series("b x", &[1.0])]);
        let refused = read(text, Some("c")).unwrap_err();
        assert_eq!(refused, "has no series `c`, but `a`, `b x`");
    }

    #[test]
    fn criterion_has_nanoseconds_an_iteration() {
        let text = r#"{"sampling_mode":"Linear","iters":[10.0,20.0],"times":[1000.0,1800.0]}"#;
        let wanted = vec![series("time", &[100.0, 90.0])];
        assert_eq!(read(text, None), Ok((Tool::Criterion, wanted)));
        let refused = read(r#"{"mean": {"point_estimate": 3.0}}"#, None).unwrap_err();
        assert!(refused.contains("sample.json"), "{refused}");
        assert!(read(r#"{"iters":[0],"times":[1]}"#, None).is_err());
    }

    #[test]
    fn json_that_is_cut_or_of_nobody_is_said() {
        let refused = read(r#"{"results": [{"command": "a", "times": [1"#, None).unwrap_err();
        assert!(refused.contains("line 1"), "{refused}");
        assert!(read("[1, 2]", None).is_err());
        let no_times = read(r#"{"results": [{"command": "a", "mean": 1}]}"#, None).unwrap_err();
        assert!(no_times.contains("`a` has no times"), "{no_times}");
    }

    #[test]
    fn go_has_a_series_a_benchmark_and_unit() {
        let text = "goos: linux\nUnit ns/op better=lower\nBenchmarkA-8 \t100\t12.5 ns/op\t3 B/op\n\
                    PASS\nBenchmarkA-8\t100\t13.5 ns/op\t3 B/op\nBenchmarkB 1 7 ns/op\nok \tx 1s\n";
        assert!(may_be_foreign(text.as_bytes()));
        let wanted = vec![
            series("A-8 ns/op", &[12.5, 13.5]),
            series("B ns/op", &[7.0]),
        ];
        assert_eq!(read(text, None), Ok((Tool::Go, wanted)));
        assert_eq!(
            read(text, Some("A-8 B/op")).unwrap().1,
            [series("A-8 B/op", &[3.0, 3.0])]
        );
    }

    #[test]
    fn a_key_that_changes_within_a_file_tells_its_series_apart() {
        let text =
            "goos: linux\narm: old one\nBenchmarkX 1 5 ns/op\narm: new\nBenchmarkX 1 4 ns/op\n";
        let names: Vec<String> = read(text, None)
            .unwrap()
            .1
            .into_iter()
            .map(|s| s.name)
            .collect();
        assert_eq!(names, ["X arm:old one ns/op", "X arm:new ns/op"]);
    }

    #[test]
    fn perf_has_a_series_an_event_in_every_form() {
        let text = "# started on Sun Nov 22 2026\n\n\n Performance counter stats for 'true':\n\n\
                    \x20             0.45 msec task-clock:u     #    0.512 CPUs utilized\n\
                    \x20        1,234,567      cycles:u         #    2.1 GHz\n\
                    \x20  <not supported>      cache-misses\n\n\
                    \x20      0.000884 seconds time elapsed\n\n       0.001 seconds user\n";
        assert!(may_be_foreign(text.as_bytes()));
        let twice = format!("{text}{text}");
        let wanted = vec![
            series("task-clock:u", &[0.45, 0.45]),
            series("cycles:u", &[1_234_567.0, 1_234_567.0]),
            series("time elapsed", &[0.000884, 0.000884]),
            series("user", &[0.001, 0.001]),
        ];
        assert_eq!(read(&twice, None), Ok((Tool::Perf, wanted)));
        let csv = "# started on x\n\n0.45,msec,task-clock:u,450000,100.00,0.5,CPUs utilized\n\
                   <not counted>,,cycles:u,0,100.00,,\n7,,faults,450000,100.00,,\n";
        let wanted = vec![series("task-clock:u", &[0.45]), series("faults", &[7.0])];
        assert_eq!(read(csv, None), Ok((Tool::Perf, wanted.clone())));
        let interval =
            "     1.001,0.45,msec,task-clock:u,1,100.00,,\n     1.001,7,,faults,1,100.00,,\n";
        assert_eq!(read(interval, None), Ok((Tool::Perf, wanted.clone())));
        let json = "{\"counter-value\" : \"0.450000\", \"event\" : \"task-clock:u\"}\n\
                    {\"counter-value\" : \"<not supported>\", \"event\" : \"cycles:u\"}\n\
                    {\"counter-value\" : \"7.000000\", \"unit\" : \"\", \"event\" : \"faults\"}\n";
        assert!(may_be_foreign(json.as_bytes()));
        assert_eq!(read(json, None), Ok((Tool::Perf, wanted)));
    }

    #[test]
    fn counters_that_were_not_counted_are_no_values() {
        let csv = "<not supported>,,cycles:u,0,100.00,,\n";
        let refused = read(csv, None).unwrap_err();
        assert_eq!(
            refused,
            "is written by perf stat and holds no value; measure again"
        );
    }

    #[test]
    fn files_of_numbers_are_nobodys() {
        for text in [
            "1\n2\n",
            "# x\n3 4\n",
            "",
            "1,2,3\n4,5,6\n",
            "a 1\n",
            "1,2,3,4,5,6,7\n",
        ] {
            assert!(!may_be_foreign(text.as_bytes()), "{text}");
        }
    }
}
