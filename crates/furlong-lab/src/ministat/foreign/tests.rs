use super::{Tool, may_be_foreign};
use crate::model::result::Better;

type Named = (String, Vec<f64>);

fn series(name: &str, values: &[f64]) -> Named {
    (name.to_owned(), values.to_vec())
}

/// The chosen series by name.
fn chosen(text: &str, wanted: Option<&str>) -> Result<(Tool, Vec<Named>), String> {
    let (tool, all) = super::chosen(text, wanted)?;
    let named = all.into_iter().map(|one| (one.name, one.values));
    Ok((tool, named.collect()))
}

#[test]
fn hyperfine_has_a_series_a_command() {
    let text = r#"{"results": [
        {"command": "a", "mean": 2, "times": [1.5, 2.5], "exit_codes": [0, 0]},
        {"command": "b x", "mean": 1, "times": [1]} ]}"#;
    assert!(may_be_foreign(text.as_bytes()));
    let wanted = vec![series("a", &[1.5, 2.5]), series("b x", &[1.0])];
    assert_eq!(chosen(text, None), Ok((Tool::Hyperfine, wanted)));
    let one = chosen(text, Some("x")).unwrap().1;
    assert_eq!(one, [series("b x", &[1.0])]);
    let refused = chosen(text, Some("c")).unwrap_err();
    assert_eq!(refused, "has no series `c`, but `a`, `b x`");
}

