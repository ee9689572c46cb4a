//! `furlong record vm` from a user's view: its recordings can be replayed at once, and it reports
//! everything that it cannot do.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use furlong_spec::vmspace::trace::{HEADING, Trace, What, parse};
use furlong_verbs::recorder::vm::Means;

use crate::lab::{Home, ended, says, text};

/// A folder with only these programs.
fn programs(home: &Home, names: &[&str]) -> PathBuf {
    let folder = home.path("bin");
    fs::create_dir(&folder).unwrap();
    for name in names {
        let path = std::env::var_os("PATH").unwrap();
        let mut places = std::env::split_paths(&path).map(|place| place.join(name));
        let program = places.find(|place| place.is_file()).unwrap();
        symlink(program, folder.join(name)).unwrap();
    }
    folder
}

/// Runs the command with only these programs on its path; returns stdout and stderr.
fn with_only(home: &Home, names: &[&str], code: i32, arguments: &[&str]) -> (String, String) {
    let mut command = home.furlong(arguments);
    let path = programs(home, names);
    ended(code, &command.env("PATH", path).output().unwrap())
}

/// The usable means of recording; the others are reported with the reason.
fn usable() -> Vec<(Means, &'static str)> {
    let all = [(Means::Perf, "perf"), (Means::Strace, "strace")];
    let usable = all.into_iter().filter(|(means, name)| {
        let unable = means.try_out().err();
        if let Some(unable) = &unable {
            // Not `eprintln!`, which the harness captures: a skipped means must be visible.
            let _ = writeln!(io::stderr(), "left out: record vm --with {name}: {unable}");
        }
        unable.is_none()
    });
    usable.collect()
}

/// The number of events in a trace, by letter.
fn letters(text: &str) -> BTreeMap<&str, usize> {
    let mut letters = BTreeMap::new();
    let events = text.lines().filter(|line| !line.starts_with('#'));
    for letter in events.filter_map(|line| line.split(' ').nth(1)) {
        *letters.entry(letter).or_default() += 1;
    }
    letters
}

/// Forks, runs other programs in a row and in a pipe, and fails.
const COMMAND: &str = "(ls / | sort >/dev/null; true) & wait; ls . >/dev/null; exit 3";

#[test]
fn what_a_program_does_is_recorded_and_replays_without_a_wrong_answer() {
    for (_, means) in usable() {
        let home = Home::new();
        let record = [
            "record", "vm", "--with", means, "-o", "t", "--", "sh", "-c", COMMAND,
        ];
        let (page, talk) = home.ends(0, &record);
        assert_eq!(page, "", "what the command writes is its own");
        says(&talk, &["warning: the command has failed: exit code 3\n"]);
        let text = fs::read_to_string(home.path("t")).unwrap();
        assert!(text.starts_with(&format!("{HEADING}\n# sh -c ")), "{text}");
        says(&text, &[&format!("\n# recorded with {means}\n")]);
        let Trace { events, error } = parse("t", text.as_bytes());
        assert!(error.is_none(), "{error:?}");
        assert!(talk.contains(&format!("{} events recorded with {means}", events.len())));
        let letters = letters(&text);
        let all = |letter: &str| letters.get(letter).copied().unwrap_or(0);
        // sh, ls and sort, and ls again; each maps its libraries and exits.
        assert_eq!(all("x"), 4, "{letters:?}");
        assert!(
            all("c") >= 4 && all("e") >= 4 && all("c") + 1 == all("e"),
            "{letters:?}"
        );
        assert!(
            all("i") > 4 * 8 && all("m") > 4 * 6 && all("p") >= 4 * 3,
            "{letters:?}"
        );
        assert_eq!(all("f") > 100, means == "perf", "{letters:?}");
        let (page, talk) = home.ends(0, &["replay", "t"]);
        assert_eq!(talk, "");
        let compared = page.contains(" answers compared with the kernel's, 0 wrong.");
        assert!(compared, "{page}");
    }
}

/// `clone`: the child is a thread of the process.
const CLONE_THREAD: u64 = 0x1_0000;

