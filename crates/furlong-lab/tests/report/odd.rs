//! Unusual results that every report must handle.

use std::collections::BTreeMap;

use furlong_lab::model::result::{
    Better, ByLayout, ByNode, ExperimentResult, Fleet, Kind, Metric, NodeEffect, NodesTest,
    ResultFile, Verdict, WorkloadResult,
};
use furlong_lab::record::functions::FUNCTIONS;
use furlong_stats::random::Random;

use crate::fixture::{
    Invention, Weather, add, add_exact, difference, file, judge, metric, named as arms, rich,
    small, with_names,
};

/// Every result of this file and the usual one, with their names.
pub(crate) fn all() -> Vec<(&'static str, ResultFile)> {
    vec![
        ("rich", rich()),
        ("compare", compare()),
        ("functions", functions()),
        ("single", single()),
        ("devices", devices()),
        ("control-failed", control_failed()),
        ("not-applicable", not_applicable()),
        ("single-block", blocks(1)),
        ("three-blocks", blocks(3)),
        ("zero-blocks", blocks(0)),
        ("all-null", all_null()),
        ("many-arms", many_arms()),
        ("hostile", hostile()),
        ("not-finite", not_finite()),
        ("dangling", dangling()),
        ("constant", constant()),
        ("empty", file(&[], vec![])),
        ("everything", everything()),
        ("full", full()),
    ]
}

/// The result with this name.
///
/// # Panics
/// Panics with the list of names if there is none.
pub(crate) fn named(name: &str) -> ResultFile {
    let mut all = all();
    let names: Vec<&str> = all.iter().map(|(known, _)| *known).collect();
    let place = names.iter().position(|known| *known == name);
    let place = place.unwrap_or_else(|| panic!("no {name}; there are {}", names.join(", ")));
    all.swap_remove(place).1
}

/// Workloads with a device, whose bandwidth is measured, and one without, whose time is measured.
pub(crate) fn devices() -> ResultFile {
    let bandwidth = Metric {
        primary: true,
        ..metric(
            "MiB/s",
            Better::Higher,
            Kind::Sampled,
            "Blocks read and written.",
        )
    };
    let time = metric("ns", Better::Lower, Kind::Sampled, "Time of a map.");
    let (order, metrics) = with_names([("bandwidth_mib_s", bandwidth), ("time_ns_per_map", time)]);
    let names = ["small-ram", "big-ram", "small-disk", "empty"];
    let workloads = (1..).zip(names).map(|(seed, name)| {
        let arms = [("pool-first", 900.0), ("area-first", 1100.0)];
        let invention = Invention {
            name,
            blocks: 8,
            arms: &arms,
            noise_pct: 1.0,
            weather: Weather::Calm,
            seed,
        };
        let metric = order[usize::from(name == "empty")].as_str();
        let mut w = invention.make(metric, &metrics[metric], 1.0);
        if name != "empty" {
            w.params.insert("queue_depth".to_owned(), 128.into());
        }
        w
    });
    let experiment = ExperimentResult {
        name: "bounce-order".to_owned(),
        question: "Which area is next?".to_owned(),
        workloads: workloads.collect(),
        metrics: metrics.clone(),
        metric_order: order.clone(),
        ..ExperimentResult::default()
    };
    file(&["furlong", "run", "bounce-order"], vec![experiment])
}

/// A result in which every optional field of the machine and of the first comparison is present.
pub(crate) fn full() -> ResultFile {
    let mut result = rich();
    let machine = &mut result.run.machine;
    machine.class = Some("bench-8cpu".to_owned());
    machine.governor = Some("performance".to_owned());
    machine.turbo = Some(false);
    machine.fleet = Some(Fleet {
        dir: "/shared/furlong-7f3a".to_owned(),
        nodes: [("n1".to_owned(), machine.clone())].into(),
    });
    let c = &mut result.experiments[0].workloads[0].comparisons[0];
    c.scale = Some("log".to_owned());
    c.reason = Some("as an example".to_owned());
    c.by_node = Some(ByNode {
        effects: vec![NodeEffect {
            node: "n1".to_owned(),
            n: 8,
            effect_pct: c.effect_pct,
            ci95_pct: c.ci95_pct,
            claim: Some(Verdict::Keep),
        }],
        differ: Some(NodesTest {
            f: 1.5,
            df1: 1.0,
            df2: 6.0,
            p: 0.27,
        }),
    });
    c.by_layout = Some(ByLayout {
        layouts: 4,
        needed: Some(9),
        share_pct: Some(62.5),
        share95_pct: Some([8.0, 96.5]),
        p: Some(0.03),
    });
    result
}

