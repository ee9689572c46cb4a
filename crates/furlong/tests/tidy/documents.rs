//! Checks that documents are right about commands, links, licences, and the next release.

use super::tree::{File, Finding, Tree};

/// The README has one command to run and one to test, and the checks use the latter.
pub(crate) fn two_commands(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let text = |path: &str| tree.file(path).map_or("", |file| file.text.as_str());
    for start in ["cargo run", "cargo test"] {
        let count = text("README.md")
            .lines()
            .filter(|line| line.starts_with(start))
            .count();
        if count != 1 {
            found.push(Finding::at(
                "README.md",
                format!("{count} lines begin with {start:?}, not 1"),
            ));
        }
    }
    let script = text("ci/test.sh");
    if !script.contains("'^cargo test' README.md") {
        found.push(Finding::at(
            "ci/test.sh",
            "does not take the command from README.md",
        ));
    }
    if script
        .lines()
        .any(|line| line.trim_start().starts_with("cargo "))
    {
        found.push(Finding::at("ci/test.sh", "has a command of its own"));
    }
    found
}

/// The verbs of the lab, and those that the experiments bring.
const VERBS: &str = "crates/furlong-lab/src/cmd/";
const OWN_VERBS: &str = "crates/furlong-verbs/src/cmd/";

/// Commands in documents whose verb, package, example or script does not exist.
pub(crate) fn commands(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree
        .ending(".md")
        .filter(|file| file.path != "CHANGELOG.md")
    {
        for (line, command) in quoted(file) {
            for path in wanted_by(command)
                .into_iter()
                .filter(|path| !tree.exists(path))
            {
                // A verb may be a folder instead of a file, and be one of the experiments'.
                let own = path.replace(VERBS, OWN_VERBS);
                let places = [path.trim_end_matches(".rs"), own.as_str()];
                if !places.iter().any(|place| tree.exists(place)) {
                    found.push(file.finding(line, format!("{command:?} needs {path}")));
                }
            }
        }
    }
    found
}

/// The texts between backticks or on the lines of a code block, each with its line.
fn quoted(file: &File) -> Vec<(usize, &str)> {
    let mut block = false;
    let mut found = Vec::new();
    for (at, line) in file.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            block = !block;
        } else if block {
            found.push((at + 1, line.trim()));
        } else {
            found.extend(
                line.split('`')
                    .skip(1)
                    .step_by(2)
                    .map(|span| (at + 1, span)),
            );
        }
    }
    found
}

/// The paths that must exist for a command to work.
fn wanted_by(command: &str) -> Vec<String> {
    let all: Vec<&str> = command.split_whitespace().collect();
    let after = |word: &str| {
        let at = all.iter().position(|found| *found == word)?;
        all.get(at + 1).copied()
    };
    let mut paths = Vec::new();
    match all.first() {
        Some(&"cargo") => {
            paths.extend(after("-p").map(|name| format!("crates/{name}/Cargo.toml")));
            let package = after("-p").unwrap_or("furlong");
            let example = after("--example");
            paths.extend(example.map(|name| format!("crates/{package}/examples/{name}.rs")));
        }
        Some(&"bash") => paths.extend(all.get(1).map(ToString::to_string)),
        Some(script) if script.starts_with("ci/") || script.starts_with(".ci/") => {
            paths.push((*script).to_string());
        }
        _ => {}
    }
    let verb = match all.first() {
        Some(&"furlong") => all.get(1).copied(),
        Some(&"cargo") if all.get(1) == Some(&"run") && after("--example").is_none() => after("--"),
        _ => None,
    };
    let verb = verb.filter(|verb| verb.chars().all(|c| c.is_ascii_lowercase()));
    paths.extend(verb.map(|verb| format!("{VERBS}{verb}.rs")));
    paths
}

/// Links in documents that lead to no file or folder of the repository.
pub(crate) fn links(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.ending(".md") {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (at, line) in file.text.lines().enumerate() {
            let targets = line
                .split("](")
                .skip(1)
                .filter_map(|rest| rest.split(')').next());
            for target in targets.filter(|target| !target.contains(':') && !target.starts_with('#'))
            {
                let target = target.split('#').next().unwrap_or_default();
                if !tree.exists(&resolve(folder, target)) {
                    found.push(file.finding(at + 1, format!("{target} leads nowhere")));
                }
            }
        }
    }
    found
}

/// Addresses of the repository outside the workspace's manifest, the only place to change one.
pub(crate) fn address(tree: &Tree) -> Vec<Finding> {
    let manifest = tree
        .ending("Cargo.toml")
        .find(|file| file.path == "Cargo.toml");
    let line = manifest.and_then(|file| file.text.lines().find(|l| l.starts_with("repository")));
    let Some(address) = line.and_then(|line| line.split('"').nth(1)) else {
        return vec![];
    };
    let mut found = Vec::new();
    for kind in [".md", ".toml", ".rs", ".json", ".sh"] {
        for file in tree.ending(kind).filter(|file| file.path != "Cargo.toml") {
            let places = file.text.lines().enumerate();
            let places = places.filter(|(_, line)| line.contains(address));
            found.extend(places.map(|(at, _)| file.finding(at + 1, address.to_owned())));
        }
    }
    found
}

fn resolve(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(target.split('/')) {
        match part {
            ".." => drop(parts.pop()),
            "" | "." => {}
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// The changelog has an entry under its unreleased heading.
pub(crate) fn changelog(tree: &Tree) -> Vec<Finding> {
    let text = tree
        .file("CHANGELOG.md")
        .map_or("", |file| file.text.as_str());
    let next = text
        .split("\n## [Unreleased]")
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next());
    if next.is_some_and(|section| section.contains("\n- ")) {
        return vec![];
    }
    vec![Finding::at(
        "CHANGELOG.md",
        "has no entry under [Unreleased]",
    )]
}

/// Both licences, complete.
pub(crate) fn licences(tree: &Tree) -> Vec<Finding> {
    let parts = [
        (
            "LICENSE-MIT",
            "Permission is hereby granted, free of charge",
        ),
        ("LICENSE-MIT", "SOFTWARE IS PROVIDED \"AS IS\""),
        ("LICENSE-APACHE", "Version 2.0, January 2004"),
        ("LICENSE-APACHE", "END OF TERMS AND CONDITIONS"),
        ("Cargo.toml", "license = \"MIT OR Apache-2.0\""),
    ];
    let lacks = |path: &str, part: &str| !tree.file(path).is_some_and(|f| f.text.contains(part));
    let missing = parts.into_iter().filter(|(path, part)| lacks(path, part));
    missing
        .map(|(path, part)| Finding::at(path, format!("lacks {part:?}")))
        .collect()
}
