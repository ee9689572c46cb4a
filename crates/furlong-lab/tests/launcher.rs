//! The launcher, embedded in the library, with real commands.
#![forbid(unsafe_code)]

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use furlong_lab::measure::launch::finished::{Ending, Finished};
use furlong_lab::measure::launch::launcher::{LaunchError, Launcher, Layout, Output, Task};

/// Runs a task with a new launcher.
fn run(task: &Task) -> Result<Finished, LaunchError> {
    Launcher::new().unwrap().run(task, None)
}

/// A shell script as a task.
fn script(text: &str) -> Task {
    Task::new("/bin/sh", &["-c", text])
}

/// Runs a task that must start, and also returns its output.
fn printed(mut task: Task) -> (Finished, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out");
    task.output = Output::File(path.clone());
    let finished = run(&task).unwrap();
    (finished, fs::read_to_string(path).unwrap())
}

/// Waits until a condition holds, for ten seconds at most.
fn comes_true(condition: impl Fn() -> bool) -> bool {
    (0..1000).any(|_| {
        condition() || {
            std::thread::sleep(Duration::from_millis(10));
            false
        }
    })
}

/// Checks that the processes with the ids in a file end.
fn all_go(pids: &Path) {
    for pid in fs::read_to_string(pids).unwrap().split_whitespace() {
        let stat = format!("/proc/{pid}/stat");
        let gone = || fs::read_to_string(&stat).map_or(true, |line| line.contains(") Z "));
        assert!(comes_true(gone), "process {pid} is still there");
    }
}

#[test]
fn exit_codes_and_signals_come_back_as_they_are() {
    let ending = |text| run(&script(text)).unwrap().ending;
    assert_eq!(ending("exit 0"), Ending::Exited(0));
    assert_eq!(ending("exit 127"), Ending::Exited(127));
    assert_eq!(ending("exit 255"), Ending::Exited(255));
    assert_eq!(ending("kill -9 $$"), Ending::Signalled(9));
    assert_eq!(ending("kill -TERM $$"), Ending::Signalled(15));
}

#[test]
fn a_program_that_cannot_start_is_not_one_that_exits_with_127() {
    let errno = |path: &Path| match run(&Task::new(path, &[])) {
        Err(LaunchError::NotExecuted(_, error)) => error.raw_os_error(),
        other => panic!("{other:?}"),
    };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("program");
    assert_eq!(errno(&path), Some(2), "missing");
    fs::write(&path, "echo no first line").unwrap();
    assert_eq!(errno(&path), Some(13), "not executable");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(errno(&path), Some(8), "neither a program nor a script");
    assert_eq!(errno(directory.path()), Some(13), "a directory");
}

#[test]
fn an_input_that_is_missing_is_said_and_nothing_runs() {
    let directory = tempfile::tempdir().unwrap();
    let witness = directory.path().join("ran");
    let mut task = script(&format!("touch {}", witness.display()));
    task.input = directory.path().join("missing");
    assert!(matches!(run(&task), Err(LaunchError::NoInput(path, _)) if path == task.input));
    assert!(!witness.exists());
}

#[test]
fn the_input_is_read_from_its_beginning_each_time() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("input");
    fs::write(&path, "line\n").unwrap();
    let mut task = script("read word && test \"$word\" = line");
    task.input = path;
    for _ in 0..2 {
        assert_eq!(run(&task).unwrap().ending, Ending::Exited(0));
    }
}

#[test]
fn memory_of_the_measuring_process_is_not_the_commands() {
    let launcher = Launcher::new().unwrap();
    let truth = Task::new("/bin/true", &[]);
    let own = || median_of_30(|| launcher.run(&truth, None).unwrap().usage.maxrss_kib);
    let before_kib = own();
    let ballast = vec![1_u8; 200 << 20];
    let after_kib = own();
    assert!(
        ballast.iter().step_by(4096).all(|byte| *byte == 1),
        "it is really there"
    );
    assert!(
        before_kib.abs_diff(after_kib) <= 64,
        "{before_kib} KiB, then {after_kib} KiB"
    );

    if !Path::new("/usr/bin/time").exists() {
        // Not `eprintln!`, which the harness captures: a skipped test must be visible.
        let _ = writeln!(
            io::stderr(),
            "left out, there is no /usr/bin/time to compare with"
        );
        return;
    }
    let gnu_kib = median_of_30(gnu_time_of_true_kib);
    assert!(
        gnu_kib.abs_diff(after_kib) <= 64,
        "{after_kib} KiB, GNU time: {gnu_kib} KiB"
    );
}

