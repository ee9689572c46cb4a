//! C programs under the preloaded libraries: at the ends of threads and of the process, in
//! handlers, around forks, opened and closed, with the header, in a process that may not trust its
//! environment, and in a system that refuses memory.
#![forbid(unsafe_code)]

#[path = "../folder/mod.rs"]
mod folder;
#[path = "../library/mod.rs"]
mod library;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use folder::Folder;
use library::library;

const KINDS: [&str; 4] = [
    "furlong_malloc",
    "furlong_malloc_checked",
    "furlong_malloc_plain",
    "furlong_malloc_secure",
];

fn run(command: &mut Command) -> Output {
    command.output().expect("this program can be run")
}

/// A program's exit status and its output.
fn told(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{}: {out}{err}", output.status)
}

/// A number from the statistics at exit.
fn statistic(output: &Output, name: &str) -> Option<usize> {
    let said = String::from_utf8_lossy(&output.stderr);
    let mut words = said.lines().filter_map(|line| line.split_once(' '));
    words.find(|(found, _)| *found == name)?.1.parse().ok()
}

#[test]
fn blocks_that_outlive_threads_and_main_are_freed_and_heaps_are_taken_over() {
    let folder = Folder::new("life");
    let program = folder.compiled("c_programs/life", &[]);
    let without = run(&mut Command::new(&program));
    assert!(without.status.success(), "{}", told(&without));
    assert!(told(&without).contains("600 ends"), "{}", told(&without));
    for name in KINDS {
        let with = run(Command::new(&program)
            .env("LD_PRELOAD", library(name))
            .env("FURLONG_MALLOC_STATISTICS", "1"));
        assert!(with.status.success(), "{name}: {}", told(&with));
        assert_eq!(with.stdout, without.stdout, "{name}");
        // 300 threads used one heap after each other.
        for kind in ["heaps_running", "heaps_ended"] {
            let heaps = statistic(&with, kind).expect("the statistics name it");
            assert!(heaps <= 2, "{name}: {}", told(&with));
        }
    }
}

/// A library of the program registers handlers that allocate before this one's constructor runs:
/// once through this one, and once directly.
#[test]
fn handlers_of_any_library_allocate_around_forks_of_one_and_of_four_threads() {
    let folder = Folder::new("forks");
    let library_of_c = folder.0.join("libhandlers.so");
    let made = folder.compiled("c_programs/handlers", &["-shared", "-fPIC"]);
    fs::rename(made, library_of_c).expect("both are in one folder");
    let place = folder.0.display();
    let (search, load) = (format!("-L{place}"), format!("-Wl,-rpath,{place}"));
    let program = folder.compiled("c_programs/forks", &[&search, "-lhandlers", &load]);
    for (name, forks) in KINDS.into_iter().zip([1000, 200, 200]) {
        for threads in [1, 4] {
            let mut command = Command::new(&program);
            command
                .args([(forks / threads).to_string(), threads.to_string()])
                .env("LD_PRELOAD", library(name));
            let through = run(&mut command);
            let past = run(command.env("PAST_ALL", "1"));
            for output in [through, past] {
                let said = told(&output);
                assert!(output.status.success(), "{name}, {threads}: {said}");
                assert!(said.contains(&format!("{forks} forks")), "{said}");
            }
        }
    }
}

/// A child of one that hangs waits for ever, so a command ends them all.
#[test]
fn a_fork_waits_for_no_stream_and_may_come_from_a_handler_of_a_signal() {
    let folder = Folder::new("streams");
    let program = folder.compiled("c_programs/streams", &[]);
    let line = folder.0.join("line");
    for name in KINDS {
        for how in [line.as_os_str(), "from a handler".as_ref()] {
            let mut command = Command::new("timeout");
            command.arg("100").arg(&program).arg(how);
            let output = run(command.env("LD_PRELOAD", library(name)));
            assert_eq!(output.stdout, b"it ends\n", "{name}: {}", told(&output));
        }
    }
}

