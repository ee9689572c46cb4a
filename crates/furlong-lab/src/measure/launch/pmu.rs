//! Counters of the processor and of the kernel, for one command and all that it starts.
//!
//! Each counter is opened on furlong's own thread, disabled. The launcher inherits it, and it
//! starts when the launcher is executed, so it counts the launcher too. The launcher's part is
//! measured once, with a program that does nothing, and subtracted. Inherited counters cannot be
//! read as a group. If the processor has fewer counters than were requested, the kernel multiplexes
//! them, and a count is scaled by the share of time that it was on.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use perf_event::events::{Hardware, Software, Tracepoint};
use perf_event::{Builder, Counter};

use super::launcher::{LaunchError, Launcher, Task};
use crate::error::cause;
use crate::model::MetricPlan;
use crate::model::result::Kind;

/// Directories in which the kernel lists the numbers of tracepoints.
const TRACING: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The tracepoint at the entry of every system call.
const SYSCALLS: &str = "raw_syscalls/sys_enter";

/// The source of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A counter of the processor, in user mode.
    Hardware(Hardware),
    /// The kernel's scheduler.
    Software(Software),
    /// A tracepoint of the kernel.
    Tracepoint(&'static str),
}

/// An event that can be counted.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Name of the metric.
    pub metric: &'static str,
    /// The thing that it counts, one sentence.
    pub about: &'static str,
    source: Source,
}

/// Events that can be counted besides the resource usage that the kernel reports of every process.
pub const EVENTS: [Event; 6] = [
    Event {
        metric: "hw_instructions",
        about: "retired instructions, outside the kernel",
        source: Source::Hardware(Hardware::INSTRUCTIONS),
    },
    Event {
        metric: "hw_cycles",
        about: "cycles of the processor, outside the kernel",
        source: Source::Hardware(Hardware::CPU_CYCLES),
    },
    Event {
        metric: "cache_misses",
        about: "misses of the last-level cache, outside the kernel",
        source: Source::Hardware(Hardware::CACHE_MISSES),
    },
    Event {
        metric: "branch_misses",
        about: "mispredicted branches, outside the kernel",
        source: Source::Hardware(Hardware::BRANCH_MISSES),
    },
    Event {
        metric: "cpu_migrations",
        about: "migrations to another processor",
        source: Source::Software(Software::CPU_MIGRATIONS),
    },
    Event {
        metric: "syscalls",
        about: "system calls of all its processes",
        source: Source::Tracepoint(SYSCALLS),
    },
];

/// The smallest difference in counts that matters, per cent.
const MARGIN_PCT: f64 = 0.1;

impl Event {
    /// True if the processor counts it.
    pub fn is_hardware(&self) -> bool {
        matches!(self.source, Source::Hardware(_))
    }

    /// Returns it as a metric of an experiment.
    pub fn plan(&self) -> MetricPlan {
        MetricPlan::new(self.metric, "1", Kind::Sampled, MARGIN_PCT, self.about)
    }

    /// Opens a counter that starts with the next program that this thread executes.
    fn open(&self) -> io::Result<Counter> {
        let mut builder = match self.source {
            Source::Hardware(event) => Builder::new(event),
            Source::Software(event) => Builder::new(event),
            Source::Tracepoint(name) => Builder::new(Tracepoint::with_id(tracepoint(name)?)),
        };
        if !self.is_hardware() {
            builder.include_kernel();
        }
        builder.inherit(true).enable_on_exec(true).build()
    }

    /// Returns the reason why it cannot be counted here, with a remedy; `None` if it can.
    pub fn missing(&self) -> Option<String> {
        let error = self.open().err()?;
        let why = match error.raw_os_error() {
            Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
                "this machine has no such counter: give the guest a PMU (KVM: -cpu host,pmu=on)"
                    .to_owned()
            }
            Some(libc::EACCES | libc::EPERM) => denied(self.source),
            Some(libc::ENOSYS) => "this kernel has no perf events: CONFIG_PERF_EVENTS".to_owned(),
            _ => cause(&error),
        };
        Some(why)
    }
}

