//! JSON: hyperfine's, criterion's and those of suites.

use serde_json::Value;

use super::{Foreign, Series, Tool, suites};

/// True if a text begins like JSON; no file of numbers does.
pub(super) fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

pub(super) fn read(text: &str) -> Result<Foreign, String> {
    let json: Value = serde_json::from_str(text)
        .map_err(|error| format!("is not JSON: {error}; write it again"))?;
    if let Some(results) = json.get("results").and_then(Value::as_array) {
        return Ok(Foreign {
            series: results.iter().map(command).collect::<Result<_, _>>()?,
            ..Foreign::new(Tool::Hyperfine)
        });
    }
    if let (Some(iterations), Some(times)) = (json.get("iters"), json.get("times")) {
        return Ok(Foreign {
            series: vec![sample(iterations, times)?],
            ..Foreign::new(Tool::Criterion)
        });
    }
    suites::read(&json).unwrap_or_else(|| {
        Err(
            "is JSON of an unknown tool; known are hyperfine --export-json, criterion's \
             sample.json, Google Benchmark, pytest-benchmark, JMH and BenchmarkDotNet"
                .to_owned(),
        )
    })
}

/// One command of hyperfine's output.
fn command(result: &Value) -> Result<Series, String> {
    let name = result.get("command").and_then(Value::as_str).unwrap_or("?");
    match result.get("times").and_then(numbers) {
        Some(values) => Ok(Series {
            name: name.to_owned(),
            unit: "s".to_owned(),
            values,
        }),
        None => Err(format!(
            "`{name}` has no times; export them with --export-json"
        )),
    }
}

/// A benchmark of criterion's: each sample is a number of iterations and their nanoseconds.
fn sample(iterations: &Value, times: &Value) -> Result<Series, String> {
    let wrong = || "has no sample of criterion; give its sample.json".to_owned();
    let iterations = numbers(iterations).ok_or_else(wrong)?;
    let times = numbers(times).ok_or_else(wrong)?;
    if iterations.len() != times.len() || iterations.iter().any(|count| *count <= 0.0) {
        return Err(wrong());
    }
    Ok(Series {
        name: "time".to_owned(),
        unit: "ns".to_owned(),
        values: times
            .iter()
            .zip(&iterations)
            .map(|(time, count)| time / count)
            .collect(),
    })
}

fn numbers(list: &Value) -> Option<Vec<f64>> {
    list.as_array()?.iter().map(Value::as_f64).collect()
}
