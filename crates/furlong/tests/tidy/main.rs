//! The machine-checkable rules of the style guide, applied to the whole repository.
//!
//! Each rule is a function from the tree to its findings. Here it is applied to the repository;
//! in `samples.rs`, to samples that break it, so that every rule can fail.
#![forbid(unsafe_code)]

mod documents;
mod edges;
mod experiments;
mod functions;
mod habits;
mod language;
mod left_over;
mod lexer;
mod samples;
mod scripts;
mod size;
mod systems;
mod tree;
mod unsafety;

use tree::{Finding, Tree};

type Rule = fn(&Tree) -> Vec<Finding>;

/// Every rule, with what it holds.
const RULES: &[(&str, Rule)] = &[
    ("files keep to 500 lines", size::files),
    ("functions keep to 70 lines", size::long_functions),
    ("lines keep to 100 columns", size::columns),
    (
        "doc comments and documents begin with a subject",
        language::beginnings,
    ),
    (
        "unsafe is forbidden outside the named files",
        unsafety::forbidden,
    ),
    (
        "unsafe blocks say why they are right",
        unsafety::safety_comments,
    ),
    ("orderings name their partners", unsafety::orderings),
    (
        "lints are not silenced without a reason",
        habits::silenced_lints,
    ),
    ("imports name what they import", habits::glob_imports),
    (
        "no unstable feature is asked for",
        habits::unstable_features,
    ),
    ("no macro writes tests", habits::tests_from_macros),
    ("no code is commented out", habits::dead_code),
    ("tests are named as sentences", habits::test_names),
    ("files of tests are named for hazards", habits::test_files),
    ("no work is left open", left_over::open_work),
    ("no machine is named", left_over::foreign_places),
    ("modules use only what is below", edges::modules),
    ("crates use only what is below", edges::crates),
    ("the library has no further features", edges::features),
    ("crates share licence and lints", edges::manifests),
    ("module roots explain and do nothing", systems::roots),
    ("each system is found by its word", systems::words),
    ("atomics come from sync", systems::atomics),
    ("experiments are named and explained", experiments::folders),
    ("experiments declare their own name", experiments::plans),
    (
        "the readme has two commands and the checks run its test",
        documents::two_commands,
    ),
    ("commands in documents exist", documents::commands),
    ("links in documents lead somewhere", documents::links),
    (
        "the repository's address stands in one place",
        documents::address,
    ),
    (
        "the changelog has a place for the next release",
        documents::changelog,
    ),
    ("both licences are here", documents::licences),
    ("scripts stop at the first error", scripts::strict),
    ("all steps of the checks exist", scripts::steps),
];

#[test]
fn the_repository_keeps_every_rule() {
    let mut broken = String::new();
    for (what, rule) in RULES {
        let found = rule(Tree::here());
        if !found.is_empty() {
            broken += &format!("\nnot so: {what}: {} findings", found.len());
        }
        for finding in found {
            broken += &format!("\n  {finding}");
        }
    }
    assert!(broken.is_empty(), "{broken}");
}
