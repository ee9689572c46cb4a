//! Every command in the examples of a `--help` runs.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use crate::help::{examples, is_of_a_fleet};
use crate::lab::{FURLONG, Home, read, says, send, text};
use clap::CommandFactory;
use furlong_lab::cli::Cli;
use furlong_lab::model::result::ResultFile;
use rustix::process::Signal;

/// Programs of the examples that are made in the home, and found on the path.
const PROGRAMS: &str = "server-old server-new a.out b.out io jq gojq xz zstd make gzip cargo tool";

/// Committed records for a history.
const RECORDS: [&str; 2] = [
    "iova-gap/results/2026-11-22-aa07094-peers.json",
    "tree-order/results/2026-11-22-aa07094.json",
];

/// Programs that an example needs and that a machine may lack.
const NEEDS: [(&str, &str); 3] = [
    ("callgrind", "valgrind"),
    ("record vm", "strace"),
    ("ls.vmtrace", "strace"),
];

/// The allocator to preload.
const LIBRARY: &str = "furlong_malloc";

/// A cargo that has built a bench program and the tool, with their layouts.
const CARGO: &str = r#"#!/bin/sh
deps=target/release/deps
if [ -d target/release ] && [ ! -d $deps ]; then
    mkdir $deps
    ln target/release/tool $deps/tool
    cp "$HOME/bench" $deps/bench
    for program in tool bench; do
        for layout in 00 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15; do
            { cat $deps/$program; echo ": $layout"; } > $deps/$program.layout0$layout
            chmod +x $deps/$program.layout0$layout
        done
    done
fi
printf '{"reason":"compiler-artifact","manifest_path":"%s/Cargo.toml",' "$PWD"
printf '"target":{"kind":["bench"],"name":"sort"},"executable":"%s/bench"}\n' "$PWD/$deps"
"#;

/// A linker of layouts.
const LINK: &str = "#!/bin/sh\necho \"# $1\" >> tool\n";

/// The bench program: each sample takes the same time.
const BENCH: &str = r#"#!/bin/sh
[ "$FURLONG_BENCH_SAMPLE" = list ] && echo '[["numbers","stable"]]' && exit
echo '{"operations":100,"elapsed_s":0.1,"digest":0}'
"#;

