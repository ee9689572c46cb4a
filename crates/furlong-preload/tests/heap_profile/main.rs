//! The heap profile names the function that leaks, and how much, in programs of three languages.
#![cfg(target_env = "gnu")]
#![forbid(unsafe_code)]

#[path = "../folder/mod.rs"]
mod folder;
#[path = "../library/mod.rs"]
mod library;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use folder::Folder;
use library::library;

/// The mean number of bytes between samples: a leak of 20 MB has 1200 samples.
const EVERY: &str = "16384";

/// The fields of a message of protobuf: their numbers, and a number or bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = varint(&mut bytes);
        let nested = if key & 7 == 2 {
            let (nested, rest) = bytes.split_at(value as usize);
            bytes = rest;
            nested
        } else {
            &[]
        };
        fields.push((key >> 3, value, nested));
    }
    fields
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().expect("a number ends");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}

fn varints(mut bytes: &[u8]) -> Vec<u64> {
    let mut values = Vec::new();
    while !bytes.is_empty() {
        values.push(varint(&mut bytes));
    }
    values
}

/// A stack by the names of its functions, the innermost first, with its four values: allocations,
/// their bytes, and the same of those in use.
type Stack = (Vec<String>, Vec<u64>);

/// Reads a profile, at most `depth` frames of each stack. The tool `gzip` checks its sums, and
/// `addr2line` names the functions.
fn stacks(profile: &Path, depth: usize) -> Vec<Stack> {
    let unpacked = Command::new("gzip").arg("-dc").arg(profile).output();
    let unpacked = unpacked.expect("gzip is on every system");
    assert!(unpacked.status.success(), "{profile:?}");
    let fields_of = fields(&unpacked.stdout);
    let all = |field| fields_of.iter().filter(move |(found, ..)| *found == field);
    let strings: Vec<_> = all(6)
        .map(|(_, _, text)| String::from_utf8_lossy(text).into_owned())
        .collect();
    let value = |message: &[u8], field| {
        let found = fields(message)
            .into_iter()
            .find(|(found, ..)| *found == field);
        found.map_or(0, |(_, value, _)| value)
    };
    let mappings: Vec<_> = all(3).map(|(_, _, mapping)| *mapping).collect();
    let locations = all(4).map(|(_, _, location)| (value(location, 1), *location));
    let locations: HashMap<u64, &[u8]> = locations.collect();
    let mut names = HashMap::new();
    let mut name = |id: u64| -> String {
        let found = names.entry(id).or_insert_with(|| {
            let location = locations[&id];
            // The code of a library that was unloaded is of no file.
            let at = (value(location, 2) as usize).checked_sub(1);
            at.map_or_else(String::new, |at| {
                let mapping = mappings[at];
                let offset = value(location, 3) - value(mapping, 2) + value(mapping, 4);
                name_of(&strings[value(mapping, 5) as usize], offset)
            })
        });
        found.clone()
    };
    let samples = all(2).map(|(_, _, sample)| {
        let parts = fields(sample);
        let frames = varints(parts[0].2).into_iter().take(depth);
        (frames.map(&mut name).collect(), varints(parts[1].2))
    });
    samples.collect()
}

