//! Figures of the experiments about malloc's seams: instructions, cycles and misses of an
//! operation.
//!
//! The processor counts whole processes. The same process without operations is counted first, and
//! its counts are subtracted. That run is the warm-up too.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Library, Program, Work, file};
use furlong_lab::measure::launch::callgrind::Callgrind;
use furlong_lab::measure::launch::pmu::{Event, event};
use furlong_lab::model::result::Kind;
use furlong_lab::model::{Failure, Outcome, Plan, Request};
use furlong_lab::talk;

/// Metrics from the processor's counters, each with its event.
const PER_OP: [(&str, &str); 3] = [
    ("hw_instructions_per_op", "hw_instructions"),
    ("cycles_per_op", "hw_cycles"),
    ("cache_misses_per_op", "cache_misses"),
];

/// Removes the metrics that cannot be counted here. Those of the processor need its counters, and
/// permission to use them. The exact ones need valgrind.
pub(crate) fn countable(mut plan: Plan) -> Plan {
    let valgrind = Callgrind::new().is_ok();
    let can = |name: &str, kind: Kind| match PER_OP.iter().find(|(metric, _)| *metric == name) {
        Some((_, counter)) => event(counter).is_some_and(|event| event.missing().is_none()),
        None => kind == Kind::Sampled || valgrind,
    };
    plan.metrics.retain(|metric| can(&metric.name, metric.kind));
    let metrics = &plan.metrics;
    for workload in &mut plan.workloads {
        let is_there = |name: &String| metrics.iter().any(|metric| metric.name == *name);
        workload.metrics.retain(is_there);
    }
    plan
}

/// Takes a sample of random mixed with a library preloaded.
pub(crate) fn figures(library: &Library, request: &Request) -> Result<Outcome, Failure> {
    let library = file(library)?;
    let program = Program::new()?;
    let work = |operations| mixed(&library, request, operations);
    if request.exact {
        return exact(&program, &work(request.operations)?);
    }
    for (metric, counter) in PER_OP {
        if let Some(why) = event(counter).and_then(Event::missing) {
            talk::say(&format!("{metric} is not counted: {why}"));
        }
    }
    sampled(&program, &work(0)?, &work(request.operations)?)
}

/// Builds the program's work from a workload.
fn mixed<'a>(library: &'a Path, request: &Request, operations: u64) -> Result<Work<'a>, Failure> {
    let names = ["round", "slots", "seed", "threads"];
    let mut arguments = vec!["mixed".to_owned(), format!("operations={operations}")];
    for name in names {
        let value = request.workload.number(name, 0..=u64::MAX)?;
        arguments.push(format!("{name}={value}"));
    }
    let conservative = request.workload.params.get("conservative") == Some(&1);
    let profile = ("FURLONG_MALLOC_PROFILE", "conservative");
    Ok(Work {
        arguments,
        preload: library,
        input: None,
        settings: conservative.then_some(profile).into_iter().collect(),
    })
}

fn sampled(program: &Program, idle: &Work<'_>, work: &Work<'_>) -> Result<Outcome, Failure> {
    let known = PER_OP
        .iter()
        .filter_map(|(metric, name)| Some((*metric, event(name)?)));
    let counted: Vec<(&str, &'static Event)> = known
        .filter(|(_, event)| event.missing().is_none())
        .collect();
    let events: Vec<&'static Event> = counted.iter().map(|(_, event)| *event).collect();
    let before = program.run(idle, &events)?;
    let done = program.run(work, &events)?;
    let operations = done.operations as f64;
    let mut metrics = BTreeMap::from([
        ("ops_per_s".to_owned(), operations / done.elapsed_s),
        ("peak_rss_kib".to_owned(), done.usage.maxrss_kib as f64),
    ]);
    for (metric, event) in counted {
        let of = |events: &BTreeMap<&str, f64>| events.get(event.metric).copied();
        let (Some(idle), Some(all)) = (of(&before.events), of(&done.events)) else {
            return Err(Failure(format!("{metric}: the counter never ran")));
        };
        metrics.insert(metric.to_owned(), (all - idle).max(0.0) / operations);
    }
    Ok(done.outcome(metrics))
}

fn exact(program: &Program, work: &Work<'_>) -> Result<Outcome, Failure> {
    let (done, count) = program.count(work)?;
    let per_op = |number: u64| number as f64 / done.operations.max(1) as f64;
    let misses = count.misses.unwrap_or_default();
    let metrics = [
        ("instructions_per_op", count.instructions),
        ("sim_l1_misses_per_op", misses.first),
        ("sim_ll_misses_per_op", misses.last),
    ];
    let metrics = metrics.map(|(name, number)| (name.to_owned(), per_op(number)));
    Ok(done.outcome(metrics.into()))
}
