//! hyperfine's and criterion's JSON.

use serde_json::Value;

use super::{Series, Tool};

/// True if a text begins like JSON; no file of numbers does.
pub(super) fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

pub(super) fn read(text: &str) -> Result<(Tool, Vec<Series>), String> {
    let json: Value = serde_json::from_str(text)
        .map_err(|error| format!("is not JSON: {error}; write it again"))?;
    if let Some(results) = json.get("results").and_then(Value::as_array) {
        let all = results.iter().map(command).collect::<Result<_, _>>()?;
        return Ok((Tool::Hyperfine, all));
    }
    match (json.get("iters"), json.get("times")) {
        (Some(iterations), Some(times)) => Ok((Tool::Criterion, vec![sample(iterations, times)?])),
        _ => Err(
            "is JSON of an unknown tool; give the output of hyperfine --export-json, or \
             criterion's sample.json"
                .to_owned(),
        ),
    }
}

/// One command of hyperfine's output.
fn command(result: &Value) -> Result<Series, String> {
    let name = result.get("command").and_then(Value::as_str).unwrap_or("?");
    match result.get("times").and_then(numbers) {
        Some(values) => Ok(Series {
            name: name.to_owned(),
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