/// The metrics of a command, the wall clock first.
fn command_metrics() -> (Vec<String>, BTreeMap<String, Metric>) {
    let low = |unit: &str, about: &str| metric(unit, Better::Lower, Kind::Sampled, about);
    let wall = Metric {
        primary: true,
        ..low("s", "From start to end.")
    };
    let printed = metric("1/s", Better::Higher, Kind::Sampled, "As it prints.");
    with_names([
        ("wall_s", wall),
        ("user_s", low("s", "Processor time in the program.")),
        ("sys_s", low("s", "Processor time in the kernel.")),
        ("maxrss_kib", low("KiB", "Most memory at a time.")),
        ("minor_faults", low("1", "Pages mapped without reading.")),
        ("context_switches", low("1", "Voluntary and involuntary.")),
        ("requests_per_s", printed),
    ])
}

/// Two commands, seven metrics, ten blocks.
pub(crate) fn compare() -> ResultFile {
    let (metric_order, metrics) = command_metrics();
    let levels = [
        [2.413, 2.297],
        [2.105, 1.998],
        [0.287, 0.291],
        [184_320.0, 176_128.0],
        [46_210.0, 44_004.0],
        [212.0, 214.0],
        [1_055_200.0, 1_109_800.0],
    ];
    let mut whole: Option<WorkloadResult> = None;
    for (seed, (name, [old, new])) in (40..).zip(metric_order.iter().zip(levels)) {
        let arms = [("allocator-old", old), ("allocator-new", new)];
        let noise_pct = if name == "context_switches" { 9.0 } else { 1.1 };
        let invention = Invention {
            name: "kernbench",
            blocks: 10,
            arms: &arms,
            noise_pct,
            weather: Weather::Calm,
            seed,
        };
        let one = invention.make(name, &metrics[name], 1.0);
        match &mut whole {
            None => whole = Some(one),
            Some(w) => add(w, one),
        }
    }
    let experiment = ExperimentResult {
        name: "compare".to_owned(),
        comparison: Some("'./work --old' './work --new'".to_owned()),
        question: "Is allocator-new better than allocator-old?".to_owned(),
        metrics,
        metric_order,
        workloads: whole.into_iter().collect(),
        left_out: vec![],
    };
    let command = [
        "furlong",
        "compare",
        "LD_PRELOAD=old.so make -j2",
        "make -j2",
    ];
    let mut result = file(&command, vec![experiment]);
    result.run.tag = Some("pr-118".to_owned());
    result.run.note = Some("after the span cache".to_owned());
    result
}

/// The same with the functions behind the difference.
pub(crate) fn functions() -> ResultFile {
    let mut result = compare();
    let names = [
        "allocator::",
        "<page::Cache as Drop>::",
        "allocator::size_class::refill::",
    ];
    let params = &mut result.experiments[0].workloads[0].params;
    params.insert(FUNCTIONS.to_owned(), difference("allocator-new", &names));
    result
}

/// As much as a quick run of all experiments has: 27 workloads, 324 figures of arms, and 270
/// comparisons.
pub(crate) fn everything() -> ResultFile {
    let rss = metric(
        "KiB",
        Better::Lower,
        Kind::Sampled,
        "Most memory at a time.",
    );
    let experiment = |number: u32| {
        let (mut e, _) = small("plain", 10, [148.0, 139.0, 121.0], u64::from(number));
        e.name = format!("experiment-{number}");
        e.metric_order.push("maxrss_kib".to_owned());
        e.metrics.insert("maxrss_kib".to_owned(), rss.clone());
        let workloads = ["plain", "scattered-10k", "overflow-4k-2t"]
            .into_iter()
            .zip(0_u64..);
        let workloads = workloads.map(|(name, place)| {
            let seed = 100 * u64::from(number) + place;
            let mut w = small(name, 10, [148.0, 147.0, 121.0], seed)
                .0
                .workloads
                .remove(0);
            add_exact(
                &mut w,
                "rotations_per_op",
                Better::Lower,
                &[0.58, 0.58, 0.6],
            );
            let memory = Invention {
                name,
                blocks: 10,
                arms: &arms([4_404.0, 4_348.0, 4_376.0]),
                noise_pct: 1.1,
                weather: Weather::Calm,
                seed: seed + 50,
            };
            add(&mut w, memory.make("maxrss_kib", &rss, 2.0));
            w
        });
        e.workloads = workloads.collect();
        e
    };
    file(
        &["furlong", "run", "--all"],
        (0..9).map(experiment).collect(),
    )
}

