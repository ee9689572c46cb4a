use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Library, Program, Work, countable};
use crate::malloc_gate;
use furlong_lab::measure::launch::callgrind::Callgrind;
use furlong_lab::measure::launch::pmu::event;
use furlong_lab::model::Plan;

/// Each work, with few operations.
const WORKS: [&str; 11] = [
    "alloc-test threads=2 slots=50 powers=6 seed=3 operations=5000",
    "batches pairs=2 batch=16 least=8 most=99 seed=3 operations=5000",
    "cache threads=2 size=8 writes=3 given=1 operations=100",
    "cfrac seed=3 operations=6400",
    "espresso seed=3 operations=5000",
    "larson threads=2 generations=3 slots=20 least=8 most=99 seed=3 operations=5000",
    "mixed round=1000 slots=64 seed=3 threads=1 operations=5000",
    "mixed-nothing round=1000 slots=64 seed=3 threads=1 operations=5000",
    "mstress threads=2 seed=3 operations=5000",
    "phases operations=20000 idle_ms=1",
    "sh threads=2 seed=3 operations=5000",
];

fn glibc() -> PathBuf {
    let library = Library::Packaged("libc.so.6", "libc6");
    library.find().expect("tests run with glibc")
}

fn work<'a>(line: &str, library: &'a Path) -> Work<'a> {
    Work {
        arguments: line.split(' ').map(str::to_owned).collect(),
        preload: library,
        input: None,
        settings: vec![],
    }
}

#[test]
fn every_work_gives_the_same_answer_each_time() {
    let (program, glibc) = (Program::new().unwrap(), glibc());
    for line in WORKS {
        let one = program.run(&work(line, &glibc), &[]).unwrap();
        let other = program.run(&work(line, &glibc), &[]).unwrap();
        assert_eq!(one.digest, other.digest, "{line}");
        assert!(one.operations >= 100 && one.elapsed_s > 0.0, "{line}");
    }
}

#[test]
fn an_allocator_that_does_nothing_answers_like_any_other() {
    let (program, glibc) = (Program::new().unwrap(), glibc());
    let digest = |line| program.run(&work(line, &glibc), &[]).unwrap().digest;
    assert_eq!(digest(WORKS[6]), digest(WORKS[7]));
    let other = WORKS[6].replace("seed=3", "seed=4");
    assert_ne!(digest(WORKS[6]), digest(&other));
}

#[test]
fn whole_batches_are_done_and_none_without_operations() {
    let (program, glibc) = (Program::new().unwrap(), glibc());
    let operations = |option: &str| {
        let line = WORKS[6].replace("operations=5000", option);
        program.run(&work(&line, &glibc), &[]).unwrap().operations
    };
    assert_eq!(operations("operations=1001"), 2000);
    assert_eq!(operations("operations=0"), 0);
}

#[test]
fn a_library_that_does_not_serve_is_a_failure() {
    let (program, glibc) = (Program::new().unwrap(), glibc());
    let other = glibc.with_file_name("libm.so.6");
    let failure = program.run(&work(WORKS[6], &other), &[]).unwrap_err();
    assert!(
        failure.0.contains("libm.so.6 was preloaded"),
        "{}",
        failure.0
    );
    let missing = glibc.with_file_name("no-such-library.so");
    let failure = program.run(&work(WORKS[6], &missing), &[]).unwrap_err();
    assert!(failure.0.contains("was preloaded"), "{}", failure.0);
}

#[test]
fn what_the_program_does_not_understand_is_said() {
    let (program, glibc) = (Program::new().unwrap(), glibc());
    for (wrong, why) in [
        ("dance", "no work `dance`"),
        ("cfrac operations=1", "`seed` is missing"),
        ("cfrac operations=1 seed=many", "not name=number"),
        ("cfrac operations=1 seed=1 speed=2", "no `speed`"),
    ] {
        let failure = program.run(&work(wrong, &glibc), &[]).unwrap_err();
        assert!(failure.0.contains(why), "{wrong}: {}", failure.0);
    }
}

#[test]
fn instructions_are_those_of_the_timed_part_and_the_same_each_time() {
    if Callgrind::new().is_err() {
        return;
    }
    let (program, glibc) = (Program::new().unwrap(), glibc());
    let count = |batches: u32| {
        let line = WORKS[6].replace("5000", &format!("{batches}000"));
        program.count(&work(&line, &glibc)).unwrap().1.instructions
    };
    let (one, two, four) = (count(1), count(2), count(4));
    assert_eq!(one, count(1));
    // Batches only: the cost of startup cancels out.
    let (first, more) = ((two - one) as f64, (four - two) as f64);
    assert!((more / first - 2.0).abs() < 0.05, "{one} {two} {four}");
    assert!(f64::from(one as u32) < 1.5 * first, "{one} {two}");
}

#[test]
fn only_what_can_be_counted_here_stays_in_a_plan() {
    let plan = countable(malloc_gate::experiment().plan);
    let has = |name: &str| plan.metrics.iter().any(|metric| metric.name == name);
    assert!(has("ops_per_s") && has("peak_rss_kib"));
    assert_eq!(has("instructions_per_op"), Callgrind::new().is_ok());
    let cycles = event("hw_cycles").unwrap().missing().is_none();
    assert_eq!(has("cycles_per_op"), cycles);
    assert!(Plan::check(&plan).is_ok());
}

#[test]
fn a_library_that_is_not_there_comes_with_its_remedy() {
    let none = Library::Packaged("libnone.so.1", "libnone1").find();
    assert_eq!(none, Err("run `apt-get install libnone1`".to_owned()));
    let none = Library::Shipped("none").find().unwrap_err();
    assert!(none.contains("cargo build -p furlong-preload"), "{none}");
}

/// A broken allocator: it hands out every hundredth block twice and never frees.
const BROKEN: &str = r"
#include <stddef.h>
extern void *__libc_malloc(size_t);
static _Thread_local void *last;
static _Thread_local int calls;
void *malloc(size_t size) {
    if (++calls % 100 == 0 && last && size < 1000) return last;
    void *block = __libc_malloc(size < 1000 ? 1000 : size);
    return last = block;
}
void free(void *block) { (void)block; }
";

#[test]
fn an_allocator_that_is_broken_is_caught_by_what_the_blocks_hold() {
    let home = tempfile::tempdir().unwrap();
    let (source, library) = (home.path().join("broken.c"), home.path().join("broken.so"));
    fs::write(&source, BROKEN).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-fno-builtin", "-o"]);
    assert!(
        compiler
            .args([&library, &source])
            .status()
            .unwrap()
            .success()
    );
    let program = Program::new().unwrap();
    for line in [WORKS[1], WORKS[5], WORKS[6], WORKS[8], WORKS[10]] {
        let failure = program.run(&work(line, &library), &[]).unwrap_err();
        assert!(
            failure.0.contains("was overwritten"),
            "{line}: {}",
            failure.0
        );
    }
    // Detected by numbers that change during a calculation, and by foreign bytes.
    assert!(program.run(&work(WORKS[3], &library), &[]).is_err());
    let (alloc_test, glibc) = (WORKS[0], glibc());
    let broken = program.run(&work(alloc_test, &library), &[]).unwrap();
    let right = program.run(&work(alloc_test, &glibc), &[]).unwrap();
    assert_ne!(broken.digest, right.digest);
}
