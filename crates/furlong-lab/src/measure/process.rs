//! One process per sample: the lab runs its own executable again with the hidden verb `sample`.
//!
//! The parent sleeps while its child measures. Two threads read the child's streams. One channel
//! wakes the parent for the end of a stream, for the timeout and for Ctrl-C. The child dies with
//! its parent, so that no measurement outlives a kill.
#![forbid(unsafe_code)]

use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{self, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use super::interrupt::Interrupt;
use super::sampler::{Job, SampleError, Sampler};
use crate::error::{Error, cause};
use crate::model::{Outcome, Profile};
use crate::record::build;

/// Name of the variable that makes the environment longer.
const PADDING: &str = "FURLONG_PAD";

/// Name of a sample in a list of processes.
const NAME: &str = "furlong";

/// Bytes that are kept of each stream; the rest is discarded.
const SAID_MAX: u64 = 1 << 20;

/// Time to wait for the end of a process that has closed its streams.
const LAST_STEPS: Duration = Duration::from_millis(2);

/// Samples an executable that has the verb `sample`.
pub struct Processes {
    program: PathBuf,
    profile: Profile,
    interrupt: Interrupt,
    /// Text that successful timed samples wrote to stderr.
    notices: Vec<String>,
}

enum Event {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    Signal,
}

/// Status and output of a process that has ended.
struct Remains {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Processes {
    /// Returns a sampler of this executable.
    ///
    /// # Errors
    ///
    /// The system does not report its path.
    pub fn of_this(profile: Profile, interrupt: Interrupt) -> Result<Processes, Error> {
        let program = build::executable()?;
        Ok(Processes::of(program, profile, interrupt))
    }

    /// Returns a sampler of another executable.
    #[must_use]
    pub fn of(program: PathBuf, profile: Profile, interrupt: Interrupt) -> Processes {
        Processes {
            program,
            profile,
            interrupt,
            notices: vec![],
        }
    }

    fn command(&self, job: &Job<'_>) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["sample", job.experiment, &job.workload.name, job.arm]);
        command.args(["--profile", self.profile.name()]);
        command.args(["--seed", &job.seed.to_string()]);
        command.args(["--operations", &job.operations.to_string()]);
        command.args(["--parent", &process::id().to_string()]);
        if job.exact {
            command.arg("--exact");
        }
        command.env(PADDING, "x".repeat(job.padding));
        // The last line of a failed sample is shown. It has to be the message, not a stack frame.
        command.env("RUST_BACKTRACE", "0").arg0(NAME);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn remains(&self, mut command: Command, timeout: Duration) -> Result<Remains, SampleError> {
        let lost =
            |error: io::Error| SampleError::Failed(format!("cannot be run: {}", cause(&error)));
        let (sender, events) = mpsc::channel();
        let waker = sender.clone();
        self.interrupt.wake(move || {
            // The wait may be over already.
            let _ = waker.send(Event::Signal);
        });
        if self.interrupt.signal().is_some() {
            return Err(SampleError::Interrupted);
        }
        let mut child = command.spawn().map_err(lost)?;
        listen(child.stdout.take(), Event::Stdout, sender.clone()).map_err(lost)?;
        listen(child.stderr.take(), Event::Stderr, sender).map_err(lost)?;
        let deadline = Instant::now() + timeout;
        let said = self.said(&events, deadline);
        let over = said.is_ok() && wait_until(&mut child, deadline).map_err(lost)?;
        if !over {
            // It may have ended by itself meanwhile.
            let _ = child.kill();
        }
        let status = child.wait().map_err(lost)?;
        match said {
            Ok(_) if !over => Err(timed_out(timeout)),
            Ok((stdout, stderr)) => Ok(Remains {
                status,
                stdout,
                stderr,
            }),
            Err(None) => Err(timed_out(timeout)),
            Err(Some(miss)) => Err(miss),
        }
    }

    /// Reads both streams to their ends; `Err(None)` if the deadline comes first.
    fn said(
        &self,
        events: &Receiver<Event>,
        deadline: Instant,
    ) -> Result<(Vec<u8>, Vec<u8>), Option<SampleError>> {
        let (mut stdout, mut stderr) = (None, None);
        loop {
            match events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Event::Stdout(bytes)) => stdout = Some(bytes),
                Ok(Event::Stderr(bytes)) => stderr = Some(bytes),
                Ok(Event::Signal) => return Err(Some(SampleError::Interrupted)),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(None);
                }
            }
            if self.interrupt.signal().is_some() {
                return Err(Some(SampleError::Interrupted));
            }
            if let (Some(_), Some(_)) = (&stdout, &stderr) {
                return Ok((stdout.unwrap_or_default(), stderr.unwrap_or_default()));
            }
        }
    }
}