/// The median of thirty values.
fn median_of_30(value: impl Fn() -> u64) -> u64 {
    let mut values: Vec<u64> = (0..30).map(|_| value()).collect();
    values.sort_unstable();
    u64::midpoint(values[14], values[15])
}

/// The peak memory of `true` by GNU time, which also starts it from a small process.
fn gnu_time_of_true_kib() -> u64 {
    let time = Command::new("/usr/bin/time")
        .args(["-f", "%M", "/bin/true"])
        .output();
    let output = time.unwrap();
    String::from_utf8_lossy(&output.stderr)
        .trim()
        .parse()
        .unwrap()
}

#[test]
fn each_kind_of_work_shows_in_its_own_figure() {
    let usage = |text| run(&script(text)).unwrap().usage;
    let idle = usage("sleep 0.2");
    assert!(idle.wall_s >= 0.2, "{idle:?}");
    assert!(idle.user_s + idle.sys_s < idle.wall_s, "{idle:?}");
    assert!(idle.voluntary_switches >= 2, "{idle:?}");
    let busy = usage("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done");
    assert!(busy.user_s > idle.user_s, "{busy:?}");
    let large = usage("head -c 64m /dev/zero | tail -c 64m | wc -c");
    assert!(
        (64 << 10..256 << 10).contains(&large.maxrss_kib),
        "{large:?}"
    );
    assert!(large.minor_faults > idle.minor_faults + 1000, "{large:?}");
}

#[test]
fn a_command_that_hangs_is_stopped_with_all_that_it_started() {
    let directory = tempfile::tempdir().unwrap();
    let pids = directory.path().join("pids");
    // One of them is in a session of its own, and its parent has left.
    let away = "(setsid sh -c 'echo $$; exec sleep 1000' &)";
    let text = format!(
        "trap '' TERM INT HUP; exec > {}; {away}; sleep 1000 & ",
        pids.display()
    );
    let mut task = script(&format!("{text} echo $! $$; wait"));
    task.limit = Some(Duration::from_millis(500));
    let finished = run(&task).unwrap();
    assert_eq!(finished.ending, Ending::TimedOut);
    assert!(finished.usage.wall_s >= 0.5, "{finished:?}");
    all_go(&pids);
}

#[test]
fn a_word_from_outside_stops_the_command_with_all_that_it_started() {
    let directory = tempfile::tempdir().unwrap();
    let pids = directory.path().join("pids");
    let away = "setsid sh -c 'sleep 1000 & echo $! $$; wait' &";
    let task = script(&format!("exec > {}; {away} wait", pids.display()));
    let (stop, mut other_end) = io::pipe().unwrap();
    let launcher = Launcher::new().unwrap();
    let missed = std::thread::scope(|scope| {
        scope.spawn(|| {
            assert!(comes_true(
                || fs::read_to_string(&pids).is_ok_and(|t| t.ends_with('\n'))
            ));
            other_end.write_all(b"!").unwrap();
        });
        launcher.run(&task, Some(&stop))
    });
    assert!(
        matches!(missed, Err(LaunchError::Interrupted)),
        "{missed:?}"
    );
    all_go(&pids);
}

#[test]
fn a_time_limit_that_is_not_reached_changes_nothing() {
    let mut task = script("exit 5");
    for limit in [Duration::from_secs(600), Duration::MAX] {
        task.limit = Some(limit);
        assert_eq!(run(&task).unwrap().ending, Ending::Exited(5));
    }
}

#[test]
fn a_process_left_behind_is_noticed_and_not_waited_for() {
    let finished = run(&script("sleep 5 & echo started >&2")).unwrap();
    assert_eq!(finished.ending, Ending::Exited(0));
    assert!(finished.left_behind);
    assert!(run(&script("setsid sleep 5 &")).unwrap().left_behind);
    assert!(finished.usage.wall_s < 5.0, "{finished:?}");
    assert_eq!(finished.last_error_line().as_deref(), Some("started"));
    assert!(!run(&script("sleep 0.01 & wait")).unwrap().left_behind);
}