#[test]
fn criterion_has_nanoseconds_an_iteration() {
    let text = r#"{"sampling_mode":"Linear","iters":[10.0,20.0],"times":[1000.0,1800.0]}"#;
    let wanted = vec![series("time", &[100.0, 90.0])];
    assert_eq!(chosen(text, None), Ok((Tool::Criterion, wanted)));
    let refused = chosen(r#"{"mean": {"point_estimate": 3.0}}"#, None).unwrap_err();
    assert!(refused.contains("sample.json"), "{refused}");
    assert!(chosen(r#"{"iters":[0],"times":[1]}"#, None).is_err());
}

#[test]
fn json_that_is_cut_or_of_nobody_is_said() {
    let refused = chosen(r#"{"results": [{"command": "a", "times": [1"#, None).unwrap_err();
    assert!(refused.contains("line 1"), "{refused}");
    assert!(chosen("[1, 2]", None).is_err());
    let no_times = chosen(r#"{"results": [{"command": "a", "mean": 1}]}"#, None).unwrap_err();
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
    assert_eq!(chosen(text, None), Ok((Tool::Go, wanted)));
    assert_eq!(
        chosen(text, Some("A-8 B/op")).unwrap().1,
        [series("A-8 B/op", &[3.0, 3.0])]
    );
}

#[test]
fn a_key_that_changes_within_a_file_tells_its_series_apart() {
    let text = "goos: linux\narm: old one\nBenchmarkX 1 5 ns/op\narm: new\nBenchmarkX 1 4 ns/op\n";
    let names: Vec<String> = chosen(text, None)
        .unwrap()
        .1
        .into_iter()
        .map(|(name, _)| name)
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
    assert_eq!(chosen(&twice, None), Ok((Tool::Perf, wanted)));
    let csv = "# started on x\n\n0.45,msec,task-clock:u,450000,100.00,0.5,CPUs utilized\n\
               <not counted>,,cycles:u,0,100.00,,\n7,,faults,450000,100.00,,\n";
    let wanted = vec![series("task-clock:u", &[0.45]), series("faults", &[7.0])];
    assert_eq!(chosen(csv, None), Ok((Tool::Perf, wanted.clone())));
    let interval =
        "     1.001,0.45,msec,task-clock:u,1,100.00,,\n     1.001,7,,faults,1,100.00,,\n";
    assert_eq!(chosen(interval, None), Ok((Tool::Perf, wanted.clone())));
    let json = "{\"counter-value\" : \"0.450000\", \"event\" : \"task-clock:u\"}\n\
                {\"counter-value\" : \"<not supported>\", \"event\" : \"cycles:u\"}\n\
                {\"counter-value\" : \"7.000000\", \"unit\" : \"\", \"event\" : \"faults\"}\n";
    assert!(may_be_foreign(json.as_bytes()));
    assert_eq!(chosen(json, None), Ok((Tool::Perf, wanted)));
}

#[test]
fn perfs_repeated_and_multiplexed_figures_are_whole() {
    let text = " Performance counter stats for './a -n 5' (3 runs):\n\n\
                \x20  1,234,567      r01c2      ( +-  1.25% )  (66.67%)\n\
                \x20  7,654,321      r02c2                      (33.33%)\n\
                \x20    0.0121 +- 0.0015 seconds time elapsed  ( +- 12.39% )\n";
    let wanted = vec![
        series("r01c2", &[1_234_567.0]),
        series("r02c2", &[7_654_321.0]),
        series("time elapsed", &[0.0121]),
    ];
    assert_eq!(chosen(text, None), Ok((Tool::Perf, wanted)));
    // Processes are no commands.
    let of_process = |number: u32| text.replace("'./a -n 5'", &format!("process id '{number}'"));
    let (_, both) = chosen(&format!("{}{}", of_process(1), of_process(2)), None).unwrap();
    assert_eq!(
        both.iter().map(|one| one.1.len()).collect::<Vec<_>>(),
        [2, 2, 2]
    );
    let other = format!("{text}{}", text.replace("./a", "./b"));
    let (_, both) = chosen(&other, None).unwrap();
    let names: Vec<_> = both.iter().map(|one| one.0.as_str()).collect();
    assert_eq!(names.len(), 6, "{names:?}");
    assert_eq!([names[0], names[3]], ["./a -n 5 r01c2", "./b -n 5 r01c2"]);
}

#[test]
fn perfs_figures_in_other_languages_are_refused() {
    let german = " Performance counter stats for 'true':\n\n\
                  \x20   34.269,05 msec task-clock   # 0,998 CPUs utilized\n\
                  \x20       3.670      context-switches\n";
    let french = " Performance counter stats for 'true':\n\n\
                  \x20        2,00 msec task-clock\n        1 272      faults\n";
    for text in [german, french] {
        let refused = chosen(text, None).unwrap_err();
        assert!(refused.contains("LC_ALL=C"), "{refused}");
    }
    // Blanks between thousands, and lines of the program that was measured.
    let no_figure = " Performance counter stats for 'x':\n 1 272 faults\n 12,34\n 1,2,3 4\n";
    let refused = chosen(no_figure, None).unwrap_err();
    assert!(refused.contains("holds no value"), "{refused}");
}

#[test]
fn counters_that_were_not_counted_are_no_values() {
    let csv = "<not supported>,,cycles:u,0,100.00,,\n";
    let refused = chosen(csv, None).unwrap_err();
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

#[test]
fn google_benchmark_has_a_value_a_repetition() {
    let text = r#"{"context": {"date": "2026-11-28T00:10:49+00:00", "host_name": "vm",
        "num_cpus": 2, "library_version": "1.9.5"}, "benchmarks": [
        {"name": "sort/8", "run_type": "iteration", "real_time": 1.5, "time_unit": "us"},
        {"name": "sort/8", "run_type": "iteration", "real_time": 2.5, "time_unit": "us"},
        {"name": "sort/8_mean", "run_type": "aggregate", "real_time": 2.0, "time_unit": "us"}]}"#;
    let wanted = vec![series("sort/8", &[1.5, 2.5])];
    assert_eq!(chosen(text, None), Ok((Tool::Google, wanted)));
    let foreign = super::read(text).expect("it is whole");
    assert_eq!(foreign.series[0].unit, "us");
    assert_eq!(foreign.origin.version.as_deref(), Some("1.9.5"));
    assert_eq!(foreign.origin.cpus, Some(2));
    let failed = text.replace(r#""real_time": 2.5"#, r#""error_message": "no memory""#);
    let refused = super::read(&failed).unwrap_err();
    assert_eq!(
        refused,
        "`sort/8` failed: no memory; leave it out and run again"
    );
}

#[test]
fn pytest_benchmark_has_a_value_a_round() {
    let text = r#"{"machine_info": {"node": "vm", "cpu": {"brand_raw": "Xeon", "count": 2}},
        "datetime": "2026-11-28T00:10:49.495361+00:00", "version": "5.3.1", "benchmarks": [
        {"name": "test_sum", "fullname": "a.py::test_sum", "stats": {"data": [1e-5, 2e-5]}}]}"#;
    let wanted = vec![series("a.py::test_sum", &[1e-5, 2e-5])];
    assert_eq!(chosen(text, None), Ok((Tool::Pytest, wanted)));
    let refused = super::read(&text.replace("data", "mean")).unwrap_err();
    assert!(refused.contains("--benchmark-save-data"), "{refused}");
}

#[test]
fn jmh_has_a_value_an_iteration_of_all_forks() {
    let text = r#"[{"jmhVersion": "1.37", "benchmark": "b.B.sum", "mode": "avgt",
        "params": {"n": "10"}, "primaryMetric": {"score": 6.6, "scoreUnit": "ns/op",
        "rawData": [[6.5, 6.7], [6.6, 6.8]]}}]"#;
    let wanted = vec![series("b.B.sum n=10", &[6.5, 6.7, 6.6, 6.8])];
    assert_eq!(chosen(text, None), Ok((Tool::Jmh, wanted)));
    let refused = super::read(&text.replace("rawData", "rawDataHistogram")).unwrap_err();
    assert!(refused.contains("use another mode"), "{refused}");
}

#[test]
fn benchmarkdotnet_has_its_original_values() {
    let text = r#"{"Title": "T", "HostEnvironmentInfo": {"BenchmarkDotNetVersion": "0.14.0",
        "ProcessorName": "Xeon", "LogicalCoreCount": 2}, "Benchmarks": [
        {"FullName": "N.B.Sum(n: 10)", "Statistics":
        {"OriginalValues": [5.25, 5.5], "Mean": 5.375}}]}"#;
    let wanted = vec![series("N.B.Sum(n: 10)", &[5.25, 5.5])];
    assert_eq!(chosen(text, None), Ok((Tool::DotNet, wanted)));
    let brief = text.replace("OriginalValues", "Outliers");
    assert!(
        super::read(&brief)
            .unwrap_err()
            .contains("JsonExporterAttribute.Full")
    );
}

