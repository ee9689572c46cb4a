//! Runs tests, each alone in a process with limits. First each runs without a mutant, to record its
//! functions and its time; then with each mutant in those functions.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::build::Program;
use crate::weave;

/// A test that passes without a mutant.
#[derive(Debug)]
pub struct Test {
    pub name: String,
    program: Program,
    /// Its name within the program.
    filter: String,
    took: Duration,
    /// The first mutants of the functions that it enters.
    reaches: BTreeSet<usize>,
    kills: AtomicUsize,
}

/// The result of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// This test failed.
    Killed(String),
    /// This test did not end.
    Endless(String),
    /// This number of tests entered the function, and all of them passed.
    Survived(usize),
    /// No time was left.
    Untested,
}

/// The result of one test.
#[derive(Debug, PartialEq)]
enum End {
    Passed,
    Failed,
    Late,
}

/// The address space of a test in KiB, since a mutant may allocate without end.
const SPACE_KIB: u64 = 6 << 20;

/// Runs a test with a limit of processor time, and one of elapsed time that is six times as long.
fn run(
    program: &Program,
    filter: &str,
    limit: Duration,
    variable: (&str, &str),
) -> io::Result<End> {
    let seconds = limit.as_secs() + 1;
    let script = format!("ulimit -c 0; ulimit -t {seconds}; ulimit -v {SPACE_KIB}; exec \"$@\"");
    let mut child = Command::new("sh")
        .args(["-c", &script, "sh"])
        .arg(&program.path)
        .args(["--exact", filter, "--test-threads", "1"])
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .env("LOOM_MAX_PREEMPTIONS", "2")
        .env("RUST_BACKTRACE", "0")
        .env(variable.0, variable.1)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    let begun = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            const SIGXCPU: i32 = 24;
            const SIGKILL: i32 = 9;
            return Ok(match status.signal() {
                _ if status.success() => End::Passed,
                Some(SIGXCPU | SIGKILL) => End::Late,
                _ => End::Failed,
            });
        }
        if begun.elapsed() > 6 * Duration::from_secs(seconds) {
            end(&mut child)?;
            return Ok(End::Late);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// Kills a test and its child processes.
fn end(child: &mut Child) -> io::Result<()> {
    let group = format!("-{}", child.id());
    Command::new("kill")
        .args(["-KILL", "--", &group])
        .stderr(Stdio::null())
        .status()?;
    child.wait().map(drop)
}

/// Calls `work` for each number below `count`, on `jobs` threads.
fn on_threads<T: Send>(
    jobs: usize,
    count: usize,
    work: impl Fn(usize) -> io::Result<T> + Sync,
) -> io::Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(vec![]);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs.max(1))
            .map(|_| {
                scope.spawn(|| -> io::Result<()> {
                    loop {
                        // Relaxed: each number is taken once; the lock publishes the results.
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        if at >= count {
                            return Ok(());
                        }
                        let one = work(at)?;
                        done.lock()
                            .map_err(|_| io::Error::other("a thread panicked"))?
                            .push((at, one));
                    }
                })
            })
            .collect();
        let panicked = || Err(io::Error::other("a thread panicked"));
        threads
            .into_iter()
            .try_for_each(|one| one.join().unwrap_or_else(|_| panicked()))
    })?;
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, one)| one).collect())
}

/// The names of a program's tests.
fn listed(program: &Program) -> io::Result<Vec<String>> {
    let out = Command::new(&program.path)
        .arg("--list")
        .args(&program.filters)
        .current_dir(&program.folder)
        .output()?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    Ok(text
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .map(String::from)
        .collect())
}

/// Runs every test without a mutant. Tests that do not pass, or have not begun when time is up, are
/// left out, and their names returned.
pub fn baseline(
    programs: &[Program],
    jobs: usize,
    notes: &Path,
    longest: Duration,
    until: Instant,
) -> io::Result<(Vec<Test>, Vec<String>)> {
    let mut all = vec![];
    for program in programs {
        all.extend(listed(program)?.into_iter().map(|filter| (program, filter)));
    }
    let one = |at: usize| -> io::Result<Result<Test, String>> {
        let (program, filter) = &all[at];
        let name = format!("{} {filter}", program.name);
        if Instant::now() > until {
            return Ok(Err(name));
        }
        let note = notes.join(format!("reached-{at}"));
        // So that the file exists even if no function is entered.
        fs::write(&note, "")?;
        let begun = Instant::now();
        let reached = (weave::REACHED, note.to_str().unwrap_or_default());
        if run(program, filter, longest, reached)? != End::Passed {
            return Ok(Err(name));
        }
        let took = begun.elapsed();
        let words = fs::read(&note)?;
        fs::remove_file(&note)?;
        let number = |four: &[u8]| {
            four.iter()
                .rev()
                .fold(0, |sum, byte| 256 * sum + usize::from(*byte))
        };
        Ok(Ok(Test {
            name,
            program: (*program).clone(),
            filter: filter.clone(),
            took,
            reaches: words.chunks_exact(4).map(number).collect(),
            kills: AtomicUsize::new(0),
        }))
    };
    let (mut tests, mut left_out) = (vec![], vec![]);
    for result in on_threads(jobs, all.len(), one)? {
        match result {
            Ok(test) => tests.push(test),
            Err(name) => left_out.push(name),
        }
    }
    Ok((tests, left_out))
}

/// Runs the tests against each mutant of `functions`, which has its number and the first number of
/// its function. The tests with the most kills a second run first; the first failure ends the
/// trial.
pub fn trials(
    tests: &[Test],
    functions: &[(usize, usize)],
    jobs: usize,
    until: Instant,
    said: impl Fn(usize, &Fate) + Sync,
) -> io::Result<Vec<Fate>> {
    on_threads(jobs, functions.len(), |at| {
        let (number, function) = functions[at];
        let fate = trial(tests, number, function, until)?;
        said(at, &fate);
        Ok(fate)
    })
}

fn trial(tests: &[Test], number: usize, function: usize, until: Instant) -> io::Result<Fate> {
    let mut able: Vec<&Test> = tests
        .iter()
        .filter(|test| test.reaches.contains(&function))
        .collect();
    // Relaxed: the order only saves time.
    able.sort_by_key(|test| {
        let seconds = test.took.as_secs_f64() + 0.01;
        let kills = test.kills.load(Ordering::Relaxed) as f64;
        // Kills a second. All are positive floats, so their bits have the same order.
        std::cmp::Reverse(((1.0 + kills) / seconds).to_bits())
    });
    for test in &able {
        if Instant::now() > until {
            return Ok(Fate::Untested);
        }
        let limit = Duration::from_secs(2) + 5 * test.took;
        let end = run(
            &test.program,
            &test.filter,
            limit,
            (weave::CHOSEN, &number.to_string()),
        )?;
        if end != End::Passed {
            // Relaxed: as above.
            test.kills.fetch_add(1, Ordering::Relaxed);
            let name = test.name.clone();
            return Ok(if end == End::Late {
                Fate::Endless(name)
            } else {
                Fate::Killed(name)
            });
        }
    }
    Ok(Fate::Survived(able.len()))
}
