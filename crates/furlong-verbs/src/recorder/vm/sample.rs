//! Parser of `perf script`: samples of tracepoints, and records of perf's own.

use super::ticks;

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample<'a> {
    pub(super) task: u32,
    pub(super) at_ns: u64,
    pub(super) what: Seen<'a>,
}

/// Event of a line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Seen<'a> {
    /// A call begins, with its arguments.
    Enter(&'a str, Vec<u64>),
    /// A call ends, with its result.
    Leave(&'a str, u64),
    /// A page fault: its address and its code.
    Fault(u64, u64),
    /// An exec has replaced the space.
    Exec,
    /// A new mapping: start, length, protection and name.
    Mapped(u64, u64, u64, &'a str),
    /// A new task, with the flags of its `clone`.
    Task(u32, u64),
    /// The task has ended.
    Exit,
    /// The number of lost records.
    Lost(u64),
    /// Any other event.
    Other,
}

/// The tracepoints with fixed names.
const FAULT: &str = "exceptions:page_fault_user";
const TASK: &str = "task:task_newtask";
const EXIT: &str = "sched:sched_process_exit";
const ENTER: &str = "syscalls:sys_enter_";
const LEAVE: &str = "syscalls:sys_exit_";

/// Tracepoints recorded besides calls.
pub(super) const EVENTS: [&str; 3] = [FAULT, TASK, EXIT];

/// The two tracepoints of a call.
pub(super) fn of_call(name: &str) -> [String; 2] {
    [format!("{ENTER}{name}"), format!("{LEAVE}{name}")]
}

impl<'a> Sample<'a> {
    /// Parses `pid/tid time: event: fields`. `None` if the line is no sample.
    pub(super) fn parse(line: &'a str) -> Option<Self> {
        let (ids, rest) = line.trim_start().split_once(char::is_whitespace)?;
        let task = ids.split_once('/')?.1.parse().ok()?;
        let (time, rest) = rest.trim_start().split_once(": ")?;
        let at_ns = ticks(time.trim(), 9)?;
        let rest = rest.trim_start();
        let what = match rest.strip_prefix("PERF_RECORD_") {
            Some(record) => record_of(record)?,
            None => {
                let (event, fields) = rest.split_once(": ").unwrap_or((rest, ""));
                sampled(event.trim_end_matches(':'), fields.trim())?
            }
        };
        Some(Self { task, at_ns, what })
    }
}

fn hex(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
}

/// The word after `name`, up to the next blank or comma.
fn field<'a>(fields: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = fields.split_once(name)?;
    rest.split([' ', ',']).next()
}

fn sampled<'a>(event: &'a str, fields: &'a str) -> Option<Seen<'a>> {
    if let Some(name) = event.strip_prefix(ENTER) {
        let values = fields
            .split(", ")
            .map(|field| hex(field.rsplit_once(": ")?.1));
        return Some(Seen::Enter(name, values.collect::<Option<_>>()?));
    }
    if let Some(name) = event.strip_prefix(LEAVE) {
        return Some(Seen::Leave(name, hex(fields)?));
    }
    Some(match event {
        FAULT => Seen::Fault(
            hex(field(fields, "address=")?)?,
            hex(field(fields, "error_code=")?)?,
        ),
        // A task's name, which may be any text, stands between the two fields.
        TASK => {
            let flags = fields.rsplit_once("clone_flags=")?.1;
            let flags = flags.split(' ').next().and_then(hex)?;
            Seen::Task(field(fields, "pid=")?.parse().ok()?, flags)
        }
        EXIT => Seen::Exit,
        _ => Seen::Other,
    })
}

fn record_of(record: &str) -> Option<Seen<'_>> {
    let (kind, rest) = record.split_once([' ', '(', ':']).unwrap_or((record, ""));
    Some(match kind {
        "COMM" if rest.starts_with("exec:") => Seen::Exec,
        "MMAP2" | "MMAP" => mapped(rest)?,
        "LOST" | "LOST_SAMPLES" => {
            let lost = rest.trim_start().strip_prefix("lost ")?;
            Seen::Lost(lost.split(' ').next()?.parse().ok()?)
        }
        _ => Seen::Other,
    })
}