/// Returns the reason why this user is denied an event, with a remedy.
fn denied(source: Source) -> String {
    let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    let level = level.map_or_else(|_| "?".to_owned(), |level| level.trim().to_owned());
    let needed = match source {
        Source::Hardware(_) => 2,
        Source::Software(_) => 1,
        Source::Tracepoint(_) => -1,
    };
    format!(
        "not allowed (kernel.perf_event_paranoid is {level}): sysctl kernel.perf_event_paranoid=\
         {needed}, or give furlong the capability CAP_PERFMON"
    )
}

/// Returns the number of a tracepoint.
fn tracepoint(name: &str) -> io::Result<u64> {
    let mut last = io::Error::from_raw_os_error(libc::EACCES);
    for root in TRACING {
        match fs::read_to_string(format!("{root}/events/{name}/id")) {
            Ok(id) => return id.trim().parse().map_err(io::Error::other),
            Err(error) => last = error,
        }
    }
    match last.kind() {
        // Without permission to read it, the directory looks empty.
        io::ErrorKind::NotFound => Err(io::Error::from_raw_os_error(libc::EACCES)),
        _ => Err(last),
    }
}

/// Returns the event of a metric.
pub fn event(metric: &str) -> Option<&'static Event> {
    EVENTS.iter().find(|event| event.metric == metric)
}

/// A counter's value for one command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    /// Count, scaled to the whole time.
    pub value: f64,
    /// Share of the time that it was on; less than 1 if counters were multiplexed.
    pub share: f64,
}

/// Runs of the program that does nothing. The lowest count is the launcher's part.
const OVERHEAD_RUNS: usize = 5;

/// System calls of that program: a write and an exit.
const SYSCALLS_OF_NOTHING: f64 = 2.0;

/// The launcher's part in each counter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overhead(BTreeMap<&'static str, f64>);