/// One command alone.
pub(crate) fn single() -> ResultFile {
    let mut result = compare();
    let w = &mut result.experiments[0].workloads[0];
    w.arms.truncate(1);
    w.control.clear();
    w.comparisons.clear();
    for order in &mut w.order {
        order.retain(|arm| *arm == w.arms[0].name);
    }
    result
}

fn run(experiment: ExperimentResult) -> ResultFile {
    file(&["furlong", "run", "iova-propagation"], vec![experiment])
}

/// The control differs from the baseline: no result is reliable.
pub(crate) fn control_failed() -> ResultFile {
    let (mut e, _) = small("plain", 10, [148.0, 139.0, 121.0], 7);
    let w = &mut e.workloads[0];
    if let Some(control) = w.control.get_mut("time_ns_per_op") {
        control
            .samples
            .iter_mut()
            .flatten()
            .for_each(|v| *v *= 1.024);
        control.floor_pct = Some(2.4);
        control.failed = true;
    }
    for c in w
        .comparisons
        .iter_mut()
        .filter(|c| c.metric == "time_ns_per_op")
    {
        (c.verdict, c.direction) = (Verdict::Inconclusive, None);
        c.reason = Some("the control failed".to_owned());
    }
    w.warnings.push(
        "The control failed: the baseline measured twice differs by 2.4 %: look for other work on \
         this machine and measure again."
            .to_owned(),
    );
    run(e)
}

/// One arm cannot run the workload.
pub(crate) fn not_applicable() -> ResultFile {
    let (mut e, _) = small("fleet", 10, [148.0, 139.0, 121.0], 8);
    let w = &mut e.workloads[0];
    let arm = &mut w.arms[1];
    arm.na = Some("at most 32 segments".to_owned());
    arm.samples.clear();
    arm.summary.clear();
    w.comparisons
        .retain(|c| c.arm != "deferred" && c.baseline != "deferred");
    run(e)
}

/// A result with `n` blocks.
pub(crate) fn blocks(n: u32) -> ResultFile {
    run(small("plain", n, [148.0, 139.0, 121.0], 9).0)
}

/// Every sample failed.
pub(crate) fn all_null() -> ResultFile {
    let (mut e, _) = small("plain", 10, [148.0, 139.0, 121.0], 10);
    let w = &mut e.workloads[0];
    for arm in &mut w.arms {
        arm.samples.values_mut().flatten().for_each(|v| *v = None);
        arm.summary.clear();
    }
    for control in w.control.values_mut() {
        control.samples.iter_mut().for_each(|v| *v = None);
        control.floor_pct = None;
    }
    w.comparisons.clear();
    w.warnings
        .push("Every sample failed: look at the first one's output above.".to_owned());
    run(e)
}

/// Forty arms, one of them five times slower.
pub(crate) fn many_arms() -> ResultFile {
    let names: Vec<String> = (0..40).map(|i| format!("segments-{i:02}")).collect();
    let level = |i: u32| if i == 17 { 740.0 } else { 148.0 - f64::from(i) };
    let arms: Vec<(&str, f64)> = names
        .iter()
        .zip(0..)
        .map(|(name, i)| (name.as_str(), level(i)))
        .collect();
    let (mut e, time) = small("plain", 12, [148.0, 139.0, 121.0], 11);
    let invention = Invention {
        name: "plain",
        blocks: 12,
        arms: &arms,
        noise_pct: 0.8,
        weather: Weather::Spikes,
        seed: 12,
    };
    e.workloads = vec![invention.make("time_ns_per_op", &time, 1.0)];
    run(e)
}