#[test]
fn a_library_can_be_opened_used_and_closed() {
    let folder = Folder::new("opened");
    let program = folder.compiled("c_programs/opened", &["-ldl"]);
    for name in KINDS {
        let output = run(Command::new(&program).arg(library(name)));
        assert!(output.status.success(), "{name}: {}", told(&output));
    }
}

/// Every form of `new`, if out of memory, with a handler that throws, gives up, frees something, or
/// is missing: as with the C++ library's own.
#[test]
fn what_a_new_handler_does_reaches_the_caller_of_new_as_the_standard_says() {
    let folder = Folder::new("handlers");
    let program = folder.compiled("c_programs/handlers.cpp", &["-std=c++17"]);
    let said = says_as_without(Command::new(&program));
    assert_eq!(said.lines().count(), 8 * 7);
}

/// A program may replace the basic operators alone.
#[test]
fn every_form_of_new_and_delete_calls_the_basic_one_of_the_program() {
    let folder = Folder::new("replaced");
    for option in ["-pie", "-no-pie", "-DONLY_NEW"] {
        let options = ["-std=c++17", option];
        let program = folder.compiled("c_programs/replaced.cpp", &options);
        let said = says_as_without(Command::new(&program));
        let wanted = "40 made, all gone, none at the end, 2 thrown\n";
        assert_eq!(said, wanted, "{option}");
    }
}

#[test]
fn a_plugin_in_cxx_that_a_program_in_c_opens_has_its_exceptions() {
    let folder = Folder::new("plugs");
    let plugin = folder.compiled("c_programs/plugin.cpp", &["-shared", "-fPIC"]);
    let mut program = Command::new(folder.compiled("c_programs/plugs", &["-ldl"]));
    program.arg(plugin);
    assert_eq!(says_as_without(program), "2 asked, 2 caught\n");
}

/// The output of a program, which is the same under every library.
fn says_as_without(mut program: Command) -> String {
    let own = run(&mut program);
    assert!(own.status.success(), "{}", told(&own));
    for name in KINDS {
        let with = run(program.env("LD_PRELOAD", library(name)));
        assert!(with.status.success(), "{name}: {}", told(&with));
        assert_eq!(told(&with), told(&own), "{name}");
    }
    String::from_utf8_lossy(&own.stdout).into_owned()
}

/// The heaps, the statistics and the reports of `furlong_malloc.h`, linked with one grade and run
/// with each.
#[test]
fn a_program_that_includes_the_header_runs_with_every_grade() {
    let folder = Folder::new("heaps");
    let program = linked(&folder, "c_programs/heaps");
    for name in KINDS {
        for (command, said) in [
            ("blocks", "180 blocks\n"),
            ("nonsense", "nothing is wrong\n"),
            ("full", "there is room again\n"),
        ] {
            let mut ask = Command::new(&program);
            let output = run(ask.arg(command).env("LD_PRELOAD", library(name)));
            let all = told(&output);
            assert!(output.status.success(), "{name}, {command}: {all}");
            assert_eq!(
                String::from_utf8_lossy(&output.stdout),
                said,
                "{name}: {all}"
            );
        }
        let checks = name != "furlong_malloc_plain";
        for (command, trouble, is_found) in [
            ("of-another-heap", 3, true),
            ("large-of-another-heap", 3, true),
            ("of-malloc", 3, true),
            ("destroyed-twice", 1, checks),
            ("freed-twice", 1, checks),
            ("freed-inside", 2, checks),
        ] {
            if !is_found {
                continue;
            }
            let mut ask = Command::new(&program);
            let output = run(ask.arg(command).env("LD_PRELOAD", library(name)));
            let all = told(&output);
            assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{name}: {all}");
            let line = format!("trouble {trouble} there\n");
            assert_eq!(
                String::from_utf8_lossy(&output.stdout),
                line,
                "{name}: {all}"
            );
        }
    }
}