/// The output of a binary tool.
fn said(tool: &str, arguments: &[&str]) -> String {
    let output = Command::new(tool).args(arguments).output();
    let output = output.expect("it is of the tools that link this test");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The function at an offset of a file.
fn name_of(file: &str, offset: u64) -> String {
    let segments = said("readelf", &["-lW", file]);
    let loads = segments
        .lines()
        .filter_map(|line| line.trim().strip_prefix("LOAD"));
    let address = loads.into_iter().find_map(|line| {
        let numbers = line
            .split_whitespace()
            .map_while(|word| word.strip_prefix("0x"));
        let numbers = numbers.map(|digits| u64::from_str_radix(digits, 16).unwrap_or(0));
        let [start, address, _, len, ..] = numbers.collect::<Vec<_>>()[..] else {
            return None;
        };
        (start..start + len)
            .contains(&offset)
            .then(|| offset - start + address)
    });
    let Some(address) = address else {
        return "?".to_owned();
    };
    let named = said(
        "addr2line",
        &["-f", "-C", "-e", file, &format!("{address:#x}")],
    );
    named.lines().next().unwrap_or("?").to_owned()
}

/// Runs a program with a heap profile, and returns the profiles in its folder by name.
fn profiles(folder: &Folder, program: &Path) -> Vec<PathBuf> {
    let asked = folder.0.join("asked.pb.gz");
    profiles_of(folder, Command::new(program).arg(asked))
}

/// As above, of any command.
fn profiles_of(folder: &Folder, command: &mut Command) -> Vec<PathBuf> {
    let run = command
        .env("LD_PRELOAD", library("furlong_malloc"))
        .env("FURLONG_MALLOC_HEAP_PROFILE", folder.0.join("heap"))
        .env("FURLONG_MALLOC_HEAP_PROFILE_BYTES", EVERY)
        .env("FURLONG_MALLOC_HEAP_PROFILE_SIGNAL", "12")
        .output()
        .expect("this program can be run");
    assert!(run.status.success(), "{command:?}: {run:?}");
    let files = fs::read_dir(&folder.0).expect("it is there");
    let files = files.map(|file| file.expect("it is there").path());
    let mut files: Vec<_> = files
        .filter(|file| file.extension().is_some_and(|end| end == "gz"))
        .collect();
    files.sort();
    files
}

/// The bytes of a profile by the functions that leak, that free all, and of all: those that were
/// allocated, and those in use. Asserts that most bytes in use come from the planted leak.
fn bytes_of(profile: &Path) -> [[u64; 3]; 2] {
    let stacks = stacks(profile, usize::MAX);
    let by = |name: &str, value: usize| -> u64 {
        let has = |frames: &[String]| frames.iter().any(|frame| frame.contains(name));
        let with = stacks.iter().filter(|(frames, _)| has(frames));
        with.map(|(_, values)| values[value]).sum()
    };
    let bytes = [1, 3].map(|value| ["planted_leak", "frees_all", ""].map(|name| by(name, value)));
    let [leaked, kept, live] = bytes[1];
    assert!(leaked > live / 10 * 9, "{leaked} of {live}: {stacks:?}");
    assert!(kept < 100_000, "{kept}");
    bytes
}

/// Asserts that most bytes in use come from the planted leak, and that the other function
/// allocated most but kept nothing. Returns the bytes in use.
fn names_the_leak(profile: &Path) -> u64 {
    let [[_, freed, _], [_, _, live]] = bytes_of(profile);
    assert!((32_000_000..48_000_000).contains(&freed), "{freed}");
    live
}

#[test]
fn a_leak_in_c_is_named_at_exit_and_on_request_in_each_process() {
    let folder = Folder::new("leak-c");
    let program = folder.compiled("heap_profile/leak", &["-ldl"]);
    let profiles = profiles(&folder, &program);
    let names: Vec<_> = profiles
        .iter()
        .map(|file| file.file_name().unwrap_or_default())
        .collect();
    let [asked, rest @ ..] = &profiles[..] else {
        panic!("no profiles")
    };
    assert!(asked.ends_with("asked.pb.gz"), "{names:?}");
    assert_eq!(
        rest.len(),
        3,
        "one at the signal, and one a process: {names:?}"
    );
    let at_signal = rest
        .iter()
        .find(|file| file.to_string_lossy().ends_with(".1.pb.gz"));
    let early = stacks(at_signal.expect("a signal was sent"), 1);
    let early: u64 = early.iter().map(|(_, values)| values[3]).sum();
    assert!(early < 1_000_000, "{early}");
    let mut ends: Vec<_> = rest
        .iter()
        .filter(|file| Some(*file) != at_signal)
        .collect();
    ends.sort_by_key(|file| bytes_of(file)[1][2]);
    let [parent, child] = ends[..] else {
        panic!("{names:?}")
    };
    for file in [asked, parent] {
        let live = names_the_leak(file);
        assert!((17_000_000..23_000_000).contains(&live), "{live}");
    }
    // The child has what its parent had and 10 MB more, which alone it has allocated.
    let [[leaked, freed, allocated], [_, _, live]] = bytes_of(child);
    assert!((26_000_000..34_000_000).contains(&live), "{live}");
    assert!((8_000_000..12_000_000).contains(&leaked), "{leaked}");
    assert!(freed == 0 && allocated < 12_000_000, "{freed} {allocated}");
}

#[test]
fn a_leak_in_cxx_is_named() {
    let folder = Folder::new("leak-cxx");
    let program = folder.compiled("heap_profile/leak.cpp", &[]);
    let profiles = profiles(&folder, &program);
    assert_eq!(profiles.len(), 1, "{profiles:?}");
    // The strings have 33 bytes each as well.
    let live = names_the_leak(&profiles[0]);
    assert!((19_000_000..30_000_000).contains(&live), "{live}");
}

#[test]
fn a_leak_in_rust_is_named() {
    let folder = Folder::new("leak-rust");
    let program = folder.0.join("leak");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/heap_profile/leak.rs");
    let built = Command::new("rustc")
        .args(["--edition", "2024", "-O", "-o"])
        .args([&program, &source])
        .output()
        .expect("the compiler of this test");
    assert!(built.status.success(), "{built:?}");
    let profiles = profiles(&folder, &program);
    assert_eq!(profiles.len(), 1, "{profiles:?}");
    let live = names_the_leak(&profiles[0]);
    assert!((17_000_000..23_000_000).contains(&live), "{live}");
}

/// A program of some 100 MB a run, with threads, in which three functions of a library leak.
const SCRIPT: &str = "
import _ctypes, ctypes, json, sys, threading
leaks, plugin = [ctypes.CDLL(path) for path in sys.argv[1:3]]
leaks.leak_30_mb()
threads = [threading.Thread(target=leaks.leak_10_mb), threading.Thread(target=leaks.leak_20_mb)]
[thread.start() for thread in threads]
data = {str(number): [number] * 20 for number in range(20000)}
assert json.loads(json.dumps(data)) == data
[thread.join() for thread in threads]
plugin.leak_10_mb()
_ctypes.dlclose(plugin._handle)
";

#[test]
fn three_leaks_in_python_are_named_before_all_others_and_an_unloaded_library_does_no_harm() {
    if Command::new("python3").arg("--version").output().is_err() {
        let needed = std::env::var_os("FURLONG_PROGRAMS_ARE_THERE").is_some();
        assert!(!needed, "python3 is missing");
        return;
    }
    let folder = Folder::new("leak-python");
    let leaks = folder.compiled("heap_profile/leaks", &["-shared", "-fPIC"]);
    let plugin = folder.0.join("plugin");
    fs::copy(&leaks, &plugin).expect("there is room for a library");
    // A wrapper in the shell may start Python, which has most of the samples.
    let mut python = Command::new("python3");
    python.args(["-c", SCRIPT]).args([&leaks, &plugin]);
    let profiles = profiles_of(&folder, python.env("PYTHONMALLOC", "malloc"));
    let profiles = profiles.iter().map(|profile| stacks(profile, 1));
    let allocated = |stacks: &Vec<Stack>| stacks.iter().map(|stack| stack.1[1]).sum::<u64>();
    let stacks = profiles.max_by_key(allocated).expect("one a process");
    let mut live: HashMap<&str, u64> = HashMap::new();
    for (frames, values) in &stacks {
        let function = frames.first().map_or("?", String::as_str);
        *live.entry(function).or_default() += values[3];
    }
    let mut order: Vec<_> = live.into_iter().collect();
    order.sort_unstable_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let named = ["leak_30_mb", "leak_20_mb", "leak_10_mb"];
    for (name, expected) in named.iter().zip([30_000_000, 20_000_000, 10_000_000]) {
        let found = order.iter().find(|(function, _)| function == name);
        let bytes = found.map_or(0, |(_, bytes)| *bytes);
        let off = bytes.abs_diff(expected);
        assert!(off < expected / 5, "{name}: {bytes}: {order:?}");
    }
    let named_first: Vec<_> = order.iter().map(|(name, _)| *name).collect();
    let in_order = named_first.iter().filter(|name| !name.is_empty()).take(3);
    assert!(in_order.eq(&named), "{order:?}");
    let unloaded = order.iter().find(|(name, _)| name.is_empty());
    let unloaded = unloaded.map_or(0, |(_, bytes)| *bytes);
    assert!(unloaded > 8_000_000, "{order:?}");
}

#[test]
fn a_profile_without_memory_is_announced_and_the_program_runs() {
    let folder = Folder::new("leak-limited");
    let script = "ulimit -v 60000 && exec ls /proc/self/status";
    let run = Command::new("sh")
        .args(["-c", script])
        .env("LD_PRELOAD", library("furlong_malloc"))
        .env("FURLONG_MALLOC_HEAP_PROFILE", folder.0.join("heap"))
        .env("FURLONG_MALLOC_HEAP_PROFILE_BYTES", EVERY)
        .output()
        .expect("there is a shell");
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{run:?}");
    assert!(
        said.contains("no heap profile: too little memory"),
        "{said}"
    );
}