#[test]
fn a_command_has_no_terminal_and_its_own_session_and_group() {
    let text = "(: < /dev/tty) 2> /dev/null && echo terminal; cat /proc/$$/stat";
    let (finished, stat) = printed(script(text));
    assert_eq!(finished.ending, Ending::Exited(0));
    let pid = stat.split(' ').next().unwrap();
    assert_eq!(stat_field(&stat, 2), pid, "leads its process group");
    let own = fs::read_to_string("/proc/self/stat").unwrap();
    assert_ne!(
        stat_field(&stat, 3),
        stat_field(&own, 3),
        "a session of its own"
    );
    assert_eq!(stat_field(&stat, 4), "0", "no terminal");
}

/// A field of a line of `/proc/<pid>/stat`, counted from the state on.
fn stat_field(stat: &str, index: usize) -> &str {
    let fields = stat.rsplit_once(") ").unwrap().1;
    fields.split(' ').nth(index).unwrap()
}

#[test]
fn a_command_begins_with_no_signal_ignored_or_blocked() {
    let (_, status) = printed(Task::new("/bin/cat", &["/proc/self/status"]));
    for line in ["SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000"] {
        assert!(status.contains(line), "{status}");
    }
}

#[test]
fn a_command_gets_three_descriptors_and_the_environment_it_was_given() {
    let mut task = script("ls /proc/$$/fd; env");
    task.environment = vec![
        ("PATH".into(), "/usr/bin:/bin".into()),
        ("A".into(), "b=c".into()),
    ];
    let (_, text) = printed(task);
    let (descriptors, environment): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.parse::<u32>().is_ok());
    assert_eq!(descriptors, ["0", "1", "2"]);
    assert!(environment.contains(&"A=b=c"));
    let mut names: Vec<&str> = environment
        .iter()
        .filter_map(|l| l.split('=').next())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["A", "PATH", "PWD"], "the shell itself adds PWD");
}

#[test]
fn a_fixed_layout_turns_address_randomisation_off() {
    let mut task = script("cat /proc/$$/personality");
    let own = fs::read_to_string("/proc/self/personality").unwrap();
    assert_eq!(printed(task.clone()).1, own);
    task.layout = Layout::Fixed;
    assert_eq!(printed(task).1, "00040000\n");
}

#[test]
fn megabytes_on_both_outputs_block_nothing_and_the_end_is_kept() {
    let text = "head -c 30m /dev/zero; head -c 30m /dev/zero | tr '\\0' x >&2; echo end >&2";
    let finished = run(&script(text)).unwrap();
    assert_eq!(finished.ending, Ending::Exited(0));
    assert_eq!(finished.error_tail.len(), 4096);
    assert!(finished.error_tail.ends_with(b"xxxend\n"));
}

#[test]
fn an_output_that_cannot_be_made_is_said() {
    let mut task = script("exit 0");
    task.output = Output::File("/nonexistent/out".into());
    assert!(matches!(run(&task), Err(LaunchError::NoOutput(..))));
}

#[test]
fn a_command_goes_when_the_one_who_measures_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let pids = directory.path().join("pids");
    // The measuring process, which is killed, is this program again.
    let mut measuring = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_measurement_to_be_killed", "--ignored"])
        .env("FURLONG_TEST_PIDS", &pids)
        .spawn()
        .unwrap();
    let started = || fs::read_to_string(&pids).is_ok_and(|text| text.ends_with('\n'));
    assert!(comes_true(started));
    measuring.kill().unwrap();
    measuring.wait().unwrap();
    all_go(&pids);
}

#[test]
#[ignore = "the part of the test above that is killed"]
fn a_measurement_to_be_killed() {
    let Some(pids) = std::env::var_os("FURLONG_TEST_PIDS") else {
        return;
    };
    let text = "sleep 1000 & echo $! $$ > ";
    let finished = run(&script(&format!(
        "{text}{}; wait",
        Path::new(&pids).display()
    )));
    panic!("it was to be killed, but: {finished:?}");
}
