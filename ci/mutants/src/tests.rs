//! Tests of the driver on a small repository with planted mistakes, and of its parts.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::equivalents;
use crate::modules::MODULES;
use crate::mutant::{self, Mutant};
use crate::report::Tally;
use crate::scratch::Scratch;
use crate::trial::Fate;
use crate::{Options, build, changed, of_module, places, sites, weave};

const MODULE: &str = "
pub fn noticed(a: u32, b: u32) -> bool { a < b }
pub fn unnoticed(a: u32, b: u32) -> bool { a < b }
pub fn unused(a: u32) -> u32 { a + 1 }
pub const fn at_run_time(a: u32) -> u32 { a ^ 5 }
pub const FIXED: u32 = at_run_time(4);
pub fn ends(end: u32) -> u32 { let mut at = 0; while at != end { at += 1; } at }
#[cfg(windows)]
pub fn elsewhere(a: u32) -> u32 { a * 2 }
#[cfg(any(test, prove))]
mod instrument { pub fn for_tests(a: u32) -> u32 { a * 2 } }
pub fn hidden(a: u32) -> impl Iterator<Item = u32> { (0..a).map(|i| i + 1) }
#[cfg(test)]
mod tests {
    #[test] fn less() { assert!(super::noticed(1, 2) && !super::noticed(2, 2)); }
    #[test] fn weak() { assert!(super::unnoticed(1, 2)); }
    #[test] fn fixed() { assert_eq!(super::at_run_time(super::FIXED), 4); }
    #[test] fn ending() { assert_eq!(super::ends(3), 3); }
    #[test] fn broken() { panic!(\"without a mutant\"); }
}
";

const MANIFEST: &str = "[package]
name = \"furlong\"
version = \"0.0.0\"
edition = \"2024\"
[features]
std = []
lock_api = []
allocator-api2 = []
serde = []
";

/// A repository with one module, `rcu`.
fn planted(root: &Path) -> Scratch {
    for (path, text) in [
        (
            "Cargo.toml",
            "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n",
        ),
        (".gitignore", "target/\n"),
        ("crates/furlong/Cargo.toml", MANIFEST),
        (
            "crates/furlong/src/lib.rs",
            "//! Planted.\n#![cfg_attr(not(test), no_std)]\npub mod rcu;\n",
        ),
        ("crates/furlong/src/rcu/mod.rs", MODULE),
        ("crates/furlong/tests/none.rs", ""),
        ("crates/furlong-spec/tests/none.rs", ""),
        ("loom/tests/none.rs", ""),
    ] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    fs::remove_file(root.join("crates/furlong-spec/tests/none.rs")).unwrap();
    let git = |arguments: &[&str]| {
        let status = Command::new("git")
            .args(arguments)
            .current_dir(root)
            .status();
        assert!(status.unwrap().success(), "{arguments:?}");
    };
    git(&["init", "--quiet", "--initial-branch", "main"]);
    git(&["add", "."]);
    let own = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "commit",
        "--quiet",
        "-m",
        "planted",
    ];
    git(&own);
    Scratch::of(root).unwrap()
}

#[test]
fn what_tests_see_is_killed_and_what_they_do_not_see_survives() {
    let root = std::env::temp_dir().join(format!("furlong-mutants-{}", std::process::id()));
    let mut scratch = planted(&root);
    scratch.target = scratch.root.join("target");
    let asked =
        Options::of(["--root", root.to_str().unwrap(), "--count", "1000"].map(String::from))
            .unwrap();
    let rcu = crate::MODULES
        .iter()
        .find(|module| module.name == "rcu")
        .unwrap();
    let file = "crates/furlong/src/rcu/mod.rs";
    let line = format!("{file} | unused | a + 1 -> a - 1 | nobody calls it\n");
    let list = equivalents::read(&line).unwrap();
    let all = places(&scratch, rcu, &list, |_| true).unwrap();
    // Every variant, each as a place of its own.
    let all: Vec<Vec<Mutant>> = all.into_iter().flatten().map(|one| vec![one]).collect();
    let report = of_module(&asked, &scratch, rcu, all, &list).unwrap();

    let fates = report.fates_by_name();
    let fate = |function: &str, change: &str| {
        let named =
            |(name, _): &&(String, &Fate)| *name == format!("{file} | {function} | {change}");
        fates
            .iter()
            .find(named)
            .unwrap_or_else(|| panic!("{function} {change}: {fates:?}"))
            .1
    };
    let killed = |test: &str| Fate::Killed(format!("furlong rcu::tests::{test}"));
    assert_eq!(*fate("noticed", "a < b -> a <= b"), killed("less"));
    assert_eq!(
        *fate("noticed", "the whole body -> { true }"),
        killed("less")
    );
    assert_eq!(*fate("unnoticed", "a < b -> a <= b"), Fate::Survived(1));
    assert_eq!(*fate("unnoticed", "a < b -> a >= b"), killed("weak"));
    assert_eq!(*fate("unused", "a + 1 -> a - 1"), Fate::Survived(0));
    assert_eq!(*fate("at_run_time", "5 -> 6"), killed("fixed"));
    let endless = Fate::Endless("furlong rcu::tests::ending".into());
    assert_eq!(*fate("ends", "at += 1; -> nothing"), endless);
    for other in ["elsewhere", "for_tests"] {
        let drawn = fates.iter().any(|(name, _)| name.contains(other));
        assert!(!drawn, "{other}: {fates:?}");
    }

    assert_eq!(report.tally().equivalent, 1);
    assert!(!report.tally().is_enough(false));
    let untouched = fs::read_to_string(scratch.root.join(file)).unwrap();
    assert_eq!(untouched, MODULE);
    fs::remove_dir_all(&root).unwrap();
}