/// With `FURLONG_MALLOC_GUARDED=1` every block that can have guard pages has them, except in the
/// secure library. The program is linked with the usual one, so that most run with two copies, of
/// which the one in front has the handler and the statistics.
#[test]
fn an_access_to_a_guard_page_stops_the_program_with_its_reason() {
    let folder = Folder::new("guarded");
    let program = linked(&folder, "c_programs/guarded");
    for name in &KINDS[..3] {
        let ask = |mistake: &str| {
            run(Command::new(&program)
                .arg(mistake)
                .env("LD_PRELOAD", library(name))
                .env("FURLONG_MALLOC_GUARDED", "1")
                .env("FURLONG_MALLOC_STATISTICS", "1"))
        };
        let right = ask("none");
        let all = told(&right);
        assert!(all.starts_with("exit status: 0: right\n"), "{name}: {all}");
        assert_eq!(all.matches("used_blocks").count(), 1, "{name}: {all}");
        for (mistake, reason) in [
            ("past", "access outside of a block"),
            ("before", "access outside of a block"),
            ("freed", "block used after it was freed"),
            ("read", "block used after it was freed"),
        ] {
            let output = ask(mistake);
            let all = told(&output);
            assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{name}: {all}");
            let line = format!("furlong malloc: {reason}: 0x");
            assert!(all.contains(&line), "{name}, {mistake}: {all}");
        }
        for mistake in ["null", "sent"] {
            let output = ask(mistake);
            let all = told(&output);
            assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{name}: {all}");
            assert!(!all.contains("furlong malloc"), "{name}, {mistake}: {all}");
        }
        assert_eq!(ask("own").status.code(), Some(7), "the program's handler");
    }
}

/// Compiles a program that is linked with the library.
fn linked(folder: &Folder, program: &str) -> PathBuf {
    fs::copy(
        library("furlong_malloc"),
        folder.0.join("libfurlong_malloc.so"),
    )
    .expect("there is room for a library");
    let place = folder.0.display();
    let header = format!("-I{}/include", env!("CARGO_MANIFEST_DIR"));
    let (search, load) = (format!("-L{place}"), format!("-Wl,-rpath,{place}"));
    folder.compiled(program, &[&header, &search, "-lfurlong_malloc", &load])
}

/// A set-user-ID program ignores its caller's environment.
#[test]
fn a_process_that_may_not_trust_its_environment_ignores_it() {
    let folder = Folder::new("secure");
    let program = linked(&folder, "c_programs/secure");
    let ask = || run(Command::new(&program).env("FURLONG_MALLOC_STATISTICS", "1"));

    let trusted = ask();
    assert_eq!(trusted.stdout, b"0 1\n", "{}", told(&trusted));
    assert!(statistic(&trusted, "used_bytes").is_some());

    // The user `nobody`, in the numbers of every system.
    if let Err(error) = chown(&program, Some(65_534), None) {
        eprintln!("nothing is known about programs of others: {error}");
        return;
    }
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).expect("it is this test's");
    let secure = ask();
    if secure.stdout == b"0 1\n" {
        eprintln!("nothing is known: the file system does not let programs run as their owner");
        return;
    }
    assert_eq!(secure.stdout, b"1 1\n", "{}", told(&secure));
    assert_eq!(statistic(&secure, "used_bytes"), None, "{}", told(&secure));
    assert!(secure.stderr.is_empty(), "{}", told(&secure));
}

/// The k-th call that maps memory, and perhaps every later one, is refused: from the process's
/// first call on, and repeatedly during its run.
#[test]
fn memory_that_is_refused_at_any_call_is_null_with_enomem_and_nothing_is_lost() {
    let folder = Folder::new("short");
    let refusing = folder.compiled("c_programs/refusing", &["-shared", "-fPIC"]);
    let program = folder.compiled("c_programs/short", &["-ldl"]);
    for name in KINDS {
        let preload = format!("{}:{}", refusing.display(), library(name).display());
        let mut refused = [0, 0];
        for call in 0..12 {
            let output = run(Command::new(&program)
                .env("LD_PRELOAD", &preload)
                .env("REFUSE_FROM", call.to_string()));
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{name}, {call}: {}", told(&output));
            let counts = said
                .split(' ')
                .filter_map(|word| word.parse::<usize>().ok());
            for (sum, count) in refused.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        assert!(refused[0] > 100 && refused[1] > 100, "{name}: {refused:?}");
    }
}
