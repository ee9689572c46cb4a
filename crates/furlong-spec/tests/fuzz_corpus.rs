//! Runs every input in `fuzz/corpus` through the function that a fuzzer calls. So faults found once
//! are tested without a fuzzer.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

use std::fs;
use std::panic;
use std::path::{Path, PathBuf};

use furlong_spec::fuzz::TARGETS;

/// Maximum size of the whole corpus, in bytes.
const KEPT_MAX: u64 = 1 << 20;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// The inputs of a target, in order.
fn kept(target: &str) -> Vec<PathBuf> {
    let folder = fuzz().join("corpus").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Runs all inputs of a target. Both a panic and a wrong result name the input.
fn all_hold(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).unwrap();
    let files = kept(name);
    assert!(files.len() > 20, "{} inputs are kept", files.len());
    for file in files {
        let bytes = fs::read(&file).unwrap();
        let held = panic::catch_unwind(|| (target.run)(&bytes));
        let held = held.unwrap_or_else(|_| Err("it panicked".to_owned()));
        held.unwrap_or_else(|wrong| panic!("{}: {wrong}", file.display()));
    }
}

#[test]
fn kept_operations_on_bounce_pools_hold() {
    all_hold("bounce");
}

#[test]
fn kept_operations_on_spaces_of_device_addresses_hold() {
    all_hold("iova");
}

#[test]
fn kept_operations_on_the_allocator_hold() {
    all_hold("malloc");
}

#[test]
fn kept_operations_on_trees_of_ranges_hold() {
    all_hold("maple");
}

#[test]
fn kept_memory_maps_are_read_or_refused_in_a_line() {
    all_hold("maps");
}

#[test]
fn kept_operations_on_tables_of_segments_hold() {
    all_hold("phys");
}

#[test]
fn kept_states_are_restored_whole_or_refused() {
    all_hold("states");
}

#[test]
fn kept_operations_on_address_spaces_hold() {
    all_hold("vmspace");
}

#[test]
fn kept_traces_are_read_or_refused_in_a_line() {
    all_hold("vmtrace");
}

#[test]
fn each_target_has_its_file_and_no_file_is_without_target() {
    let files = fs::read_dir(fuzz().join("fuzz_targets")).unwrap();
    let stem = |entry: fs::DirEntry| entry.path().file_stem().unwrap().to_owned();
    let mut stems: Vec<_> = files.map(|entry| stem(entry.unwrap())).collect();
    stems.sort();
    let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(stems, names);
}

#[test]
fn what_is_kept_stays_below_a_megabyte() {
    let files = TARGETS.iter().flat_map(|target| kept(target.name));
    let bytes: u64 = files.map(|file| file.metadata().unwrap().len()).sum();
    assert!(bytes < KEPT_MAX, "{bytes} bytes are kept");
}
