//! Every experiment states its question before anything is measured.

use super::systems::SYSTEMS;
use super::tree::{Finding, Tree};

/// Experiments that compare no system.
const OTHERS: &[&str] = &["tree-order", "lab-honesty"];

/// Headings required in an experiment's README.
const HEADINGS: &[&str] = &[
    "question",
    "prediction",
    "method",
    "result",
    "verdict",
    "limits",
];

/// Experiments with a wrong name, without a plan, or without one of the headings.
pub(crate) fn folders(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for name in names(tree) {
        let folder = format!("experiments/{name}");
        if !is_name(name) {
            found.push(Finding::at(folder.as_str(), "is not named <system>-<word>"));
        }
        if !tree.exists(&format!("{folder}/plan.toml")) {
            found.push(Finding::at(folder.as_str(), "has no plan.toml"));
        }
        let Some(readme) = tree.file(&format!("{folder}/README.md")) else {
            found.push(Finding::at(folder.as_str(), "has no README.md"));
            continue;
        };
        let headings: Vec<String> = readme
            .text
            .lines()
            .filter(|line| line.starts_with('#'))
            .map(str::to_lowercase)
            .collect();
        let absent = HEADINGS
            .iter()
            .filter(|wanted| !headings.iter().any(|heading| heading.contains(**wanted)));
        found.extend(absent.map(|wanted| readme.finding(1, format!("has no heading {wanted:?}"))));
    }
    found
}

/// Plans that name another experiment than their folder does.
pub(crate) fn plans(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for name in names(tree) {
        let Some(plan) = tree.file(&format!("experiments/{name}/plan.toml")) else {
            continue;
        };
        let wanted = format!("name = \"{name}\"");
        if !plan.text.lines().any(|line| line.trim() == wanted) {
            found.push(plan.finding(1, format!("must say {wanted}")));
        }
    }
    found
}

fn names(tree: &Tree) -> impl Iterator<Item = &str> {
    let is_folder =
        |name: &&str| tree.exists(&format!("experiments/{name}/")) && !name.contains('.');
    tree.names_in("experiments/").into_iter().filter(is_folder)
}

fn is_name(name: &str) -> bool {
    let plain = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase());
    let of_system = name
        .split_once('-')
        .is_some_and(|(system, word)| SYSTEMS.contains(&system) && plain(word));
    of_system || OTHERS.contains(&name)
}