impl Overhead {
    /// Counts a program that does nothing, a few times.
    ///
    /// # Errors
    ///
    /// The program cannot be run. A counter that cannot be read has no overhead here, and reports
    /// its error later.
    pub fn measure(launcher: &Launcher, events: &[&'static Event]) -> Result<Self, LaunchError> {
        let mut least = BTreeMap::new();
        let runs = if events.is_empty() { 0 } else { OVERHEAD_RUNS };
        for _ in 0..runs {
            let counters = Counters::open(events);
            launcher.run(&Task::new(launcher.itself(), &[]), None)?;
            let counts = counters.and_then(|mut counters| counters.read());
            for (metric, count) in counts.unwrap_or_default() {
                let known = least.entry(metric).or_insert(f64::INFINITY);
                *known = known.min(count.value);
            }
        }
        if let Some(syscalls) = least.get_mut("syscalls") {
            *syscalls -= SYSCALLS_OF_NOTHING;
        }
        Ok(Self(least))
    }

    /// Returns a command's count without the launcher's part.
    pub fn taken_off(&self, metric: &str, value: f64) -> f64 {
        let overhead = self.0.get(metric).copied().unwrap_or(0.0);
        (value - overhead).max(0.0)
    }
}

/// Counters, open for one command.
pub struct Counters(Vec<(&'static str, Counter)>);

impl Counters {
    /// Opens counters for the next program that this thread executes.
    ///
    /// # Errors
    ///
    /// The first event that cannot be opened.
    pub fn open(events: &[&'static Event]) -> Result<Self, String> {
        let open = |event: &&'static Event| {
            let counter = event.open();
            let counter = counter.map_err(|error| format!("{}: {}", event.metric, cause(&error)));
            Ok((event.metric, counter?))
        };
        events.iter().map(open).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the counts by metric. A counter that was never on is left out.
    ///
    /// # Errors
    ///
    /// A counter that cannot be read.
    pub fn read(&mut self) -> Result<BTreeMap<&'static str, Count>, String> {
        let mut counts = BTreeMap::new();
        for (metric, counter) in &mut self.0 {
            let data = counter.read_full();
            let data = data.map_err(|error| format!("{metric}: {}", cause(&error)))?;
            let enabled = data.time_enabled().unwrap_or_default().as_secs_f64();
            let running = data.time_running().unwrap_or_default().as_secs_f64();
            counts.extend(scaled(data.count(), enabled, running).map(|count| (*metric, count)));
        }
        Ok(counts)
    }
}

/// Scales a count to the whole time by the share of time that its counter was on; `None` if it
/// never was.
fn scaled(count: u64, enabled_s: f64, running_s: f64) -> Option<Count> {
    let share = (running_s / enabled_s).min(1.0);
    (running_s > 0.0).then(|| Count {
        value: if share < 1.0 {
            count as f64 / share
        } else {
            count as f64
        },
        share,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::process::Command;

    use super::{Counters, EVENTS, Event, Overhead, event, scaled};
    use crate::measure::launch::launcher::{Launcher, Task};

    /// Returns the events that this machine and user can count.
    fn there() -> Vec<&'static Event> {
        EVENTS
            .iter()
            .filter(|event| event.missing().is_none())
            .collect()
    }

    #[test]
    fn a_count_is_scaled_by_the_share_of_the_time_that_it_was_on() {
        let whole = scaled(1000, 2.0, 2.0).unwrap();
        assert_eq!((whole.value, whole.share), (1000.0, 1.0));
        let half = scaled(1000, 2.0, 1.0).unwrap();
        assert_eq!((half.value, half.share), (2000.0, 0.5));
        assert_eq!(scaled(0, 2.0, 0.0), None);
        assert_eq!(scaled(0, 0.0, 0.0), None);
    }

    #[test]
    fn every_event_has_a_name_of_its_own_and_is_found_by_it() {
        let names: BTreeSet<&str> = EVENTS.iter().map(|event| event.metric).collect();
        assert_eq!(names.len(), EVENTS.len());
        assert!(
            names
                .iter()
                .all(|name| event(name).is_some_and(|event| event.metric == *name))
        );
        assert!(event("wall_s").is_none());
    }

    #[test]
    fn the_launchers_part_is_taken_off() {
        let (launcher, events) = (Launcher::new().unwrap(), there());
        let overhead = Overhead::measure(&launcher, &events).unwrap();
        let mut counters = Counters::open(&events).unwrap();
        launcher
            .run(&Task::new(launcher.itself(), &[]), None)
            .unwrap();
        let counts = counters.read().unwrap();
        if let Some(syscalls) = counts.get("syscalls") {
            let left = overhead.taken_off("syscalls", syscalls.value);
            assert!(
                syscalls.value > 20.0,
                "the launcher's are among them: {syscalls:?}"
            );
            // The number of the launcher's waits depends on when the program ends. So a program
            // that does next to nothing may have a few calls left, or none.
            assert!((0.0..=6.0).contains(&left), "{left}");
        }
        assert_eq!(Overhead::default().taken_off("syscalls", 7.0), 7.0);
    }

    #[test]
    fn what_is_missing_is_said_with_what_would_help() {
        for missing in EVENTS.iter().filter_map(Event::missing) {
            assert!(
                missing.contains(':') && !missing.contains('\n'),
                "{missing}"
            );
        }
    }

    #[test]
    fn a_child_is_counted_and_its_children_and_this_process_is_not() {
        let events = there();
        let count = |script: &str| {
            let mut counters = Counters::open(&events).unwrap();
            let _own_work: u64 = std::hint::black_box((0..1_000_000_u64).sum());
            assert!(
                Command::new("sh")
                    .args(["-c", script])
                    .status()
                    .unwrap()
                    .success()
            );
            counters.read().unwrap()
        };
        let (none, many) = (
            count("exit 0"),
            count("true; /bin/true; /bin/true; /bin/true"),
        );
        for metric in ["hw_instructions", "syscalls"] {
            let found = none.get(metric).zip(many.get(metric));
            if let Some((none, many)) = found {
                assert!(none.value > 0.0, "{metric}");
                assert!(many.value > 1.5 * none.value, "{metric}: {none:?} {many:?}");
            }
        }
        if let Some(instructions) = none.get("hw_instructions") {
            assert!(
                instructions.value < 5e6,
                "this process is not counted: {instructions:?}"
            );
        }
    }
}
