//! Allocators that no current distribution has, and heaps of kernels, as further arms of the
//! experiment that preloads allocators.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use furlong_experiments::malloc_suite;
use furlong_lab::model::Arm;

/// The experiment in which they are arms.
pub const EXPERIMENT: &str = "malloc-suite";

/// The libraries that `build.rs` has built.
const BUILT: [(&str, &str); 3] = [
    ("mimalloc-2.3", env!("FURLONG_MIMALLOC")),
    ("snmalloc-0.7", env!("FURLONG_SNMALLOC")),
    ("rpmalloc-1.4", env!("FURLONG_RPMALLOC")),
];

/// Kernel heaps behind the C functions: libraries under `examples/`, which cargo builds beside this
/// executable on request.
const HEAPS: [(&str, &str); 2] = [("talc-5.1", "talc_malloc"), ("buddy-0.13", "buddy_malloc")];

/// Further libraries, in a folder of the user's that a variable names: no registry has them.
const OWN: [(&str, &str); 6] = [
    ("mimalloc-v2", "mimalloc-2.so"),
    ("mimalloc-v3", "mimalloc-3.so"),
    ("rusty_alloc", "rusty_alloc.so"),
    ("snmalloc-checks", "snmalloc-checks.so"),
    ("jemalloc-own", "jemalloc.so"),
    ("tcmalloc-own", "tcmalloc.so"),
];
const FOLDER: &str = "FURLONG_MALLOC_LIBRARIES";

/// Workloads that take minutes with a heap, and seconds with others.
const TOO_LONG: [(&str, &str); 2] = [("buddy-0.13", "perl"), ("buddy-0.13", "returns")];

/// The reason.
const WALKS: &str = "each free walks all free blocks of its size";

/// The command that builds them.
const REMEDY: &str = "run `cargo build --release -p furlong-peers --examples`";

/// The reason that a library was not built with this executable.
fn left_out(arm: &str) -> Option<&'static str> {
    let asked = cfg!(feature = "snmalloc") || arm != "snmalloc-0.7";
    (!asked).then_some("run `cargo build --release -p furlong-peers --features snmalloc` (in C++)")
}

/// The paths at which they are expected.
static HEAP_FILES: LazyLock<[String; 2]> = LazyLock::new(|| HEAPS.map(|(_, name)| file(name)));

/// The paths of the user's libraries.
static OWN_FILES: LazyLock<[String; 6]> = LazyLock::new(|| {
    let folder = PathBuf::from(env::var_os(FOLDER).unwrap_or_default());
    OWN.map(|(_, name)| folder.join(name).to_string_lossy().into_owned())
});

fn file(name: &str) -> String {
    let here = env::current_exe().unwrap_or_default();
    let file = format!("examples/lib{name}.so");
    // A test executable lies one folder further down.
    let places = here.ancestors().skip(1).take(2);
    let mut places = places.map(|folder| folder.join(&file));
    let found = places.find(|place| place.is_file());
    let found = found.unwrap_or_else(|| PathBuf::from(file));
    found.to_string_lossy().into_owned()
}

/// The arm of a library that was built with this executable.
fn built<const AT: usize>() -> Arm {
    Arm {
        na: |workload| {
            let left_out = left_out(BUILT[AT].0).map(str::to_owned);
            left_out.or_else(|| malloc_suite::missing_file(BUILT[AT].1, workload))
        },
        ..Arm::new(BUILT[AT].0, |request| {
            malloc_suite::preloaded(BUILT[AT].1, request)
        })
    }
}

/// The arm of a kernel heap.
fn heap<const AT: usize>() -> Arm {
    Arm {
        na: |workload| {
            if TOO_LONG.contains(&(HEAPS[AT].0, workload.name.as_str())) {
                return Some(WALKS.to_owned());
            }
            let missing = !Path::new(&HEAP_FILES[AT]).is_file();
            let missing = missing.then(|| REMEDY.to_owned());
            missing.or_else(|| malloc_suite::missing_file(&HEAP_FILES[AT], workload))
        },
        ..Arm::new(HEAPS[AT].0, |request| {
            malloc_suite::preloaded(&HEAP_FILES[AT], request)
        })
    }
}

/// The arm of a library of the user's.
fn own<const AT: usize>() -> Arm {
    Arm {
        na: |workload| {
            let file = OWN[AT].1;
            let missing = !Path::new(&OWN_FILES[AT]).is_file();
            let missing = missing.then(|| format!("{FOLDER} names no folder with {file}"));
            missing.or_else(|| malloc_suite::missing_file(&OWN_FILES[AT], workload))
        },
        ..Arm::new(OWN[AT].0, |request| {
            malloc_suite::preloaded(&OWN_FILES[AT], request)
        })
    }
}

/// The libraries of this build by the names of their arms; a heap's file may be missing.
pub fn libraries() -> impl Iterator<Item = (&'static str, &'static Path)> {
    let heaps = HEAPS.into_iter().zip(HEAP_FILES.iter());
    let heaps = heaps.map(|((name, _), file)| (name, file.as_str()));
    let built = BUILT
        .into_iter()
        .filter(|(name, _)| left_out(name).is_none());
    let all = built.chain(heaps);
    all.map(|(name, file)| (name, Path::new(file)))
}

/// The libraries of the user's by the names of their arms; each file may be missing.
pub fn own_libraries() -> impl Iterator<Item = (&'static str, &'static Path)> {
    let own = OWN.into_iter().zip(OWN_FILES.iter());
    own.map(|((name, _), file)| (name, Path::new(file)))
}

/// The arms.
#[must_use]
pub fn arms() -> Vec<Arm> {
    vec![
        built::<0>(),
        built::<1>(),
        built::<2>(),
        heap::<0>(),
        heap::<1>(),
        own::<0>(),
        own::<1>(),
        own::<2>(),
        own::<3>(),
        own::<4>(),
        own::<5>(),
    ]
}