impl Sampler for Processes {
    fn sample(&mut self, job: &Job<'_>) -> Result<Outcome, SampleError> {
        let remains = self.remains(self.command(job), job.timeout)?;
        let outcome = outcome(&remains)?;
        if !job.exact {
            let said = String::from_utf8_lossy(&remains.stderr);
            let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
            self.notices.extend(lines.map(str::to_owned));
        }
        Ok(outcome)
    }

    fn notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }
}

fn timed_out(timeout: Duration) -> SampleError {
    let seconds = timeout.as_secs_f64();
    SampleError::Failed(format!(
        "took more than {seconds} s (--timeout SECONDS allows more)"
    ))
}

fn listen(
    stream: Option<impl Read + Send + 'static>,
    event: fn(Vec<u8>) -> Event,
    sender: Sender<Event>,
) -> io::Result<()> {
    let hear = move || {
        let mut said = vec![];
        if let Some(mut stream) = stream {
            // A broken stream is treated like a closed one: the text before it decides.
            let _ = stream.by_ref().take(SAID_MAX).read_to_end(&mut said);
            let _ = io::copy(&mut stream, &mut io::sink());
        }
        // The parent may have stopped waiting.
        let _ = sender.send(event(said));
    };
    thread::Builder::new()
        .name("listener".to_owned())
        .spawn(hear)
        .map(drop)
}

