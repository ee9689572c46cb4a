//! The cost of the gates of the shipped libraries, in instructions: of a malloc-free pair, and of
//! an operation of random mixed.
//!
//! The libraries are built as users build them, with link-time optimisation, because the tests' own
//! profile says nothing about the cost of a gate.
#![cfg(target_arch = "x86_64")]
#![forbid(unsafe_code)]

#[path = "../folder/mod.rs"]
mod folder;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use folder::Folder;

/// Instructions of a pair in `pairs.c` that are outside the allocator.
const LOOP: f64 = 6.0;

/// Pairs or operations between two counts; one-time costs are in both counts and cancel.
const COUNT: u32 = 100_000;

/// The most instructions of a library: of a pair, by block size and number of live blocks, and of
/// an operation of random mixed.
struct Budget {
    of: &'static str,
    pairs: [(u32, u32, f64); 5],
    mixed: f64,
}

const BUDGETS: [Budget; 2] = [
    Budget {
        of: "furlong_malloc",
        pairs: [
            (64, 1, 42.0),
            (64, 0, 42.0),
            (1024, 1, 42.0),
            (4000, 1, 47.0),
            (8000, 1, 47.0),
        ],
        mixed: 22.5,
    },
    Budget {
        of: "furlong_malloc_plain",
        pairs: [
            (64, 1, 33.0),
            (64, 0, 33.0),
            (1024, 1, 33.0),
            (4000, 1, 38.0),
            (8000, 1, 38.0),
        ],
        mixed: 18.0,
    },
];

/// Builds a library in the profile in which it is shipped.
fn shipped(name: &str) -> PathBuf {
    let test = env::current_exe().expect("a test has a path");
    let target = test.ancestors().nth(3);
    let target = target.expect("a test lies three folders below where cargo builds");
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--quiet", "-p", "furlong-preload", "--profile"])
        .args(["preload", "--example", name, "--manifest-path"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .env_remove("RUSTFLAGS");
    for (setting, _) in env::vars().filter(|(name, _)| name.starts_with("CARGO_PROFILE_")) {
        cargo.env_remove(setting);
    }
    assert!(cargo.status().expect("cargo runs this test").success());
    let path = target.join(format!("preload/examples/lib{name}.so"));
    assert!(path.exists(), "{path:?} was not built");
    path
}

/// True if instructions can be counted here; otherwise says that the test is skipped.
fn can_count() -> bool {
    let asked = Command::new("valgrind").arg("--version").output();
    let is_there = asked.is_ok_and(|output| output.status.success());
    if !is_there {
        eprintln!("skipped: no instruction is counted without valgrind");
    }
    is_there
}

/// The instructions of a program under a library, or under the C library.
fn instructions(preload: Option<&Path>, program: &Path, arguments: &[u32]) -> u64 {
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(arguments.iter().map(u32::to_string));
    if let Some(library) = preload {
        valgrind.env("LD_PRELOAD", library);
    }
    let output = valgrind.output().expect("it was there a moment ago");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    let collected = said
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    let number = collected.and_then(|(_, number)| number.trim().parse().ok());
    number.unwrap_or_else(|| panic!("callgrind says how many there were: {said}"))
}

/// The instructions of one repetition. The first argument is the number of repetitions.
fn each(preload: Option<&Path>, program: &Path, more: &[u32]) -> f64 {
    let [few, many] = [COUNT / 5, COUNT / 5 + COUNT].map(|count| {
        let arguments = [&[count], more].concat();
        instructions(preload, program, &arguments)
    });
    (many - few) as f64 / f64::from(COUNT)
}

#[test]
fn a_pair_of_malloc_and_free_keeps_to_its_instructions() {
    if !can_count() {
        return;
    }
    let folder = Folder::new("pairs");
    let program = folder.compiled("slow_gates/pairs", &[]);
    for budget in BUDGETS {
        let library = shipped(budget.of);
        for (size, live, most) in budget.pairs {
            let pair = each(Some(&library), &program, &[size, live]) - LOOP;
            let what = format!("{}, {size} bytes, {live} live", budget.of);
            eprintln!("{what}: {pair:.2} of {most}");
            assert!(pair <= most + 0.05, "{what}: {pair} instructions");
            assert!(pair > most / 2.0, "{what}: {pair}: another allocator?");
        }
    }
}

#[test]
fn random_mixed_keeps_to_its_instructions() {
    if !can_count() {
        return;
    }
    let [folder, empty] = ["mixed", "nothing"].map(Folder::new);
    let program = folder.compiled("slow_gates/mixed", &[]);
    let nothing = empty.compiled("slow_gates/mixed", &["-DNOTHING"]);
    let own = each(None, &nothing, &[]);
    for budget in BUDGETS {
        let mixed = each(Some(&shipped(budget.of)), &program, &[]) - own;
        eprintln!("{}: {mixed:.2} of {}", budget.of, budget.mixed);
        assert!(mixed <= budget.mixed, "{}: {mixed}", budget.of);
        assert!(mixed > budget.mixed / 2.0, "{}: {mixed}", budget.of);
    }
}

/// The output of a binary tool about a library.
fn said_of(library: &Path, tool: &str, arguments: &[&str]) -> String {
    let output = Command::new(tool).args(arguments).arg(library).output();
    let output = output.expect("it is of the tools that link this test");
    assert!(output.status.success(), "{tool}: {}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The mnemonics of a function's instructions up to its first return. The function has other names,
/// too.
fn gate(library: &Path, function: &str) -> Vec<String> {
    let symbols = said_of(library, "nm", &["--dynamic"]);
    let mut symbols = symbols.lines().filter_map(|line| line.split_once(" T "));
    let (address, _) = symbols
        .find(|(_, name)| *name == function)
        .expect("the library has it");
    let start = format!("--start-address=0x{address}");
    let code = said_of(library, "objdump", &["-d", "--no-show-raw-insn", &start]);
    let lines = code.lines().filter_map(|line| line.split_once(":\t"));
    let names = lines.filter_map(|(_, line)| line.split_whitespace().next());
    let mut gate: Vec<String> = names.take(100).map(str::to_owned).collect();
    let last = gate.iter().position(|name| name.starts_with("ret"));
    gate.truncate(last.expect("a gate returns") + 1);
    gate
}

#[test]
fn gates_push_nothing_and_call_nobody() {
    for budget in BUDGETS {
        let library = shipped(budget.of);
        for function in ["malloc", "free"] {
            let gate = gate(&library, function);
            let frame = |name: &String| name.starts_with("push") || name.starts_with("call");
            assert!(!gate.iter().any(frame), "{function}: {gate:?}");
            assert!((10..40).contains(&gate.len()), "{function}: {gate:?}");
        }
    }
}