/// Names of an attacker's choice.
pub(crate) fn hostile() -> ResultFile {
    let script = "<script>alert('x')</script>";
    let (mut e, mut time) = small("plain", 10, [148.0, 139.0, 121.0], 13);
    time.primary = true;
    time.unit = "\"><img src=x onerror=alert(1)>".to_owned();
    let arms = [
        (script, 148.0),
        ("\u{202e}evil \u{1b}[31mred\u{7}", 131.0),
        ("🚀 رقم عربي & 漢字 | `code`", 127.0),
    ];
    let invention = Invention {
        name: "\"quoted\" & ]]> </pre><style>*{display:none}</style>",
        blocks: 10,
        arms: &arms,
        noise_pct: 0.8,
        weather: Weather::Calm,
        seed: 14,
    };
    let long = "x".repeat(300);
    let mut w = invention.make(&long, &time, 1.0);
    w.params.insert(
        "<b>param</b>".to_owned(),
        serde_json::json!({"k": ["</td>", null]}),
    );
    let functions = difference(arms[1].0, &[script, arms[1].0, arms[2].0, &long, "</svg>"]);
    w.params.insert(FUNCTIONS.to_owned(), functions);
    w.warnings.push(format!("{script} and {long}"));
    (e.metric_order, e.metrics) = with_names([(long.as_str(), time)]);
    e.name = format!("{script}\n# heading");
    e.question = "Does --> end a comment? \\ *bold* _it_ [link](javascript:alert(1))".to_owned();
    e.workloads = vec![w];
    e.left_out = vec![format!("{script}: {long}")];
    let mut result = file(&["furlong", "it's \u{1b}[2J", script], vec![e]);
    result.run.tag = Some(script.to_owned());
    result.run.note = Some(format!("{long} \u{202e} {script}"));
    result.run.machine.host = script.to_owned();
    result.run.machine.cpu = Some("</dd>".to_owned());
    result.run.warnings.push(script.to_owned());
    result
}

/// Values that are not finite, everywhere.
pub(crate) fn not_finite() -> ResultFile {
    let (mut e, _) = small("plain", 10, [148.0, 139.0, 121.0], 15);
    let w = &mut e.workloads[0];
    for (i, arm) in w.arms.iter_mut().enumerate() {
        let samples = arm.samples.get_mut("time_ns_per_op").unwrap();
        samples[i] = Some(f64::NAN);
        samples[i + 3] = Some(f64::NEG_INFINITY);
        if let Some(summary) = arm.summary.get_mut("time_ns_per_op") {
            summary.mean = f64::NAN;
            summary.stddev = Some(f64::INFINITY);
        }
    }
    let bad = f64::NAN;
    let c = &mut w.comparisons[0];
    (c.ci95_pct, c.ci_adj_pct) = (Some([bad, 1.0]), Some([f64::NEG_INFINITY, 1.0]));
    (c.mde_pct, c.sign_flip_p, c.level) = (Some(bad), Some(bad), Some(bad));
    w.comparisons[1].effect_pct = f64::INFINITY;
    if let Some(control) = w.control.get_mut("time_ns_per_op") {
        control.floor_pct = Some(bad);
        control.samples[0] = Some(bad);
    }
    let mut result = run(e);
    result.run.machine.load_1m = Some(bad);
    result
}

/// Names without a target, and lists of different lengths.
pub(crate) fn dangling() -> ResultFile {
    let (mut e, _) = small("plain", 10, [148.0, 139.0, 121.0], 16);
    e.metric_order = vec!["nowhere".to_owned(), "rotations_per_op".to_owned()];
    let w = &mut e.workloads[0];
    w.blocks.truncate(4);
    w.order.truncate(2);
    w.comparisons[0].arm = "nobody".to_owned();
    w.comparisons[1].metric = "nowhere".to_owned();
    w.comparisons[2].baseline = "nobody".to_owned();
    let mut bare = e.clone();
    bare.metrics.clear();
    let mut none = e.clone();
    none.workloads[0].arms.clear();
    let mut idle = e.clone();
    idle.workloads.clear();
    file(&["furlong"], vec![e, bare, none, idle])
}

/// No variance, zeros, negative values, and the largest possible numbers.
pub(crate) fn constant() -> ResultFile {
    let mut noise = Random::new(17);
    let (mut e, time) = small("same", 10, [100.0; 3], 17);
    let template = e.workloads[0].clone();
    let mut values: Vec<Vec<f64>> = vec![vec![100.0; 10], vec![0.0; 10], vec![f64::MAX; 10]];
    values.push((0..10).map(|_| -noise.uniform()).collect());
    values.push(vec![f64::MIN_POSITIVE; 10]);
    e.workloads = values
        .iter()
        .map(|samples| {
            let mut w = template.clone();
            let some: Vec<Option<f64>> = samples.iter().copied().map(Some).collect();
            for arm in &mut w.arms {
                arm.samples
                    .insert("time_ns_per_op".to_owned(), some.clone());
            }
            if let Some(control) = w.control.get_mut("time_ns_per_op") {
                control.samples.clone_from(&some);
            }
            w.comparisons.clear();
            judge(&mut w, "time_ns_per_op", &time, 1.0);
            w
        })
        .collect();
    run(e)
}