#[test]
fn threads_belong_to_their_process() {
    let python = "import threading, mmap\n\
                  def work():\n    mmap.mmap(-1, 1 << 20).close()\n\
                  all = [threading.Thread(target=work) for _ in range(4)]\n\
                  [one.start() for one in all]\n[one.join() for one in all]\n";
    for (_, means) in usable() {
        let home = Home::new();
        let record = [
            "record", "vm", "--with", means, "-o", "t", "--", "python3", "-c", python,
        ];
        let output = home.output(&record);
        if text(&output.stderr).contains("python3: no such program") {
            let _ = writeln!(io::stderr(), "left out: there is no python3");
            return;
        }
        ended(0, &output);
        let text = fs::read_to_string(home.path("t")).unwrap();
        let events = parse("t", text.as_bytes()).events;
        let threads = events.iter().filter_map(|event| match event.what {
            What::Task { child, flags } if flags & CLONE_THREAD != 0 => Some(child),
            _ => None,
        });
        let threads: Vec<u32> = threads.collect();
        assert!(threads.len() >= 4, "{threads:?}");
        let strays = events.iter().filter(|event| threads.contains(&event.pid));
        assert_eq!(strays.count(), 0, "{text}");
        let (page, _) = home.ends(0, &["replay", "t"]);
        says(&page, &[", 0 wrong."]);
    }
}

#[test]
fn a_command_that_cannot_be_run_is_refused_and_no_file_is_made() {
    let home = Home::new();
    for (command, said) in [
        (
            "no-such-program",
            "no-such-program: no such program; check its name",
        ),
        ("./t", "./t: no such program"),
    ] {
        let (page, talk) = home.ends(2, &["record", "vm", "-o", "t", "--", command]);
        assert!(talk.starts_with(&format!("furlong: {said}")), "{talk}");
        assert!(page.is_empty() && talk.lines().count() == 1, "{talk}");
        assert!(!home.path("t").exists());
    }
    let (_, talk) = home.ends(2, &["record", "vm"]);
    says(&talk, &["<COMMAND>"]);
    let (_, talk) = home.ends(2, &["record", "pages", "--", "true"]);
    says(&talk, &["pages"]);
}

#[test]
fn where_nothing_can_watch_it_is_said_what_would_help() {
    let home = Home::new();
    let record = ["record", "vm", "--", "sh", "-c", "true"];
    let (page, talk) = with_only(&home, &["sh"], 1, &record);
    assert_eq!(page, "");
    let said = "furlong: no tool can trace a command here: perf: perf is not installed; install \
                the package linux-perf (on Ubuntu linux-tools-generic); strace: strace is not \
                installed; install the package strace\n";
    assert_eq!(talk, said);
    assert!(!home.path("sh.vmtrace").exists());
}

#[test]
fn without_perf_strace_is_taken_and_what_is_missing_is_said() {
    if !usable().iter().any(|(_, name)| *name == "strace") {
        return;
    }
    let home = Home::new();
    let record = ["record", "vm", "--", "true"];
    let (_, talk) = with_only(&home, &["sh", "strace", "true"], 0, &record);
    let lines: Vec<&str> = talk.lines().collect();
    assert!(
        lines[0].starts_with("warning: perf: perf is not installed; install"),
        "{talk}"
    );
    assert_eq!(lines[1], "strace: the trace has no page faults");
    assert!(
        lines[2].ends_with(" recorded with strace: furlong replay true.vmtrace"),
        "{talk}"
    );
    let text = fs::read_to_string(home.path("true.vmtrace")).unwrap();
    says(&text, &["\n# the trace has no page faults\n"]);
}

#[test]
fn a_trace_that_cannot_be_written_is_refused_before_the_command_runs() {
    if usable().is_empty() {
        return;
    }
    let home = Home::new();
    let record = ["record", "vm", "-o", "no/such/folder", "--", "touch", "ran"];
    let (_, talk) = home.ends(2, &record);
    says(&talk, &["no/such/folder: cannot be written: No such file"]);
    assert!(!home.path("ran").exists());
}
