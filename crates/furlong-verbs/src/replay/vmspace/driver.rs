//! The arms of `index` as subjects. A script runs on one of them, once for its answers, then
//! repeatedly for its times.

use std::collections::BTreeMap;
use std::time::Duration;

use furlong::maple::Standard;
use furlong::vmspace::{Custom, Linux, Maple, Rbtree, Space};
use furlong_spec::vmspace::trace::{AddressSpace, Class, Report, Script, Unwatched, replay};

use super::clock::Clock;
use crate::replay::outcome::{Count, Differing, Kind, SubjectOutcome};
use furlong_experiments::vmspace_index::SharedSpace;

/// Timed replays: the minimum of each class counts, because the others were interrupted.
const TIMES: usize = 3;

/// Runs a script on an arm.
type Run = fn(&Script) -> SubjectOutcome;

/// All arms by their names in the experiment, in the mode that the traces were recorded in.
pub(super) const ARMS: [(&str, Run); 3] = [
    ("rbtree", run::<Space<u32, Custom<Rbtree, Linux>>>),
    ("maple", run::<SharedSpace<Standard, Linux>>),
    ("maple-mut", run::<Space<u32, Custom<Maple, Linux>>>),
];

fn run<S: AddressSpace>(script: &Script) -> SubjectOutcome {
    let report = replay::<S>(script, &mut Unwatched);
    let mut least = BTreeMap::<Class, Duration>::new();
    for _ in 0..TIMES {
        let mut clock = Clock::new();
        replay::<S>(script, &mut clock);
        for (class, time) in clock.times() {
            let least = least.entry(class).or_insert(time);
            *least = time.min(*least);
        }
    }
    outcome(&report, &least)
}

fn outcome(report: &Report, times: &BTreeMap<Class, Duration>) -> SubjectOutcome {
    let kinds = report.carried_out.iter().map(|(class, operations)| Kind {
        name: class.name(),
        operations: *operations,
        time_ns_per_op: times
            .get(class)
            .map(|time| time.as_nanos() as f64 / *operations as f64),
    });
    let (places, same) = report.choices;
    let count = |name, value: u64| Count {
        name,
        value: value as f64,
    };
    let differing = report.by_kind().into_iter();
    let differing: Vec<Differing> = differing
        .map(|((class, how), lines)| Differing {
            operation: class.name(),
            how,
            lines,
        })
        .collect();
    SubjectOutcome {
        kinds: kinds.collect(),
        counts: vec![
            count("areas_max", report.areas_max as u64),
            count("places_chosen", places),
            count("places_otherwise", places - same),
        ],
        answers: report.compared,
        wrong: report.mismatches.len() as u64,
        first_wrong: report.mismatches.first().map(ToString::to_string),
        differing,
        ..SubjectOutcome::default()
    }
}