/// Parses `7/7: [0x7f3c(0x35000) @ 0 fe:00 8102 3]: r--p /usr/lib/ld.so`.
fn mapped(rest: &str) -> Option<Seen<'_>> {
    let (_, rest) = rest.split_once('[')?;
    let (start, rest) = rest.split_once('(')?;
    let (len, rest) = rest.split_once(')')?;
    let (_, rest) = rest.split_once("]: ")?;
    let (prot, name) = rest.split_once(' ')?;
    let bits = prot.bytes().zip([1, 2, 4]);
    let prot = bits
        .filter(|(letter, _)| *letter != b'-')
        .map(|(_, bit)| bit);
    Some(Seen::Mapped(
        hex(start)?,
        hex(len)?,
        prot.sum(),
        name.trim(),
    ))
}

#[cfg(test)]
mod tests {
    use super::{Sample, Seen};

    fn seen(rest: &str) -> Option<Seen<'_>> {
        let line = Box::leak(format!("  7/8  5123.000000009:  {rest}").into_boxed_str());
        let sample = Sample::parse(line)?;
        assert_eq!((sample.task, sample.at_ns), (8, 5_123_000_000_009));
        Some(sample.what)
    }

    #[test]
    fn the_ends_of_calls_are_understood() {
        let enter = "syscalls:sys_enter_mmap: addr: 0x00000000, len: 0x00002000, prot: 0x00000003, \
                     flags: 0x00000022, fd: 0xffffffffffffffff, off: 0x00000000";
        let arguments = vec![0, 0x2000, 3, 0x22, u64::MAX, 0];
        assert_eq!(seen(enter), Some(Seen::Enter("mmap", arguments)));
        let leave = seen("syscalls:sys_exit_mmap: 0x7f3c78774000");
        assert_eq!(leave, Some(Seen::Leave("mmap", 0x7f3c_7877_4000)));
        let refused = seen("syscalls:sys_exit_munmap: 0xfffffffffffffff4");
        assert_eq!(refused, Some(Seen::Leave("munmap", -12_i64 as u64)));
    }

    #[test]
    fn faults_and_tasks_are_understood() {
        let fault = "exceptions:page_fault_user: address=0x7ffe1000 ip=0x55d0 error_code=0x6";
        assert_eq!(seen(fault), Some(Seen::Fault(0x7ffe_1000, 6)));
        let task = "task:task_newtask: pid=9 comm=a b=1 clone_flags=4111 oom_score_adj=0";
        assert_eq!(seen(task), Some(Seen::Task(9, 0x4111)));
        let exit = seen("sched:sched_process_exit: comm=a pid=8 prio=120");
        assert_eq!(exit, Some(Seen::Exit));
    }

    #[test]
    fn records_of_perfs_own_are_understood() {
        let mapped = "PERF_RECORD_MMAP2 7/8: [0x7f3c78785000(0x35000) @ 0x1000 fe:00 8102 3]: r-xp \
                      /usr/lib/a b.so";
        let expected = Seen::Mapped(0x7f3c_7878_5000, 0x3_5000, 5, "/usr/lib/a b.so");
        assert_eq!(seen(mapped), Some(expected));
        assert_eq!(seen("PERF_RECORD_COMM exec: a b:7/7"), Some(Seen::Exec));
        assert_eq!(seen("PERF_RECORD_COMM: a b:7/7"), Some(Seen::Other));
        assert_eq!(seen("PERF_RECORD_FORK(9:9):(7:7)"), Some(Seen::Other));
        assert_eq!(seen("PERF_RECORD_LOST lost 12"), Some(Seen::Lost(12)));
    }

    #[test]
    fn what_is_no_sample_is_none() {
        assert_eq!(Sample::parse(""), None);
        assert_eq!(Sample::parse("7 5123.000000009: x: y"), None);
        assert_eq!(Sample::parse("7/8 5123.09: x: y"), None);
        assert_eq!(seen("syscalls:sys_enter_mmap: addr: zero"), None);
    }
}