/// Waits for a process that has closed its streams. As a rule it ends at once.
fn wait_until(child: &mut process::Child, deadline: Instant) -> io::Result<bool> {
    loop {
        if child.try_wait()?.is_some() {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        thread::sleep(LAST_STEPS);
    }
}

/// Interprets the remains of a process.
fn outcome(remains: &Remains) -> Result<Outcome, SampleError> {
    if remains.status.signal() == Some(signal_hook::consts::SIGINT) {
        return Err(SampleError::Interrupted);
    }
    let last = last_line(&remains.stderr);
    if !remains.status.success() {
        let last = if last.is_empty() {
            "it printed nothing"
        } else {
            &last
        };
        return Err(SampleError::Failed(format!("{}: {last}", remains.status)));
    }
    let line = String::from_utf8_lossy(&remains.stdout);
    let line = line.trim();
    serde_json::from_str(line).map_err(|_| {
        let start: String = line.chars().take(60).collect();
        SampleError::Failed(format!(
            "it printed {start:?} instead of one line of JSON; {last}"
        ))
    })
}

/// Prefixes of the lines that end a panic or a failed allocation. The cause is in the lines above
/// them.
const ASIDES: [&str; 2] = ["note: ", "skipping backtrace"];

fn last_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let says = |line: &&str| !line.is_empty() && !ASIDES.iter().any(|with| line.starts_with(with));
    let last = text.lines().rev().map(str::trim).find(says);
    last.unwrap_or_default().chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::Command;
    use std::time::Duration;

    use tempfile::TempDir;

    use super::Processes;
    use crate::measure::interrupt::Interrupt;
    use crate::measure::sampler::{Job, SampleError, Sampler};
    use crate::model::{Outcome, Profile, Workload};

    fn workload() -> Workload {
        Workload {
            name: "plain".to_owned(),
            ..Workload::default()
        }
    }

    /// Makes a shell script that stands for the executable, and the folder that contains it.
    /// Another process writes it. If this process wrote it, a child that another thread forks
    /// meanwhile would inherit the open file, and a file that is open for writing cannot be
    /// executed.
    fn subject(script: &str) -> (TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let program = home.path().join("subject");
        let written = Command::new("sh")
            .args([
                "-c",
                r#"printf '#!/bin/sh\n%s\n' "$1" >"$0" && chmod 755 "$0""#,
            ])
            .arg(&program)
            .arg(script)
            .status();
        assert!(written.unwrap().success());
        (home, program)
    }

    fn job(workload: &Workload, timeout: Duration, exact: bool) -> Job<'_> {
        Job {
            experiment: "race",
            workload,
            arm: "fast",
            seed: 5,
            operations: 100,
            exact,
            padding: 3,
            timeout,
        }
    }

    /// Takes a sample of a script.
    fn sample_of(
        script: &str,
        timeout: Duration,
        interrupt: &Interrupt,
    ) -> Result<Outcome, SampleError> {
        let (_home, program) = subject(script);
        let mut processes = Processes::of(program, Profile::Smoke, interrupt.clone());
        processes.sample(&job(&workload(), timeout, true))
    }

    fn failure_of(script: &str) -> String {
        match sample_of(script, Duration::from_secs(60), &Interrupt::default()) {
            Err(SampleError::Failed(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    const GOOD: &str =
        r#"echo '{"metrics":{"t":1.5},"operations":100,"elapsed_s":0.1,"digest":7}'"#;

    #[test]
    fn one_line_of_json_is_a_sample() {
        let outcome = sample_of(GOOD, Duration::from_secs(60), &Interrupt::default()).unwrap();
        assert_eq!(
            (outcome.metrics["t"], outcome.operations, outcome.digest),
            (1.5, 100, 7)
        );
    }

    #[test]
    fn what_a_sample_says_on_stderr_is_a_notice_of_its_workload() {
        let (home, program) = subject(&format!("echo 'no ring here' >&2; {GOOD}"));
        let mut processes = Processes::of(program, Profile::Smoke, Interrupt::default());
        let workload = workload();
        processes
            .sample(&job(&workload, Duration::from_secs(60), false))
            .unwrap();
        assert_eq!(processes.notices(), ["no ring here"]);
        assert_eq!(processes.notices(), [""; 0]);
        // A counting pass goes through all workloads, so its notices belong to none.
        processes
            .sample(&job(&workload, Duration::from_secs(60), true))
            .unwrap();
        assert_eq!(processes.notices(), [""; 0]);
        drop(home);
    }

    #[test]
    fn the_process_is_told_what_to_do_and_padded() {
        let script = r#"echo "$* pad=$FURLONG_PAD" >&2; exit 9"#;
        let why = failure_of(script);
        let told = "sample race plain fast --profile smoke --seed 5 --operations 100 --parent";
        assert!(why.contains(told), "{why}");
        assert!(why.ends_with("--exact pad=xxx"), "{why}");
    }

    #[test]
    fn a_nonzero_exit_shows_the_last_line_of_stderr() {
        let why = failure_of("echo first >&2; echo last >&2; echo >&2; exit 3");
        assert_eq!(why, "exit status: 3: last");
        assert_eq!(failure_of("exit 4"), "exit status: 4: it printed nothing");
    }

    #[test]
    fn what_follows_the_message_of_a_panic_does_not_hide_it() {
        let why = failure_of("echo the reason >&2; echo 'note: run with X' >&2; exit 101");
        assert_eq!(why, "exit status: 101: the reason");
        let why = failure_of("echo no memory >&2; echo 'skipping backtrace printing' >&2; exit 1");
        assert_eq!(why, "exit status: 1: no memory");
        assert_eq!(
            failure_of("echo \"$RUST_BACKTRACE\" >&2; exit 1"),
            "exit status: 1: 0"
        );
    }

    #[test]
    fn garbage_is_shown_and_is_no_sample() {
        let why = failure_of("echo nonsense; echo reason >&2");
        assert_eq!(
            why,
            "it printed \"nonsense\" instead of one line of JSON; reason"
        );
        assert!(failure_of(&format!("{GOOD}; echo more")).contains("one line of JSON"));
        assert!(failure_of("true").contains("it printed \"\""));
        assert!(failure_of(r"printf '\377\376\000'").contains("one line of JSON"));
    }

    #[test]
    fn endless_talk_is_cut_and_is_no_sample() {
        assert!(failure_of("head -c 3000000 /dev/zero | tr '\\0' a").contains("aaaa"));
    }

    #[test]
    fn a_process_that_does_not_end_is_killed() {
        let short = Duration::from_millis(50);
        let hung = sample_of("exec sleep 1000", short, &Interrupt::default());
        let silent = sample_of(
            "exec sleep 1000 >/dev/null 2>&1",
            short,
            &Interrupt::default(),
        );
        for missed in [hung, silent] {
            let Err(SampleError::Failed(why)) = missed else {
                panic!("{missed:?}")
            };
            assert!(why.starts_with("took more than 0.05 s"), "{why}");
        }
    }

    #[test]
    fn a_signal_ends_the_wait() {
        let interrupt = Interrupt::default();
        let later = interrupt.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            later.raise(2);
        });
        let missed = sample_of("exec sleep 1000", Duration::from_secs(900), &interrupt);
        assert_eq!(missed, Err(SampleError::Interrupted));
        // Nothing is started afterwards.
        assert_eq!(
            sample_of(GOOD, Duration::from_secs(60), &interrupt),
            Err(SampleError::Interrupted)
        );
    }

    #[test]
    fn a_process_that_ctrl_c_killed_is_an_interruption() {
        // A background job of a script ignores the signal, and so do its children.
        let missed = sample_of(
            "exec env --default-signal=INT sh -c 'kill -INT $$'",
            Duration::from_secs(60),
            &Interrupt::default(),
        );
        assert_eq!(missed, Err(SampleError::Interrupted));
    }

    #[test]
    fn a_missing_executable_is_a_failed_sample() {
        let workload = workload();
        let job = Job {
            experiment: "e",
            workload: &workload,
            arm: "a",
            seed: 0,
            operations: 1,
            exact: false,
            padding: 0,
            timeout: Duration::from_secs(1),
        };
        let mut processes = Processes::of(
            "/nowhere/at/all".into(),
            Profile::Smoke,
            Interrupt::default(),
        );
        let Err(SampleError::Failed(why)) = processes.sample(&job) else {
            panic!("it ran")
        };
        assert!(why.starts_with("cannot be run"), "{why}");
    }
}
