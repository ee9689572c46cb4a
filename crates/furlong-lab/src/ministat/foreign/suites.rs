//! The JSON of benchmark suites: Google Benchmark, pytest-benchmark, JMH and BenchmarkDotNet.

use serde_json::Value;

use super::{Foreign, Origin, Tool};

/// Reads the output of a suite; `None` if it is none of them.
pub(super) fn read(json: &Value) -> Option<Result<Foreign, String>> {
    if let Some(all) = json.as_array() {
        return all.first()?.get("jmhVersion").map(|_| jmh(all));
    }
    let benchmarks = || {
        json.get("benchmarks")
            .or(json.get("Benchmarks"))?
            .as_array()
    };
    match () {
        () if json.get("context").is_some() => Some(google(json, benchmarks()?)),
        () if json.get("machine_info").is_some() => Some(pytest(json, benchmarks()?)),
        () if json.get("HostEnvironmentInfo").is_some() => Some(dotnet(json, benchmarks()?)),
        () => None,
    }
}

fn text(of: &Value, name: &str) -> Option<String> {
    of.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn numbers(of: &Value, name: &str) -> Option<Vec<f64>> {
    of.get(name)?
        .as_array()?
        .iter()
        .map(Value::as_f64)
        .collect()
}

/// One value a repetition, `real_time`. Means and medians of repetitions are left out.
fn google(json: &Value, benchmarks: &[Value]) -> Result<Foreign, String> {
    let context = &json["context"];
    let mut foreign = Foreign::new(Tool::Google);
    foreign.origin = Origin {
        version: text(context, "library_version"),
        started: text(context, "date"),
        host: text(context, "host_name"),
        cpu: None,
        cpus: context.get("num_cpus").and_then(Value::as_u64),
    };
    for one in benchmarks {
        let name = text(one, "name").unwrap_or_default();
        if text(one, "run_type").is_some_and(|kind| kind != "iteration") {
            continue;
        }
        if let Some(why) = text(one, "error_message") {
            return Err(format!(
                "`{name}` failed: {why}; leave it out and run again"
            ));
        }
        let (Some(time), Some(unit)) = (one["real_time"].as_f64(), text(one, "time_unit")) else {
            return Err(format!("`{name}` has no real_time; write the file again"));
        };
        foreign.add(&name, &unit, time);
    }
    Ok(foreign)
}

/// One value a round, in seconds.
fn pytest(json: &Value, benchmarks: &[Value]) -> Result<Foreign, String> {
    let machine = &json["machine_info"];
    let mut foreign = Foreign::new(Tool::Pytest);
    foreign.origin = Origin {
        version: text(json, "version"),
        started: text(json, "datetime"),
        host: text(machine, "node"),
        cpu: text(&machine["cpu"], "brand_raw"),
        cpus: machine["cpu"]["count"].as_u64(),
    };
    for one in benchmarks {
        let name = text(one, "fullname").or(text(one, "name"));
        let name = name.unwrap_or_default();
        let Some(values) = numbers(&one["stats"], "data") else {
            return Err(format!(
                "`{name}` has no rounds; write the file by --benchmark-json, or with \
                 --benchmark-save-data"
            ));
        };
        foreign.push(name, "s", values);
    }
    Ok(foreign)
}

/// One value a measured iteration, of all forks.
fn jmh(benchmarks: &[Value]) -> Result<Foreign, String> {
    let mut foreign = Foreign::new(Tool::Jmh);
    let first = &benchmarks[0];
    foreign.origin.version = text(first, "jmhVersion");
    for one in benchmarks {
        let mut name = text(one, "benchmark").unwrap_or_default();
        let parameters = one.get("params").and_then(Value::as_object);
        for (parameter, value) in parameters.into_iter().flatten() {
            let value = value.as_str().unwrap_or_default();
            name.push_str(&format!(" {parameter}={value}"));
        }
        let metric = &one["primaryMetric"];
        let forks = metric.get("rawData").and_then(Value::as_array);
        let values = forks.map(|forks| {
            let values = forks.iter().filter_map(Value::as_array).flatten();
            values.filter_map(Value::as_f64).collect()
        });
        let (Some(values), Some(unit)) = (values, text(metric, "scoreUnit")) else {
            let why = "has no rawData (the mode SampleTime has a histogram instead); use another \
                       mode";
            return Err(format!("`{name}` {why}"));
        };
        foreign.push(name, &unit, values);
    }
    Ok(foreign)
}

/// One value a measured iteration, in nanoseconds an operation, before outliers are removed.
fn dotnet(json: &Value, benchmarks: &[Value]) -> Result<Foreign, String> {
    let host = &json["HostEnvironmentInfo"];
    let mut foreign = Foreign::new(Tool::DotNet);
    foreign.origin = Origin {
        version: text(host, "BenchmarkDotNetVersion"),
        started: None,
        host: None,
        cpu: text(host, "ProcessorName"),
        cpus: host.get("LogicalCoreCount").and_then(Value::as_u64),
    };
    for one in benchmarks {
        // The jobs of a benchmark differ in the latter only.
        let full = text(one, "FullName");
        let is_full = |other: &&Value| text(other, "FullName") == full;
        let name = match benchmarks.iter().filter(is_full).count() {
            1 => full,
            _ => text(one, "DisplayInfo").or(full),
        };
        let name = name.unwrap_or_default();
        let Some(values) = numbers(&one["Statistics"], "OriginalValues") else {
            return Err(format!(
                "`{name}` has no OriginalValues; export it by [JsonExporterAttribute.Full]"
            ));
        };
        foreign.push(name, "ns", values);
    }
    Ok(foreign)
}
