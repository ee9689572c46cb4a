//! Checks of the machine's properties.

use super::finding::Finding;
use crate::measure::launch::callgrind::Callgrind;
use crate::measure::launch::pmu::EVENTS;
use crate::model::result::Machine;
use crate::record::machine::{CpuTime, Files};
use crate::record::{STEAL_MAX_PCT, build, disturbing_load, stolen_pct};

/// Clocks that are read without entering the kernel.
const FAST_CLOCKS: [&str; 5] = [
    "tsc",
    "kvm-clock",
    "arch_sys_counter",
    "hyperv_clocksource_tsc_page",
    "riscv_clocksource",
];

/// Returns all checks that need no measuring. `since` is an earlier processor time.
pub fn all(files: &Files, since: Option<CpuTime>) -> Vec<Finding> {
    let machine = files.machine();
    let mut findings = vec![
        frequency(&machine),
        turbo(&machine),
        threads(&machine),
        addresses(&machine),
        huge_pages(&machine),
        load(&machine),
        steal(files, since),
        limits(files, &machine),
        clock(files),
        optimised(build::is_release()),
    ];
    findings.extend(counters());
    findings
}

fn frequency(machine: &Machine) -> Finding {
    const SUBJECT: &str = "frequency governor";
    match machine.governor.as_deref() {
        Some(governor @ ("performance" | "userspace")) => Finding::good(SUBJECT, governor),
        Some(governor) => Finding::bad(
            SUBJECT,
            format!("{governor}: the frequency follows the load"),
            "cpupower frequency-set -g performance",
        ),
        None => Finding::unknown(SUBJECT, "a guest cannot change it: set it on the host"),
    }
}

fn turbo(machine: &Machine) -> Finding {
    match machine.turbo {
        Some(false) => Finding::good("turbo", "off"),
        Some(true) => Finding::bad(
            "turbo",
            "on: the frequency depends on the temperature and on the other processors",
            "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > \
             /sys/devices/system/cpu/cpufreq/boost",
        ),
        None => Finding::unknown("turbo", "a guest cannot change it: turn it off on the host"),
    }
}

fn threads(machine: &Machine) -> Finding {
    const SUBJECT: &str = "SMT";
    match machine.smt {
        Some(false) => Finding::good(SUBJECT, "off"),
        Some(true) => Finding::bad(
            SUBJECT,
            "on: two threads share the execution units of a core",
            "echo off > /sys/devices/system/cpu/smt/control, or keep the other thread of the core \
             idle",
        ),
        None => Finding::unknown(SUBJECT, "look at lscpu on the host"),
    }
}

fn addresses(machine: &Machine) -> Finding {
    const SUBJECT: &str = "address randomisation";
    match machine.aslr {
        Some(2) => Finding::good(SUBJECT, "on: each process gets a random memory layout"),
        Some(level) => Finding::bad(
            SUBJECT,
            format!("{level}: every process has the same memory layout, which may favour one arm"),
            "sysctl kernel.randomize_va_space=2",
        ),
        None => Finding::unknown(SUBJECT, "read kernel.randomize_va_space as root"),
    }
}

fn huge_pages(machine: &Machine) -> Finding {
    const SUBJECT: &str = "transparent huge pages";
    match machine.thp.as_deref() {
        Some("always") => Finding::bad(
            SUBJECT,
            "always: chance decides which processes get huge pages",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        ),
        Some(mode) => Finding::good(SUBJECT, mode),
        None => Finding::good(SUBJECT, "none"),
    }
}

fn load(machine: &Machine) -> Finding {
    let Some(load) = machine.load_1m else {
        return Finding::unknown("load", "look at uptime");
    };
    let text = format!("{load:.2} on {} processors", machine.cpus);
    if disturbing_load(machine).is_some() {
        Finding::bad("load", text, "stop other programs (top shows them)")
    } else {
        Finding::good("load", text)
    }
}

fn steal(files: &Files, since: Option<CpuTime>) -> Finding {
    const SUBJECT: &str = "stolen time";
    match stolen_pct(files, since) {
        Some(share) if share > STEAL_MAX_PCT => Finding::bad(
            SUBJECT,
            format!("{share:.1} % went to other guests"),
            "measure when the host is quieter, or with more blocks",
        ),
        Some(share) => Finding::good(SUBJECT, format!("{share:.1} %")),
        None => Finding::unknown(SUBJECT, "look at st in top"),
    }
}

/// Checks the limits of a container, in both versions of control groups.
fn limits(files: &Files, machine: &Machine) -> Finding {
    const SUBJECT: &str = "container limits";
    const REMEDY: &str = "give the container whole processors (--cpuset-cpus) instead of a share \
                          of time";
    let quota_of = |text: &str| -> Option<f64> {
        let (quota, period) = text.split_once(char::is_whitespace)?;
        Some(quota.parse::<f64>().ok()? / period.trim().parse::<f64>().ok()?)
    };
    let second = files.read("sys/fs/cgroup/cpu.max");
    let first = || {
        let part = |name: &str| files.read(&format!("sys/fs/cgroup/cpu/cpu.cfs_{name}_us"));
        Some(format!("{} {}", part("quota")?, part("period")?))
    };
    let quota = second.or_else(first).and_then(|text| quota_of(&text));
    match quota.filter(|quota| *quota > 0.0) {
        Some(quota) => Finding::bad(
            SUBJECT,
            format!("the time of {quota:.2} processors; beyond it, every process is stopped"),
            REMEDY,
        ),
        None => Finding::good(SUBJECT, format!("none; {} processors", machine.cpus)),
    }
}

