//! Watches a command by `perf record`: calls, faults, tasks, and the mappings of an exec.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use furlong_spec::vmspace::trace::What;

use super::means::{CALLS, Unable, installed, tried};
use super::sample::{EVENTS, Sample, Seen, of_call};
use super::system_call::{answer, what};
use super::{Recorded, Tape};
use crate::recorder::{Program, missed};
use furlong_lab::error::{Error, cause};

/// Remedy for users without permission to trace.
const REMEDY: &str = "run it as root, or once as root: sysctl kernel.perf_event_paranoid=-1; chmod \
                      -R a+rX /sys/kernel/tracing";

/// Bytes of a page.
const PAGE: u64 = 4096;

/// Pages of the buffer between the kernel and perf, per processor.
const BUFFER_PAGES: &str = "4096";

/// Command that records into `output`. With `-d`, the kernel reports every mapping, not only code.
fn perf_record(output: &Path) -> Command {
    let calls = CALLS.iter().flat_map(|name| of_call(name));
    let events: Vec<String> = calls.chain(EVENTS.map(str::to_owned)).collect();
    let mut command = Command::new("perf");
    command.args(["record", "-q", "-d", "-m", BUFFER_PAGES]);
    command.arg("-e").arg(events.join(","));
    command.arg("-o").arg(output).arg("--");
    command
}

/// Tests whether perf may trace here.
pub(super) fn try_out() -> Result<(), Unable> {
    let package = "install the package linux-perf (on Ubuntu linux-tools-generic)";
    installed("perf", package)?;
    let folder = tempfile::tempdir().map_err(|error| Unable {
        why: cause(&error),
        remedy: REMEDY,
    })?;
    tried(perf_record(&folder.path().join("perf.data")), REMEDY)
}

/// Runs a command to its end.
pub(super) fn record(program: &Program) -> Result<Recorded, Error> {
    let failed = |error: io::Error| Error::failed(format!("perf: {}", cause(&error)));
    let folder = tempfile::tempdir().map_err(failed)?;
    let data = folder.path().join("perf.data");
    let status = perf_record(&data).args(&program.words).status();
    let status = status.map_err(failed)?;
    let mut script = Command::new("perf");
    script.args(["script", "--ns", "-F", "pid,tid,time,event,trace"]);
    script.args([
        "--show-mmap-events",
        "--show-task-events",
        "--show-lost-events",
    ]);
    script.arg("-i").arg(&data).stdin(Stdio::null());
    let script = script.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut script = script.spawn().map_err(failed)?;
    let mut witness = Witness::default();
    if let Some(text) = script.stdout.take() {
        let mut text = BufReader::new(text);
        let mut line = Vec::new();
        while text.read_until(b'\n', &mut line).map_err(failed)? > 0 {
            witness.line(&String::from_utf8_lossy(&line));
            line.clear();
        }
    }
    let ended = script.wait().map_err(failed)?;
    if !ended.success() {
        return Err(Error::failed(format!(
            "perf script cannot read the recording: {ended}"
        )));
    }
    Ok(Recorded {
        status,
        missed: witness.missed(),
        events: witness.tape.events(),
    })
}

/// A call in progress.
struct Begun {
    name: String,
    arguments: Vec<u64>,
    /// Place and time of its entry, and of its mapping.
    entered: (u64, u64),
    mapped: Option<(u64, u64)>,
}

/// State of the recording so far.
#[derive(Default)]
struct Witness {
    tape: Tape,
    number: u64,
    calls: HashMap<u32, Begun>,
    /// The last fault of each task, to recognise a stack that grows.
    faults: HashMap<u32, u64>,
    lost: u64,
    unknown: u64,
}

impl Witness {
    fn line(&mut self, line: &str) {
        self.number += 1;
        match Sample::parse(line) {
            Some(sample) => self.sample(sample),
            None => self.unknown += u64::from(!line.trim().is_empty()),
        }
    }

    fn sample(&mut self, sample: Sample<'_>) {
        let (task, at_us) = (sample.task, sample.at_ns / 1000);
        let place = self.number;
        let what = match sample.what {
            Seen::Enter(name, arguments) => {
                let begun = Begun {
                    name: name.to_owned(),
                    arguments,
                    entered: (place, at_us),
                    mapped: None,
                };
                self.calls.insert(task, begun);
                return;
            }
            Seen::Leave(name, result) => return self.leave(task, (place, at_us), name, result),
            Seen::Mapped(start, len, prot, name) => {
                // The call's own line describes the mapping; this line only gives its time.
                if let Some(begun) = self.calls.get_mut(&task) {
                    begun.mapped.get_or_insert((place, at_us));
                    return;
                }
                if self.has_grown(task, start) {
                    return;
                }
                let name = match name.rsplit('/').next().unwrap_or(name) {
                    "" | "anon" | "[heap]" => "anon",
                    name => name,
                };
                What::Image {
                    start,
                    len,
                    prot,
                    name: name.into(),
                }
            }
            Seen::Fault(address, code) => {
                self.faults.insert(task, address);
                What::Fault { address, code }
            }
            Seen::Exec => What::Exec,
            Seen::Task(child, flags) => What::Task { child, flags },
            Seen::Exit => {
                self.calls.remove(&task);
                What::Exit { task }
            }
            Seen::Lost(records) => {
                self.lost += records;
                return;
            }
            Seen::Other => return,
        };
        self.tape.push(place, at_us, task, what);
    }

    /// True if a mapping at `start` is a stack that grew at the last fault: the kernel reports it
    /// as a new mapping.
    fn has_grown(&mut self, task: u32, start: u64) -> bool {
        let fault = self.faults.remove(&task);
        fault.is_some_and(|fault| fault & !(PAGE - 1) == start)
    }

    /// Ends a call. It is ordered among those of other threads by the time of its mapping. An unmap
    /// is ordered by its entry, because another thread may get the addresses before the call
    /// returns.
    fn leave(&mut self, task: u32, left: (u64, u64), name: &str, result: u64) {
        let begun = self.calls.remove(&task).filter(|begun| begun.name == name);
        let Some(begun) = begun else {
            return;
        };
        let place = match name {
            "munmap" => begun.entered,
            _ => begun.mapped.unwrap_or(left),
        };
        let (place, at_us) = place;
        match what(name, &begun.arguments, answer(result)) {
            Some(what) => self.tape.push(place, at_us, task, what),
            None => self.unknown += 1,
        }
    }

    fn missed(&self) -> Vec<String> {
        missed([
            (
                self.lost,
                "records were lost: the command was faster than perf",
            ),
            (self.unknown, "lines of perf could not be parsed"),
        ])
    }
}
