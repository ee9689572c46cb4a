//! The machine-checkable rules of the style guide, applied to the whole repository.
//!
//! Each rule is a function from the tree to its findings. Here it is applied to the repository;
//! beside its definition, to a sample that breaks it, so that every rule can fail.
#![forbid(unsafe_code)]

mod documents;
mod edges;
mod experiments;
mod functions;
mod habits;
mod language;
mod left_over;
mod lexer;
mod scripts;
mod size;
mod systems;
mod tree;
mod unsafe_adapters;
mod unsafe_c;
mod unsafe_hostile;
mod unsafe_kernel;
mod unsafe_malloc;
mod unsafe_peers;
mod unsafe_spec;
mod unsafety;

use tree::{Finding, Tree};

#[track_caller]
fn holds(rule: fn(&Tree) -> Vec<Finding>) {
    let found = rule(Tree::here());
    let list: String = found
        .iter()
        .map(|finding| format!("\n  {finding}"))
        .collect();
    assert!(found.is_empty(), "{} findings:{list}", found.len());
}

#[test]
fn files_keep_to_500_lines() {
    holds(size::files);
}

#[test]
fn functions_keep_to_70_lines() {
    holds(size::long_functions);
}

#[test]
fn lines_keep_to_100_columns() {
    holds(size::columns);
}

#[test]
fn doc_comments_and_documents_begin_with_a_subject() {
    holds(language::beginnings);
}

#[test]
fn unsafe_is_forbidden_outside_the_named_files() {
    holds(unsafety::forbidden);
}

#[test]
fn unsafe_blocks_say_why_they_are_right() {
    holds(unsafety::safety_comments);
}

#[test]
fn orderings_name_their_partners() {
    holds(unsafety::orderings);
}

#[test]
fn lints_are_not_silenced_without_a_reason() {
    holds(habits::silenced_lints);
}

#[test]
fn imports_name_what_they_import() {
    holds(habits::glob_imports);
}

#[test]
fn no_unstable_feature_is_asked_for() {
    holds(habits::unstable_features);
}

#[test]
fn no_macro_writes_tests() {
    holds(habits::tests_from_macros);
}

#[test]
fn no_code_is_commented_out() {
    holds(habits::dead_code);
}

#[test]
fn tests_are_named_as_sentences() {
    holds(habits::test_names);
}

#[test]
fn files_of_tests_are_named_for_hazards() {
    holds(habits::test_files);
}

#[test]
fn no_work_is_left_open() {
    holds(left_over::open_work);
}

#[test]
fn no_machine_is_named() {
    holds(left_over::foreign_places);
}

#[test]
fn modules_use_only_what_is_below() {
    holds(edges::modules);
}

#[test]
fn crates_use_only_what_is_below() {
    holds(edges::crates);
}

#[test]
fn the_library_has_no_further_features() {
    holds(edges::features);
}

#[test]
fn crates_share_licence_and_lints() {
    holds(edges::manifests);
}

#[test]
fn module_roots_explain_and_do_nothing() {
    holds(systems::roots);
}

#[test]
fn each_system_is_found_by_its_word() {
    holds(systems::words);
}

#[test]
fn atomics_come_from_sync() {
    holds(systems::atomics);
}

#[test]
fn experiments_are_named_and_explained() {
    holds(experiments::folders);
}

#[test]
fn experiments_declare_their_own_name() {
    holds(experiments::plans);
}

#[test]
fn the_readme_has_two_commands_and_the_checks_run_its_test() {
    holds(documents::two_commands);
}

#[test]
fn commands_in_documents_exist() {
    holds(documents::commands);
}

#[test]
fn links_in_documents_lead_somewhere() {
    holds(documents::links);
}

#[test]
fn the_changelog_has_a_place_for_the_next_release() {
    holds(documents::changelog);
}

#[test]
fn both_licences_are_here() {
    holds(documents::licences);
}

#[test]
fn scripts_stop_at_the_first_error() {
    holds(scripts::strict);
}

#[test]
fn all_steps_of_the_checks_exist() {
    holds(scripts::steps);
}