/// A home with everything that the examples mention, and with settings for short runs.
pub(crate) fn furnished() -> Home {
    let home = Home::new();
    let settings = "profile = 'smoke'\nblocks = 3\ntimeout = 60\n";
    home.write("furlong.toml", settings);
    fs::create_dir(home.path("bin")).unwrap();
    for program in PROGRAMS.split(' ') {
        for path in [home.path(program), home.path("bin").join(program)] {
            fs::write(&path, "#!/bin/sh\necho 5.5 MB/s\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    for (path, script) in [("bin/cargo", CARGO), ("bench", BENCH), ("link.sh", LINK)] {
        home.write(path, script);
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(home.path(path), executable).unwrap();
    }
    let numbers: String = (0..40).map(|n| format!("{}\n", n * 7 % 40)).collect();
    for file in ["big.txt", "big", "before.txt", "after.txt", "data.json"] {
        home.write(file, &numbers);
    }
    fs::create_dir_all(home.path("target/release")).unwrap();
    fs::copy(home.path("tool"), home.path("target/release/tool")).unwrap();
    home.write("Cargo.toml", "");
    home.git("init --quiet --initial-branch main");
    home.git("add tool link.sh target big.txt Cargo.toml");
    home.git("commit --quiet --message all");
    home.git("tag v1.2");
    home.git("commit --quiet --allow-empty --message later");
    home.git("tag v1.3");
    home.git("commit --quiet --allow-empty --message last");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::copy(root.join("traces/phys/laptop.map"), home.path("laptop.map")).unwrap();
    let before = home.smoke(&["--tag", "before"]);
    home.ends(0, &["mark", "latest", "--pin"]);
    home.smoke(&["--tag", "after"]);
    for record in RECORDS {
        let mut result: ResultFile = read(&root.join("experiments").join(record));
        result.run.machine = before.run.machine.clone();
        home.put("record.json", &result);
        home.ends(0, &["import", "record.json"]);
    }
    home.ends(0, &["export", "latest", "-q", "--to", "."]);
    home.ends(0, &["import", "result.json", "--db", "old.db"]);
    for (file, ns) in [("old-bench.txt", 5.1), ("new-bench.txt", 5.2)] {
        let line = format!("BenchmarkSum-8 1000 {ns} ns/op\n");
        home.write(file, line.repeat(6));
    }
    home
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// Every experiment: `ci/smoke.sh` runs it in the form of README.md, and checks all its output.
const ALL: &str = "furlong run";

/// True if the machine has the programs of the example; a skipped example is reported. Examples
/// with a fleet are tested by the fleet's own tests, and `furlong peers` by those of the crate with
/// the peers.
fn can_run(example: &str) -> bool {
    if is_of_a_fleet(example) || example == ALL || example.starts_with("furlong peers") {
        return false;
    }
    if example.contains("--heap-profile") && furlong_experiments::shipped_library(LIBRARY).is_err()
    {
        let _ = writeln!(io::stderr(), "left out, {LIBRARY} is not built: {example}");
        return false;
    }
    let lacks = |(word, program): &&(&str, &str)| example.contains(word) && !is_there(program);
    let lacking = NEEDS.iter().find(lacks);
    if let Some((_, program)) = lacking {
        // Not `eprintln!`, which the harness captures: a skipped example must be visible.
        let _ = writeln!(io::stderr(), "left out, there is no {program}: {example}");
    }
    lacking.is_none()
}

/// The example with a second of the doctor instead of ten, and with a search that soon ends.
pub(crate) fn shortened(example: &str) -> String {
    let short = match example.contains("--seconds") || example.contains("--no-floor") {
        true => example.to_owned(),
        false => example.replacen("furlong doctor", "furlong doctor --seconds 1", 1),
    };
    let short = short.replace("--max-time 60 ", "--max-time 2 ");
    match short.starts_with("furlong bisect") {
        true => short.replace("--margin 5 ", "--margin 90 "),
        false => short,
    }
}

/// Tests an example that runs until it is stopped. It uses a free port: that of the example may be
/// in use.
fn serves(home: &Home, example: &str) {
    let words = example.split_whitespace().skip(1);
    let mut words: Vec<String> = words.map(str::to_owned).collect();
    match words.iter().position(|word| word == "--listen") {
        Some(option) => {
            let (address, _) = words[option + 1].rsplit_once(':').unwrap();
            words[option + 1] = format!("{address}:0");
        }
        None => words.extend(["--listen", "127.0.0.1:0"].map(str::to_owned)),
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut server = home.furlong(&words).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(server.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    send(&server, Signal::TERM);
    assert!(server.wait().unwrap().success(), "{example}");
    assert!(line.starts_with("http://"), "{example}: {line}");
}

#[test]
fn every_example_of_a_help_runs() {
    let home = furnished();
    let found = std::env::var("PATH").unwrap();
    let dir = Path::new(FURLONG).parent().unwrap().display();
    let path = format!("{}:{dir}:{found}", home.path("bin").display());
    let all = examples(&Cli::<furlong_verbs::Verb>::command());
    assert!(all.len() > 40, "{all:?}");
    assert!(all.iter().any(|example| example == ALL), "{all:?}");
    for example in all.iter().filter(|example| can_run(example)) {
        if example.starts_with("furlong serve") {
            serves(&home, example);
            continue;
        }
        if example.starts_with("furlong diff pinned latest") {
            // Two runs of one experiment.
            for pin in [true, false] {
                home.smoke(&[]);
                if pin {
                    home.ends(0, &["mark", "latest", "--pin"]);
                }
            }
        }
        let mut shell = home.command("sh");
        shell.args(["-c", &shortened(example)]).env("PATH", &path);
        let output = shell.output().unwrap();
        let wanted = match example.contains("--fail-on") {
            true => &[0, 3][..],
            false => &[0],
        };
        let code = output.status.code().unwrap_or(-1);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(
            wanted.contains(&code),
            "{example}\nexit {code}\n{out}\n{err}"
        );
    }
}

#[test]
fn every_verb_has_an_example_completions_and_a_page_of_the_manual() {
    let home = Home::new();
    for verb in Cli::<furlong_verbs::Verb>::command()
        .get_subcommands()
        .filter(|verb| !verb.is_hide_set())
    {
        assert!(!examples(verb).is_empty(), "{} has none", verb.get_name());
        let (page, _) = home.ends(0, &["man", verb.get_name()]);
        says(&page, &[".TH", "SYNOPSIS"]);
    }
    home.ends(0, &["man", "--to", "."]);
    assert!(home.path("furlong.1").exists() && home.path("furlong-run.1").exists());
    says(&home.refuses(&["man", "runn"]), &["`run`"]);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (page, _) = home.ends(0, &["completions", shell]);
        assert!(
            page.contains("history") && page.contains("furlong"),
            "{shell}"
        );
    }
}

#[test]
fn a_misspelt_option_is_one_line_that_says_what_to_do() {
    let home = Home::new();
    let told = home.refuses(&["run", "--blok", "3"]);
    assert!(
        told.contains("'--blocks'") && told.ends_with("`furlong run --help` lists the options")
    );
    home.refuses(&["import"]);
    home.refuses(&["prune", "--keep", "some"]);
}
