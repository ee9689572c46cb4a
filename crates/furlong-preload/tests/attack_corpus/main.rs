//! A corpus of attacks, each in a process of its own under each allocator. A process is stopped
//! with a message, killed by a signal, hangs, continues, or is led to hand out memory that is not
//! free.
//!
//! `cargo test -p furlong-preload --test attack_corpus -- --nocapture` prints the table. It
//! includes other allocators if they are installed (Debian: libmimalloc2.0 libjemalloc2
//! libtcmalloc-minimal4).
#![expect(clippy::print_stdout, reason = "the table is for whoever asks")]

mod attack;
#[path = "../library/mod.rs"]
mod library;

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::{env, fmt};

use attack::{ATTACKS, SUBVERTED};
use library::library;

/// The environment variable that tells this test's program which attack to run.
const ATTACK: &str = "FURLONG_TEST_ATTACK";

/// One of each kind of block.
const SIZES: [(&str, usize); 3] = [("small", 48), ("medium", 3000), ("large", 200_000)];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Stopped,
    Signal,
    Hung,
    WentOn,
    Subverted,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Stopped => "stop",
            Self::Signal => "signal",
            Self::Hung => "hangs",
            Self::WentOn => "-",
            Self::Subverted => "GIVEN",
        })
    }
}

/// The outcome of one attack.
fn outcome(library: Option<&Path>, attack: usize, size: usize, elsewhere: bool) -> Outcome {
    let test = env::current_exe().expect("a test has a path");
    let output = Command::new(test)
        .args(["--exact", "attacks_end_as_they_should", "--nocapture"])
        .env(ATTACK, format!("{attack} {size} {}", u8::from(elsewhere)))
        .envs(library.map(|path| ("LD_PRELOAD", path)))
        .output()
        .expect("this program can be run");
    let said = !output.stderr.is_empty();
    match (output.status.code(), output.status.signal()) {
        (Some(0), _) => Outcome::WentOn,
        (Some(SUBVERTED), _) => Outcome::Subverted,
        (_, Some(libc::SIGABRT)) if said => Outcome::Stopped,
        (_, Some(libc::SIGXCPU)) => Outcome::Hung,
        (_, Some(_)) => Outcome::Signal,
        (code, _) => panic!("attack {attack} at {size} ended with {code:?}"),
    }
}

/// All cells of an allocator, in the order of the attacks, the sizes and the threads.
fn cells(library: Option<&Path>) -> Vec<Outcome> {
    let mut cells = Vec::new();
    for attack in 0..ATTACKS.len() {
        for (_, size) in SIZES {
            for elsewhere in [false, true] {
                cells.push(outcome(library, attack, size, elsewhere));
            }
        }
    }
    cells
}

fn percent(cells: &[Outcome], of: &[Outcome]) -> usize {
    let count = cells.iter().filter(|cell| of.contains(cell)).count();
    count * 100 / cells.len()
}

fn print_table(columns: &[(&str, Vec<Outcome>)]) {
    let names = columns.iter().map(|(name, _)| format!(" {name:>10}"));
    println!("{:<34}{}", "attack", names.collect::<String>());
    let mut row = 0;
    for (name, _) in ATTACKS {
        for (size, _) in SIZES {
            for thread in ["same", "other"] {
                let cells = columns
                    .iter()
                    .map(|(_, cells)| format!(" {:>10}", cells[row]));
                let cells: String = cells.collect();
                println!("{:<34}{cells}", format!("{name}, {size}, {thread}"));
                row += 1;
            }
        }
    }
    for (name, cells) in columns {
        let stopped = percent(cells, &[Outcome::Stopped]);
        let ended = percent(cells, &[Outcome::Stopped, Outcome::Signal]);
        println!("{name}: {stopped} % stopped with a line, {ended} % ended");
    }
}

/// Runs the attack for which this process was started.
fn attack_from(words: &str) {
    let numbers: Vec<usize> = words.split(' ').flat_map(str::parse).collect();
    // No core dump is wanted. No attack needs seconds, but an allocator may loop for ever.
    for (limit, most) in [(libc::RLIMIT_CORE, 0), (libc::RLIMIT_CPU, 2)] {
        let limits = libc::rlimit {
            rlim_cur: most,
            // At this limit the process would be killed without a message.
            rlim_max: most * 5,
        };
        // SAFETY: a limit of this process.
        unsafe { libc::setrlimit(limit, &raw const limits) };
    }
    attack::run(numbers[0], numbers[1], numbers[2] == 1);
}

#[test]
fn attacks_end_as_they_should() {
    if let Ok(words) = env::var(ATTACK) {
        return attack_from(&words);
    }
    let peers = [
        ("mimalloc", "libmimalloc.so.2"),
        ("mi-secure", "libmimalloc-secure.so.2"),
        ("hardened", "libhardened_malloc.so"),
        ("jemalloc", "libjemalloc.so.2"),
        ("tcmalloc", "libtcmalloc_minimal.so.4"),
    ];
    let mut columns = vec![
        ("default", cells(Some(&library("furlong_malloc")))),
        ("checked", cells(Some(&library("furlong_malloc_checked")))),
        ("secure", cells(Some(&library("furlong_malloc_secure")))),
        ("glibc", cells(None)),
    ];
    for (name, file) in peers {
        let path = Path::new("/usr/lib/x86_64-linux-gnu").join(file);
        if path.exists() {
            columns.push((name, cells(Some(&path))));
        }
    }
    print_table(&columns);
    let [default, checked, secure] = [0, 1, 2].map(|at| &columns[at].1);
    let ended = [Outcome::Stopped, Outcome::Signal];
    assert!(percent(default, &[Outcome::Stopped]) >= 33, "default");
    assert!(percent(default, &ended) >= 40, "default");
    assert!(percent(checked, &[Outcome::Stopped]) >= 38, "checked");
    assert!(percent(checked, &ended) >= 45, "checked");
    assert!(percent(secure, &ended) >= 80, "secure");
    for cells in [default, checked, secure] {
        assert!(
            !cells.contains(&Outcome::Subverted),
            "memory was given out twice"
        );
    }
}