#[test]
fn an_entry_that_names_no_mutant_or_is_no_entry_is_refused() {
    let root = std::env::temp_dir().join(format!("furlong-stale-{}", std::process::id()));
    let scratch = planted(&root);
    let rcu = crate::MODULES
        .iter()
        .find(|module| module.name == "rcu")
        .unwrap();
    let stale = "crates/furlong/src/rcu/mod.rs | gone | a < b -> a <= b | it was so once\n";
    let list = equivalents::read(stale).unwrap();
    let error = places(&scratch, rcu, &list, |_| true)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("no mutant: ") && error.contains("gone"),
        "{error}"
    );
    assert!(equivalents::read("a | b | c -> d\n").is_err());
    assert!(equivalents::read(&[stale, stale].concat()).is_err());
    let with_or = equivalents::read("a | b | c || d -> c && d | both are true\n").unwrap();
    assert_eq!(with_or.keys().next().unwrap().change, "c || d -> c && d");

    // Uncommitted changes count, too.
    assert!(changed::files(&scratch).unwrap().is_empty());
    fs::write(
        scratch.root.join("crates/furlong/src/rcu/mod.rs"),
        "fn f() {}\n",
    )
    .unwrap();
    let found = changed::files(&scratch).unwrap();
    assert_eq!(
        found.iter().collect::<Vec<_>>(),
        ["crates/furlong/src/rcu/mod.rs"]
    );
    fs::remove_dir_all(&root).unwrap();
}

/// The changes of a text, in the form of the list.
fn changes(source: &str) -> Vec<String> {
    let functions = sites::functions(source).unwrap();
    let all = mutant::all("f.rs", source, &functions)
        .into_iter()
        .flatten();
    all.map(|mutant| format!("{}: {}", mutant.name.function, mutant.name.change))
        .collect()
}

#[test]
fn every_operator_has_a_place_that_it_changes() {
    let source = "impl A { fn f(&mut self) {
        if self.is_none() { self.go(a, b); }
        match x { 0..4 => h(Some(y)), _ if z => u, _ => !v }
        p.store(MAX, Ordering::Release);
        assert!(0.5 > t);
    } }
    impl Debug for A { fn fmt(&self) { if a { b(); } } }
    #[test] fn skipped() { a(); }";
    let found = changes(source);
    for wanted in [
        "the whole body -> {}",
        "self.is_none() -> !(self.is_none())",
        "self.is_none() -> false",
        "self.is_none() -> self.is_some()",
        "self.go(a, b); -> nothing",
        "a, b -> b, a",
        "0..4 -> 0..=4",
        "4 -> 5",
        "4 -> 3",
        "0..4 => h(Some(y)), -> nothing",
        "h(Some(y)) -> { u }",
        "Some(y) -> None",
        "z -> true",
        "!v -> v",
        "MAX -> (MAX - 1)",
        "Ordering::Release -> ::core::sync::atomic::Ordering::Relaxed",
        "assert!(0.5 > t); -> nothing",
        "0.5 > t -> 0.5 >= t",
        "0.5 -> (1.125 * 0.5)",
    ] {
        assert!(
            found.contains(&format!("A::f: {wanted}")),
            "{wanted} is not in {found:#?}"
        );
    }
    assert!(
        found.iter().all(|one| one.starts_with("A::f: ")),
        "{found:#?}"
    );
}

#[test]
fn a_change_that_is_there_twice_has_two_names_and_no_line() {
    let found = changes("fn f() -> u8 { a < b; a < b }");
    assert!(found.contains(&"f: a < b -> a <= b".into()), "{found:?}");
    assert!(
        found.contains(&"f: a < b -> a <= b (occurrence 2)".into()),
        "{found:?}"
    );
    assert_eq!(found, changes("\n\nfn f() -> u8 { a < b; a < b }"));
}

