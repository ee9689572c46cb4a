//! Watches a command by `strace`: every call, and the mappings of an exec, but no faults.
//!
//! strace does not report the mappings of an exec. It is told to delay each process briefly after
//! every exec. The line that reports the exec is read at once, and then the process's own list of
//! mappings.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Child, Command};

use furlong_spec::vmspace::trace::What;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::call::Lines;
use super::maps::Line;
use super::means::{CALLS, Unable, installed, tried};
use super::{Recorded, Tape};
use crate::recorder::{Program, missed};
use furlong_lab::error::{Error, cause};

/// Delay of a process after an exec.
const HELD_US: u32 = 20_000;

/// Maximum delay until the end of strace is noticed.
const LOOK_NS: i64 = 100_000_000;

/// Other watched calls: they make tasks and replace spaces.
const TASKS: &str = "clone,clone3,fork,vfork,execve,execveat";

/// Wrapper that execs the command: strace does not delay the program that it starts itself.
const START: [&str; 4] = ["sh", "-c", "exec \"$@\"", "sh"];

fn strace(output: &Path) -> Command {
    let calls = CALLS.join(",");
    let mut command = Command::new("strace");
    command.args(["-f", "-ttt", "-X", "raw", "-e", "signal=none"]);
    command.args(["-e", &format!("trace={calls},{TASKS}")]);
    command.args([
        "-e",
        &format!("inject=execve,execveat:delay_exit={HELD_US}"),
    ]);
    command.arg("-o").arg(output).arg("--").args(START);
    command
}

/// Tests whether strace may be used here.
pub(super) fn try_out() -> Result<(), Unable> {
    installed("strace", "install the package strace")?;
    let remedy = "allow ptrace (in a container: --cap-add=SYS_PTRACE), or install a newer strace";
    tried(strace(Path::new("/dev/null")), remedy)
}

/// Runs a command to its end.
pub(super) fn record(program: &Program) -> Result<Recorded, Error> {
    let failed = |what: &str, error: io::Error| {
        let why = cause(&error);
        Error::failed(format!("strace: {what}: {why}"))
    };
    let folder = tempfile::tempdir().map_err(|error| failed("no temporary folder", error))?;
    let path = folder.path().join("calls");
    let made = mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0);
    made.map_err(|error| failed("no pipe", error.into()))?;
    let mut options = OpenOptions::new();
    let pipe = options
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(&path);
    let pipe = pipe.map_err(|error| failed("no pipe", error))?;
    let mut child = strace(&path).args(&program.words).spawn();
    let child = child
        .as_mut()
        .map_err(|error| Error::failed(format!("strace: {error}")))?;
    let mut witness = Witness::default();
    let watched = watch(pipe, child, |line| witness.line(line));
    watched.map_err(|error| failed("its output cannot be read", error))?;
    let status = child
        .wait()
        .map_err(|error| failed("cannot be waited for", error))?;
    Ok(Recorded {
        status,
        missed: witness.missed(),
        events: witness.tape.events(),
    })
}

/// Passes every line of a pipe to `line` as soon as it arrives, until strace has ended.
fn watch(mut pipe: File, child: &mut Child, mut line: impl FnMut(&str)) -> io::Result<()> {
    let mut text: Vec<u8> = Vec::new();
    let mut bytes = vec![0; 1 << 16];
    loop {
        let limit = Timespec {
            tv_sec: 0,
            tv_nsec: LOOK_NS,
        };
        let ready = match poll(&mut [PollFd::new(&pipe, PollFlags::IN)], Some(&limit)) {
            Err(rustix::io::Errno::INTR) => continue,
            ready => ready?,
        };
        // strace may end before it has opened the pipe.
        if ready == 0 && child.try_wait()?.is_none() {
            continue;
        }
        let read = match pipe.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && ready > 0 => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            read => read?,
        };
        if read == 0 {
            return Ok(());
        }
        text.extend_from_slice(&bytes[..read]);
        let mut begin = 0;
        while let Some(len) = text[begin..].iter().position(|byte| *byte == b'\n') {
            line(&String::from_utf8_lossy(&text[begin..begin + len]));
            begin += len + 1;
        }
        text.drain(..begin);
    }
}

/// State of the recording so far.
#[derive(Default)]
struct Witness {
    tape: Tape,
    lines: Lines,
    number: u64,
    execs: u64,
    unread: u64,
}

impl Witness {
    fn line(&mut self, line: &str) {
        self.number += 1;
        let Some(done) = self.lines.line(self.number, line) else {
            return;
        };
        let (at_us, task) = (done.at_us, done.task);
        if done.what != What::Exec {
            // A child acts before the call that made it returns. Another thread may get unmapped
            // addresses before that call returns.
            let is_early = matches!(done.what, What::Task { .. } | What::Unmap { .. });
            let place = if is_early { done.begun } else { self.number };
            return self.tape.push(place, at_us, task, done.what);
        }
        self.execs += 1;
        if self.execs == 1 {
            return;
        }
        self.tape.push(self.number, at_us, task, What::Exec);
        let images = images(task);
        self.unread += u64::from(images.is_empty());
        for image in images {
            self.tape.push(self.number, at_us, task, image);
        }
    }

    fn missed(&self) -> Vec<String> {
        missed([
            (self.unread, "execs whose mappings are unknown"),
            (
                self.lines.unknown,
                "calls that strace does not show completely",
            ),
        ])
    }
}

/// Mappings of a process that has not run since its exec: the stack, and those below and above it.
fn images(task: u32) -> Vec<What> {
    let text = fs::read(format!("/proc/{task}/maps")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().filter_map(Line::parse);
    let mut lines: Vec<Line<'_>> = lines.filter(|line| line.name != "[vsyscall]").collect();
    lines.sort_by_key(|line| line.name != "[stack]");
    let image = |line: &Line<'_>| What::Image {
        start: line.start,
        len: line.end - line.start,
        prot: u64::from(line.prot.bits()),
        name: name(line).into(),
    };
    lines.iter().map(image).collect()
}

/// An area's name in a trace.
fn name<'a>(line: &Line<'a>) -> &'a str {
    match line.name {
        "[stack]" => "[stack]",
        _ if line.is_anonymous() => "anon",
        name => name.rsplit('/').next().unwrap_or(name),
    }
}

#[cfg(test)]
mod tests {
    use super::{What, Witness};

    #[test]
    fn what_is_unmapped_may_be_mapped_by_another_thread_before_the_call_returns() {
        let mut witness = Witness::default();
        witness.tape.push(0, 0, 7, What::Exec);
        for line in [
            "7 1795331957.940001 munmap(0x7f0000001000, 4096 <unfinished ...>",
            "8 1795331957.940002 mmap(NULL, 4096, 0x3, 0x22, -1, 0) = 0x7f0000001000",
            "7 1795331957.940003 <... munmap resumed>) = 0",
        ] {
            witness.line(line);
        }
        let events = witness.tape.events();
        let order: Vec<u32> = events.iter().map(|event| event.pid).collect();
        assert_eq!(order, [7, 7, 8], "{events:?}");
        assert!(matches!(events[1].what, What::Unmap { .. }), "{events:?}");
    }
}