#[test]
fn divan_has_the_median_of_every_branch() {
    let text = "\
d           fastest       │ slowest       │ median        │ mean          │ samples │ iters
├─ sum                    │               │               │               │         │
│  ├─ 10    2.271 ns      │ 15.7 µs       │ 2.284 ns      │ 159.5 ns      │ 100     │ 102400
│  ╰─ 1000  206.3 ns      │ 817.1 ns      │ 212.1 ns      │ 221 ns        │ 100     │ 800
╰─ sorting                │               │               │               │         │
   ├─ fill  49.24 ns      │ 1.276 µs      │ 51.06 ns      │ 76.51 ns      │ 100     │ 800
   │        81.22 GB/s    │ 3.134 GB/s    │ 78.33 GB/s    │ 52.27 GB/s    │         │
   ╰─ rev   166.4 ns      │ 472.7 ns      │ 171.1 ns      │ 180.4 ns      │ 100     │ 1600
";
    assert!(may_be_foreign(text.as_bytes()));
    let wanted = [
        series("d/sum/10", &[2.284]),
        series("d/sum/1000", &[212.1]),
        series("d/sorting/fill", &[51.06]),
        series("d/sorting/rev", &[171.1]),
    ];
    assert_eq!(chosen(text, None), Ok((Tool::Divan, wanted.to_vec())));
}