#[test]
fn the_draw_is_the_seeds_and_takes_one_mutant_a_place() {
    let source = "fn f() { a < b; c + 1; d(e, f); }";
    let places = mutant::all("f.rs", source, &sites::functions(source).unwrap());
    let drawn = |seed| mutant::shuffled(places.clone(), seed);
    assert_eq!(drawn(1).len(), places.len());
    assert_eq!(drawn(1), drawn(1));
    assert!((2..9).any(|seed| drawn(seed) != drawn(1)));
}

#[test]
fn only_the_mutants_that_a_report_names_are_taken() {
    let source = "fn f() { a < b; c(b); }";
    let all = || mutant::all("f.rs", source, &sites::functions(source).unwrap());
    let report = "rcu SURVIVED 3 tests: f.rs | f | a < b -> a >= b\nf.rs | f | c(b); -> nothing\n\
        rcu killed by t: other-f.rs | f | a < b -> a <= b\n";
    let taken: Vec<String> = mutant::named(all(), report)
        .into_iter()
        .map(|place| place.iter().map(|one| one.name.change.as_str()).collect())
        .collect();
    assert_eq!(taken, ["a < b -> a >= b", "c(b); -> nothing"]);
    assert!(mutant::named(all(), "").is_empty());
}

#[test]
fn an_error_condemns_the_mutant_in_whose_copy_it_is() {
    let source = "fn f() -> bool {\n    a < b\n}\nfn g() {}\n";
    let functions = sites::functions(source).unwrap();
    let mut mutants: Vec<Mutant> = mutant::all("f.rs", source, &functions)
        .into_iter()
        .flatten()
        .collect();
    build::number(&mut mutants);
    let numbered: Vec<(usize, &Mutant)> = mutants
        .iter()
        .enumerate()
        .map(|(at, one)| (at + 1, one))
        .collect();
    let woven = weave::weave(source, &numbered);
    for (number, mutant) in &numbered {
        let copy = woven
            .text
            .lines()
            .position(|line| line.contains(&mutant.new))
            .unwrap();
        assert_eq!(woven.condemned(copy + 1), [*number], "{}", woven.text);
    }
    assert_eq!(woven.condemned(1).len(), mutants.len());
    assert!(woven.text.ends_with("} }\nfn g() {}\n"));
}

#[test]
fn no_copy_is_inlined_into_the_copies_of_its_caller() {
    let source = "#[inline(always)] fn f() -> bool { a < b }\n#[inline] fn g() {}\n";
    let all = mutant::all("f.rs", source, &sites::functions(source).unwrap());
    let all: Vec<Mutant> = all.into_iter().flatten().collect();
    let numbered: Vec<(usize, &Mutant)> = (1..).zip(&all).collect();
    let woven = weave::weave(source, &numbered);
    assert!(
        woven
            .text
            .starts_with("#[inline(never)]  fn f() -> bool { match")
    );
    assert!(woven.text.contains("\n#[inline] fn g() {}"));
    assert!(woven.text.contains("{ a <= b }"));
}

#[test]
fn nine_in_ten_must_be_noticed_and_one_in_twenty_may_be_equivalent() {
    let of = |killed, equivalent, survived| Tally {
        killed,
        equivalent,
        survived,
        ..Tally::default()
    };
    assert!(of(180, 10, 10).is_enough(false));
    assert!(!of(179, 10, 11).is_enough(false));
    assert!(!of(189, 11, 0).is_enough(false));
    assert!(of(30, 0, 10).is_enough(true) && !of(29, 0, 11).is_enough(true));
    assert!(
        !Tally {
            mislisted: 1,
            ..of(200, 0, 0)
        }
        .is_enough(false)
    );
    assert!(MODULES[0].suite(Path::new("nowhere"), true).is_err());
}

#[test]
fn models_are_built_in_a_workspace_of_their_own() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let rcu = MODULES.iter().find(|module| module.name == "rcu").unwrap();
    let suite = rcu.suite(&root, true).unwrap();
    let first = "--release --manifest-path loom/Cargo.toml --test loom";
    assert_eq!(suite.arguments(true).join(" "), first);
    assert_eq!(suite.folder_of("loom", false).as_deref(), Some("loom"));
    let said = "../crates/furlong/src/rcu/slot.rs:7:3: error[E0308]: mismatched types";
    let place = Some(("crates/furlong/src/rcu/slot.rs", 7));
    assert_eq!(build::place(said), place);
}
