//! Two commands at once, each on a processor core of its own.

use std::fs;
use std::io::{self, PipeReader};
use std::path::Path;
use std::sync::Barrier;
use std::thread;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::finished::Finished;
use super::launcher::{LaunchError, Launcher, Task};

/// Directory of the system's processors.
const PROCESSORS: &str = "/sys/devices/system/cpu";

/// Returns two processors that this process may use and that share no core.
///
/// # Errors
///
/// A sentence: there is one core alone, or the system does not tell.
pub fn two_cores() -> Result<[usize; 2], String> {
    let allowed = sched_getaffinity(None).map_err(|error| error.to_string())?;
    let allowed = (0..CpuSet::MAX_CPU).filter(|one| allowed.is_set(*one));
    two_of(Path::new(PROCESSORS), allowed)
}

fn two_of(processors: &Path, allowed: impl Iterator<Item = usize>) -> Result<[usize; 2], String> {
    let mut first: Option<(usize, String)> = None;
    for processor in allowed {
        let file = processors.join(format!("cpu{processor}/topology/thread_siblings_list"));
        let core = fs::read_to_string(&file);
        let core = core.map_err(|error| format!("{}: {error}", file.display()))?;
        match &first {
            None => first = Some((processor, core)),
            Some((one, its)) if *its != core => return Ok([*one, processor]),
            Some(_) => {}
        }
    }
    Err("this process may use one core alone".to_owned())
}

impl Launcher {
    /// Runs two commands to their ends, each on its processor alone. They begin together; whichever
    /// takes longer ends by itself.
    ///
    /// # Errors
    ///
    /// [`LaunchError`], as [`Launcher::run`]; a processor that cannot be had is a
    /// [`LaunchError::NoLauncher`].
    pub fn run_both(
        &self,
        tasks: [&Task; 2],
        processors: [usize; 2],
        stop: Option<&PipeReader>,
    ) -> Result<[Finished; 2], LaunchError> {
        let together = Barrier::new(2);
        let run = |task, processor| {
            let here = stay_on(processor);
            together.wait();
            here.map_err(LaunchError::NoLauncher)?;
            self.run(task, stop)
        };
        let [one, other] = [(tasks[0], processors[0]), (tasks[1], processors[1])];
        let (one, other) = thread::scope(|scope| {
            // Threads of their own: this one stays where it may be.
            let one = scope.spawn(|| run(one.0, one.1));
            let other = scope.spawn(|| run(other.0, other.1));
            (one.join(), other.join())
        });
        let panicked = |_| LaunchError::NoLauncher(io::Error::other("a thread panicked"));
        Ok([one.map_err(panicked)??, other.map_err(panicked)??])
    }
}

/// Keeps this thread, and the processes that it starts, on a processor.
fn stay_on(processor: usize) -> io::Result<()> {
    let mut here = CpuSet::new();
    here.set(processor);
    Ok(sched_setaffinity(None, &here)?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::time::Instant;

    use super::{two_cores, two_of};
    use crate::measure::launch::launcher::{Launcher, Output, Task};

    fn machine(cores: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (processor, core) in cores.iter().enumerate() {
            let folder = root.path().join(format!("cpu{processor}/topology"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("thread_siblings_list"), core).unwrap();
        }
        root
    }

    #[test]
    fn two_threads_of_a_core_are_not_two_cores() {
        let two = machine(&["0-1\n", "0-1\n", "2-3\n", "2-3\n"]);
        assert_eq!(two_of(two.path(), 0..4), Ok([0, 2]));
        assert_eq!(two_of(two.path(), 1..4), Ok([1, 2]));
        let one = two_of(two.path(), 0..2).unwrap_err();
        assert_eq!(one, "this process may use one core alone");
        let unknown = two_of(Path::new("/nonexistent"), 0..2).unwrap_err();
        assert!(unknown.starts_with("/nonexistent/cpu0/"), "{unknown}");
    }

    #[test]
    fn both_run_at_once_and_each_on_its_processor() {
        let Ok(processors) = two_cores() else { return };
        let folder = tempfile::tempdir().unwrap();
        // Each waits for the other's file, so one after the other would never end.
        let script = "touch $0; until test -e $1; do :; done; \
                      grep Cpus_allowed_list /proc/self/status > $0.on";
        let task = |own: &str, others: &str| {
            let arguments = ["-c", script, own, others];
            let mut task = Task::new("/bin/sh", &arguments);
            task.folder = Some(folder.path().to_owned());
            task.output = Output::Discard;
            task
        };
        let began = Instant::now();
        let launcher = Launcher::new().unwrap();
        let [a, b] = [task("a", "b"), task("b", "a")];
        let [one, other] = launcher.run_both([&a, &b], processors, None).unwrap();
        let took = began.elapsed().as_secs_f64();
        for (finished, name, processor) in
            [(one, "a.on", processors[0]), (other, "b.on", processors[1])]
        {
            assert!(finished.usage.wall_s <= took);
            let allowed = fs::read_to_string(folder.path().join(name)).unwrap();
            let only = allowed.split_whitespace().last();
            assert_eq!(only, Some(processor.to_string().as_str()), "{allowed}");
        }
    }
}