#[test]
fn a_benchmark_of_divan_keeps_its_unit_when_it_gets_slower() {
    let text = "\
d       fastest       │ slowest       │ median        │ mean          │ samples │ iters
├─ a    0.9 ns        │ 1 ns          │ 990 ps        │ 1 ns          │ 100     │ 100
╰─ b    1 s           │ 1.1 s         │ 1.05 s        │ 1.05 s        │ 100     │ 100
";
    let foreign = super::read(text).expect("it has values");
    let all = foreign.series.iter();
    let all: Vec<_> = all.map(|one| (one.unit.as_str(), one.values[0])).collect();
    assert_eq!(all, [("ns", 0.99), ("ns", 1.05e9)]);
}

#[test]
fn benchstat_keeps_files_and_units_apart() {
    let text = "\
             │  note: a/b   │              note: c                │
             │ /tmp/old.txt │             /tmp/new.txt            │
             │   gadgets    │   gadgets     vs base               │
Sum-2          326.1n ± 57%   369.2n ±  7%  +13.23% (p=0.041 n=6)
New-2                         2.198µ ± 64%
";
    let foreign = super::read(text).expect("it has values");
    let all = foreign.series.iter();
    let all: Vec<_> = all
        .map(|one| (one.name.as_str(), one.unit.as_str()))
        .collect();
    let wanted = [
        ("Sum-2 /tmp/old.txt", "gadgets"),
        ("Sum-2 /tmp/new.txt", "gadgets"),
        ("New-2 /tmp/new.txt", "gadgets"),
    ];
    assert_eq!(all, wanted);
}

#[test]
fn go_says_which_direction_is_better() {
    let text = "Unit ns/key better=lower\nUnit hits better=higher assume=exact\n\
                BenchmarkA 5 7 ns/key 3 hits\n";
    let foreign = super::read(text).expect("it has values");
    assert_eq!(foreign.better["ns/key"], Better::Lower);
    assert_eq!(foreign.better["hits"], Better::Higher);
    // A key on each line is no reason to take for ever.
    let keys = (0..20_000).map(|n| format!("k{n}: 1\nBenchmarkA 1 {n} ns/op\n"));
    let foreign = super::read(&keys.collect::<String>()).expect("it has values");
    assert_eq!(foreign.series[0].values.len(), 20_000);
}

#[test]
fn benchstat_has_the_median_of_every_file_and_unit() {
    let text = "\
goos: linux
cpu: Intel(R) Xeon(R) Processor
             │   old.txt    │               new.txt               │
             │    sec/op    │    sec/op     vs base               │
Sum-2          326.1n ± 57%   369.2n ±  7%  +13.23% (p=0.041 n=6)
Sort/n=100-2   2.328µ ± 39%   2.198µ ± 64%        ~ (p=1.000 n=6)
geomean        586.2n         581.6n         -0.79%

             │  old.txt   │              new.txt               │
             │    B/op    │    B/op     vs base                │
Sort/n=100-2   1.25Ki ± 0%   896.0 ± 0%       ~ (p=1.000 n=6) ¹
¹ all samples are equal
";
    assert!(may_be_foreign(text.as_bytes()));
    let foreign = super::read(text).expect("it has values");
    assert_eq!(foreign.tool, Tool::Benchstat);
    let all = foreign.series.iter();
    let all: Vec<_> = all
        .map(|one| (one.name.as_str(), one.unit.as_str(), one.values[0]))
        .collect();
    let close = |found: f64, wanted: f64| (found / wanted - 1.0).abs() < 1e-12;
    for (found, wanted) in all.iter().zip([
        ("Sum-2 old.txt", "sec/op", 326.1e-9),
        ("Sum-2 new.txt", "sec/op", 369.2e-9),
        ("Sort/n=100-2 old.txt", "sec/op", 2.328e-6),
        ("Sort/n=100-2 new.txt", "sec/op", 2.198e-6),
        ("Sort/n=100-2 old.txt", "B/op", 1280.0),
        ("Sort/n=100-2 new.txt", "B/op", 896.0),
    ]) {
        assert_eq!((found.0, found.1), (wanted.0, wanted.1));
        assert!(close(found.2, wanted.2), "{found:?}");
    }
    assert_eq!(all.len(), 6);
}