fn clock(files: &Files) -> Finding {
    const SUBJECT: &str = "clock";
    let path = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    match files.read(path) {
        Some(clock) if FAST_CLOCKS.contains(&clock.as_str()) => Finding::good(SUBJECT, clock),
        Some(clock) => Finding::bad(
            SUBJECT,
            format!("{clock}: reading it takes a system call"),
            format!("echo tsc > /{path}, or boot with clocksource=tsc"),
        ),
        None => Finding::unknown(SUBJECT, "look at dmesg | grep clocksource"),
    }
}

fn optimised(is_release: bool) -> Finding {
    const SUBJECT: &str = "furlong itself";
    if is_release {
        Finding::good(SUBJECT, "built with optimisation")
    } else {
        Finding::bad(
            SUBJECT,
            "built without optimisation: the figures of its own experiments are meaningless",
            "cargo build --release",
        )
    }
}

/// Checks the available counters.
fn counters() -> Vec<Finding> {
    let subject = |metric: &str| format!("counter {metric}");
    let event = |metric: &str, missing: Option<String>| match missing {
        None => Finding::good(&subject(metric), "there"),
        Some(why) => {
            // The text before the colon is the reason, the text after it the remedy.
            let (text, remedy) = why
                .split_once(": ")
                .unwrap_or((why.as_str(), "look at dmesg"));
            Finding::bad(&subject(metric), text, remedy)
        }
    };
    let mut found: Vec<Finding> = EVENTS
        .iter()
        .map(|one| event(one.metric, one.missing()))
        .collect();
    found.push(match Callgrind::new() {
        Ok(_) => Finding::good(&subject("callgrind"), "there"),
        Err(_) => Finding::bad(
            &subject("callgrind"),
            "valgrind is not installed",
            "apt-get install valgrind",
        ),
    });
    found
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{all, clock, limits, steal};
    use crate::doctor::{Finding, State};
    use crate::record::machine::Files;

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn states(files: &Files) -> Vec<(String, State)> {
        let all = all(files, None).into_iter();
        let own = all
            .filter(|one| !one.subject.starts_with("counter") && one.subject != "furlong itself");
        own.map(|one| (one.subject, one.state)).collect()
    }

    #[test]
    fn a_noisy_machine_has_a_remedy_for_everything() {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            (
                "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
                "powersave\n",
            ),
            ("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
            ("sys/devices/system/cpu/smt/active", "1\n"),
            ("proc/sys/kernel/randomize_va_space", "0\n"),
            (
                "sys/kernel/mm/transparent_hugepage/enabled",
                "[always] madvise never\n",
            ),
            ("proc/loadavg", "99.5 1 1 2/3 4\n"),
            ("proc/stat", "cpu  10 0 10 60 0 0 0 20\n"),
            ("sys/fs/cgroup/cpu.max", "150000 100000\n"),
            (
                "sys/devices/system/clocksource/clocksource0/current_clocksource",
                "hpet\n",
            ),
        ] {
            put(root.path(), path, text);
        }
        let files = Files::under(root.path());
        let found = states(&files);
        assert_eq!(found.len(), 9);
        for (subject, state) in &found {
            let wanted = if subject == "stolen time" {
                State::Unknown
            } else {
                State::Bad
            };
            assert_eq!(*state, wanted, "{subject}");
        }
        let findings = all(&files, None).into_iter();
        let bad = findings.filter(|one| one.state == State::Bad);
        for finding in bad {
            assert!(finding.remedy.is_some(), "{finding}");
            assert!(!finding.to_string().contains('\n'), "{finding}");
        }
        let before = files.cpu_time();
        put(root.path(), "proc/stat", "cpu  20 0 10 60 0 0 0 30\n");
        let stolen = steal(&files, before);
        assert_eq!(
            (stolen.state, &stolen.text[..]),
            (State::Bad, "50.0 % went to other guests")
        );
        assert!(
            limits(&files, &files.machine())
                .text
                .starts_with("the time of 1.50 processors")
        );
    }

    #[test]
    fn a_quiet_machine_has_nothing_bad_and_a_silent_one_is_unknown() {
        let root = tempfile::tempdir().unwrap();
        let files = Files::under(root.path());
        let silent = states(&files);
        let unknown = silent.iter().filter(|(_, state)| *state == State::Unknown);
        assert_eq!(unknown.count(), 7, "{silent:?}");
        for (path, text) in [
            (
                "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
                "performance\n",
            ),
            ("sys/devices/system/cpu/cpufreq/boost", "0\n"),
            ("sys/devices/system/cpu/smt/active", "0\n"),
            ("proc/sys/kernel/randomize_va_space", "2\n"),
            (
                "sys/kernel/mm/transparent_hugepage/enabled",
                "always [madvise] never\n",
            ),
            ("proc/loadavg", "0.01 1 1 2/3 4\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
            (
                "sys/devices/system/clocksource/clocksource0/current_clocksource",
                "tsc\n",
            ),
        ] {
            put(root.path(), path, text);
        }
        let quiet = states(&files);
        assert!(
            quiet.iter().all(|(_, state)| *state != State::Bad),
            "{quiet:?}"
        );
        assert_eq!(clock(&files), Finding::good("clock", "tsc"));
    }
}
