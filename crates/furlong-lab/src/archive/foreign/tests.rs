use std::collections::BTreeMap;
use std::path::Path;

use super::{means, run_of, workload};
use crate::ministat::foreign::{Foreign, Origin, Series, Tool};
use crate::model::result::Better;

fn series(name: &str, unit: &str, values: &[f64]) -> Series {
    Series {
        name: name.to_owned(),
        unit: unit.to_owned(),
        values: values.to_vec(),
    }
}

#[test]
fn benchmarks_of_one_name_are_numbered_and_only_rates_are_better_if_higher() {
    let foreign = Foreign {
        tool: Tool::Hyperfine,
        origin: Origin::default(),
        better: BTreeMap::from([("hits".to_owned(), Better::Higher)]),
        series: vec![
            series("x", "s", &[1.0]),
            series("x", "s", &[2.0]),
            series("x", "s", &[3.0]),
            series("x", "ns/key", &[4.0]),
            series("x", "keys/ms", &[5.0]),
            series("x", "hits", &[6.0]),
        ],
    };
    let result = run_of(&foreign, Path::new("twice.json"), 7);
    let experiment = &result.experiments[0];
    let all = experiment.workloads.iter();
    let all: Vec<_> = all
        .map(|one| (one.name.as_str(), one.arms[0].samples["time_s"][0]))
        .collect();
    let wanted = [("x", Some(1.0)), ("x #2", Some(2.0)), ("x #3", Some(3.0))];
    assert_eq!(all, wanted);
    let better = ["ns_per_key", "keys_per_ms", "hits"].map(|name| experiment.metrics[name].better);
    assert_eq!(better, [Better::Lower, Better::Higher, Better::Higher]);
}

#[test]
fn units_of_a_benchmark_are_metrics_of_one_workload() {
    let foreign = Foreign {
        tool: Tool::Go,
        origin: Origin::default(),
        better: BTreeMap::from([("ns/key".to_owned(), Better::Lower)]),
        series: vec![
            series("A", "ns/op", &[5.0, 7.0]),
            series("A", "MB/s", &[3.0]),
            series("B", "us/op", &[1.5]),
            series("B", "allocs/op", &[2.0]),
        ],
    };
    let result = run_of(&foreign, Path::new("bench.txt"), 77);
    let [experiment] = &result.experiments[..] else {
        panic!("{result:?}")
    };
    assert_eq!(experiment.metric_order, ["time_ns", "MB_per_s", "allocs"]);
    assert_eq!(experiment.metrics["MB_per_s"].better, Better::Higher);
    assert_eq!(experiment.metrics["allocs"].better, Better::Lower);
    let samples =
        |at: usize, metric: &str| experiment.workloads[at].arms[0].samples[metric].clone();
    assert_eq!(samples(0, "time_ns"), [Some(5.0), Some(7.0)]);
    assert_eq!(samples(0, "MB_per_s"), [Some(3.0), None]);
    assert_eq!(samples(1, "time_ns"), [Some(1500.0)]);
    assert_eq!(
        result.run.id,
        run_of(&foreign, Path::new("other"), 77).run.id
    );
    assert_eq!(result.run.warnings.len(), 1, "the time is that of the file");
}

#[test]
fn many_rounds_are_kept_as_means_in_their_order() {
    let values: Vec<f64> = (0..1000).map(f64::from).collect();
    let kept = means(&values);
    assert_eq!(kept.len(), 250);
    assert_eq!(kept[..2], [1.5, 5.5]);
    assert_eq!(means(&values[..256]), values[..256]);
}

#[test]
fn a_benchmark_of_criterion_is_named_by_its_folders() {
    let one = series("time", "ns", &[1.0]);
    let named = |path: &str| workload(Tool::Criterion, &one, Path::new(path));
    assert_eq!(
        named("target/criterion/sort/100/new/sample.json"),
        "sort/100"
    );
    assert_eq!(named("sort/base/sample.json"), "sort");
    assert_eq!(named("sample.json"), "time");
}
