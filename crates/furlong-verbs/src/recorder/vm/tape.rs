//! The events of a command, in order, and as a file.

use std::collections::HashMap;
use std::io::{self, Write};
use std::process::ExitStatus;

use furlong_spec::vmspace::trace::{Event, HEADING, What};

/// Flag of `clone`: the child is a thread of the process.
const CLONE_THREAD: u64 = 0x1_0000;

/// An action of a task.
#[derive(Clone, Debug)]
struct Happening {
    /// Sort key.
    place: u64,
    at_us: u64,
    task: u32,
    what: What,
}

/// Actions of tasks, in any order.
#[derive(Clone, Debug, Default)]
pub(super) struct Tape(Vec<Happening>);

/// A recorded command.
#[derive(Debug)]
pub struct Recorded {
    /// Its events.
    pub events: Vec<Event>,
    /// Its exit status.
    pub status: ExitStatus,
    /// Missing events, a line each.
    pub missed: Vec<String>,
}

impl Tape {
    /// Adds an action of a task; `place` decides the order.
    pub(super) fn push(&mut self, place: u64, at_us: u64, task: u32, what: What) {
        self.0.push(Happening {
            place,
            at_us,
            task,
            what,
        });
    }

    /// The events from the first exec on, each assigned to its task's process.
    pub(super) fn events(mut self) -> Vec<Event> {
        self.0.sort_by_key(|happening| happening.place);
        let begun = self.0.iter();
        let begun = begun.skip_while(|happening| happening.what != What::Exec);
        let first_us = begun.clone().next().map_or(0, |first| first.at_us);
        let mut processes = HashMap::new();
        let mut before_us = 0;
        let events = begun.map(|happening| {
            let Happening { task, what, .. } = happening;
            let pid = processes.get(task).copied().unwrap_or(*task);
            match what {
                What::Task { child, flags } if flags & CLONE_THREAD != 0 => {
                    processes.insert(*child, pid);
                }
                // The number of an ended thread may be reused.
                What::Task { child: gone, .. } | What::Exit { task: gone } => {
                    processes.remove(gone);
                }
                _ => {}
            }
            // The clock may have been set back.
            before_us = happening.at_us.saturating_sub(first_us).max(before_us);
            Event {
                line: 0,
                at_us: before_us,
                pid,
                what: what.clone(),
            }
        });
        events.collect()
    }
}

impl Recorded {
    /// Writes the trace; `about` are lines that describe it.
    ///
    /// # Errors
    /// The first error of `out`.
    pub fn write(&self, about: &[String], mut out: impl Write) -> io::Result<()> {
        writeln!(out, "{HEADING}")?;
        for line in about {
            writeln!(out, "# {line}")?;
        }
        for event in &self.events {
            writeln!(out, "{event}")?;
        }
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use furlong_spec::vmspace::trace::What;

    use super::Tape;

    fn lines(tape: Tape) -> Vec<String> {
        tape.events().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn events_are_in_order_and_of_processes_and_begin_with_an_exec() {
        let mut tape = Tape::default();
        let brk = || What::Brk {
            end: 0,
            answer: Ok(0x1000),
        };
        let task = |child, flags| What::Task { child, flags };
        tape.push(1, 90, 7, brk());
        tape.push(2, 100, 7, What::Exec);
        tape.push(5, 130, 8, brk());
        tape.push(3, 120, 7, task(8, 0x1_0100));
        tape.push(6, 110, 8, What::Exit { task: 8 });
        tape.push(7, 140, 7, task(8, 0));
        tape.push(8, 150, 8, brk());
        let expected = [
            "0 x 7",
            "20 c 7 8 10100",
            "30 b 7 0 = 1000",
            "30 e 8 7",
            "40 c 7 8 0",
            "50 b 8 0 = 1000",
        ];
        assert_eq!(lines(tape), expected);
        assert!(lines(Tape::default()).is_empty());
    }
}
