//! Imports point down: the modules of the library and the crates that each may use.

use super::functions::closing;
use super::lexer::words;
use super::tree::{File, Finding, Tree};

/// A crate whose modules use only those below them, which its tables say.
struct Layered {
    /// Its sources.
    folder: &'static str,
    /// Modules that any module above may use, each with the modules that it may use.
    low: Table,
    /// The other modules, each with those that it may use besides.
    above: Table,
}

type Table = &'static [(&'static str, &'static [&'static str])];

/// The library: no system uses another.
const LIBRARY: Layered = Layered {
    folder: "crates/furlong/src/",
    low: &[
        ("addr", &["check", "forms", "proofs"]),
        ("check", &[]),
        ("error", &[]),
        ("forms", &[]),
        ("sync", &["forms"]),
        ("rcu", &["check", "error", "forms", "sync"]),
        // For tests and proofs alone: the definition of a property, and the list of all of them.
        ("proofs", &["addr", "bounce", "iova", "malloc", "phys"]),
    ],
    above: &[
        ("rbtree", &[]),
        ("maple", &[]),
        ("iova", &["rbtree"]),
        ("phys", &["rbtree"]),
        ("vmspace", &["maple", "rbtree"]),
        ("bounce", &[]),
        ("malloc", &[]),
    ],
};

/// The lab, from the bottom up: values, records, measuring, reports, options, verbs.
const LAB: Layered = Layered {
    folder: "crates/furlong-lab/src/",
    low: &[
        ("error", &[]),
        ("nearest", &["error"]),
        ("talk", &["error"]),
        ("shell_words", &[]),
        ("model", &[]),
        ("agreement", &["model"]),
    ],
    above: &[
        ("record", &[]),
        ("measure", &["record"]),
        ("doctor", &["measure", "record"]),
        ("ministat", &[]),
        ("report", &["ministat", "record"]),
        ("history", &["record", "report"]),
        ("options", &["record", "report"]),
        ("peers", &["record"]),
        (
            "archive",
            &[
                "history", "ministat", "options", "peers", "record", "report",
            ],
        ),
        ("publish", &["options", "record", "report"]),
        (
            "session",
            &[
                "archive", "measure", "options", "peers", "publish", "record",
            ],
        ),
        (
            "fleet",
            &["archive", "measure", "options", "record", "session"],
        ),
        ("serve", &["history", "record", "report"]),
        (
            "cmd",
            &[
                "archive", "doctor", "fleet", "history", "measure", "ministat", "options", "peers",
                "publish", "record", "report", "serve", "session",
            ],
        ),
        ("cli", &["cmd", "peers", "record"]),
        ("misuse", &["cli"]),
    ],
};

/// Each crate with the crates of this workspace that it may use, in tests too.
const CRATES: &[(&str, &[&str])] = &[
    ("furlong", &[]),
    ("furlong-spec", &["furlong"]),
    ("furlong-stats", &[]),
    ("furlong-bench", &["furlong-stats"]),
    ("furlong-lab", &["furlong-stats", "furlong-bench"]),
    (
        "furlong-experiments-devices",
        &["furlong", "furlong-spec", "furlong-lab"],
    ),
    (
        "furlong-experiments",
        &[
            "furlong",
            "furlong-spec",
            "furlong-stats",
            "furlong-lab",
            "furlong-experiments-devices",
        ],
    ),
    (
        "furlong-verbs",
        &[
            "furlong",
            "furlong-spec",
            "furlong-stats",
            "furlong-lab",
            "furlong-experiments",
        ],
    ),
    (
        "furlong-cli",
        &[
            "furlong-spec",
            "furlong-stats",
            "furlong-lab",
            "furlong-experiments",
            "furlong-verbs",
        ],
    ),
    (
        "furlong-peers",
        &[
            "furlong",
            "furlong-spec",
            "furlong-stats",
            "furlong-lab",
            "furlong-experiments",
            "furlong-experiments-devices",
            "furlong-verbs",
        ],
    ),
    ("furlong-preload", &["furlong"]),
    ("furlong-adapters", &["furlong", "furlong-spec"]),
    ("furlong-malloc", &["furlong"]),
    ("furlong-c", &["furlong"]),
];

/// The features that the library may have.
const FEATURES: &[&str] = &[
    "default",
    "alloc",
    "std",
    "linux",
    "lock_api",
    "allocator-api2",
    "serde",
];

/// Entries required in every manifest.
const EVERYWHERE: &[&str] = &[
    "license.workspace = true",
    "[lints]\nworkspace = true",
    "description = ",
];

/// Entries that a registry displays or searches.
const SHOWN: &[&str] = &[
    "repository.workspace = true",
    "readme = ",
    "documentation = ",
    "rust-version = ",
    "categories = ",
    "keywords = ",
];

fn find<'a>(table: &'a [(&str, &[&str])], name: &str) -> Option<&'a [&'a str]> {
    table
        .iter()
        .find(|(found, _)| *found == name)
        .map(|(_, allowed)| *allowed)
}

impl Layered {
    /// True if a module may use another; `None` if the tables lack the module.
    fn allows(&self, module: &str, used: &str) -> Option<bool> {
        let low = self.low.iter().any(|(name, _)| *name == used);
        let itself = module == used;
        match (find(self.low, module), find(self.above, module)) {
            (Some(allowed), _) => Some(itself || allowed.contains(&used)),
            (_, Some(allowed)) => Some(itself || low || allowed.contains(&used)),
            _ => None,
        }
    }
}

/// Modules of the library and of the lab that use a module not below them.
pub(crate) fn modules(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for layered in [&LIBRARY, &LAB] {
        let names: Vec<&str> = tree
            .names_in(layered.folder)
            .into_iter()
            .map(|name| name.trim_end_matches(".rs"))
            .collect();
        let files = tree.under(layered.folder);
        for file in files.filter(|file| file.path.ends_with(".rs")) {
            let module = module_of(file, layered.folder);
            if module == "lib" {
                continue;
            }
            for (line, used) in root_paths(file, layered.folder) {
                if !names.contains(&used.as_str()) {
                    continue;
                }
                let wrong = match layered.allows(module, &used) {
                    Some(true) => continue,
                    Some(false) => format!("{module} must not use {used}"),
                    None => format!("{module} is in no table of edges"),
                };
                found.push(file.finding(line, wrong));
            }
        }
    }
    found
}

fn module_of<'a>(file: &'a File, folder: &str) -> &'a str {
    let below = file.path.strip_prefix(folder).unwrap_or_default();
    below
        .split('/')
        .next()
        .unwrap_or_default()
        .trim_end_matches(".rs")
}

/// The first names of all paths that start at the crate's root (`crate::a`, `crate::{a, b}`, or
/// enough `super::` to reach it), each with its line.
fn root_paths(file: &File, folder: &str) -> Vec<(usize, String)> {
    let code = file.code();
    let depth = depth_of(file, folder);
    let mut starts = Vec::new();
    let mut supers = 0;
    for (at, word) in words(&code) {
        let chained = code[..at].ends_with("super::");
        supers = if word == "super" {
            1 + if chained { supers } else { 0 }
        } else {
            0
        };
        let end = at + word.len();
        let at_root = word == "crate" || supers >= depth;
        if at_root && code[end..].starts_with("::{") {
            starts.extend(firsts(&code, end + 2));
        } else if at_root && code[end..].starts_with("::") {
            starts.push(end + 2);
        }
    }
    let line_of = |at: usize| 1 + code[..at].matches('\n').count();
    let name_at = |at: usize| words(&code[at..]).next().map(|(_, name)| name.to_string());
    starts
        .into_iter()
        .filter_map(|at| Some((line_of(at), name_at(at)?)))
        .collect()
}

/// Positions of the first names in a group of imports; its brace opens at `open`.
fn firsts(code: &str, open: usize) -> Vec<usize> {
    let mut depth = 0;
    let mut fresh = false;
    let mut found = Vec::new();
    for (at, c) in code[open..=closing(code, open)].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if c == ',' && depth == 1 || at == 0 {
            fresh = true;
        } else if fresh && c.is_alphabetic() {
            fresh = false;
            found.push(open + at);
        }
    }
    found
}

/// Number of `super` from the module in this file to the crate's root.
fn depth_of(file: &File, folder: &str) -> usize {
    let below = file.path.strip_prefix(folder).unwrap_or_default();
    below.trim_end_matches("/mod.rs").split('/').count()
}

/// Crates that use a crate not below them, or that the table lacks.
pub(crate) fn crates(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for name in tree.names_in("crates/") {
        let Some(file) = tree.file(&format!("crates/{name}/Cargo.toml")) else {
            continue;
        };
        let Some(allowed) = find(CRATES, name) else {
            found.push(file.finding(1, format!("{name} is in no table of edges")));
            continue;
        };
        for (line, used) in entries(file, |section| section.ends_with("dependencies")) {
            // A crate may ask for its own features in its tests.
            let is_itself = used == name;
            if find(CRATES, used).is_some() && !is_itself && !allowed.contains(&used) {
                found.push(file.finding(line, format!("{name} must not use {used}")));
            }
        }
    }
    found
}

/// Features of the library beyond the permitted ones.
pub(crate) fn features(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.file("crates/furlong/Cargo.toml") else {
        return vec![Finding::at("crates/furlong/Cargo.toml", "is missing")];
    };
    let known = |name: &str| FEATURES.contains(&name);
    entries(file, |section| section == "features")
        .into_iter()
        .filter(|(_, name)| !known(name))
        .map(|(line, name)| file.finding(line, format!("{name}: not a feature of the library")))
        .collect()
}

/// Manifests that lack an entry: those from the workspace, and for published crates those of a
/// registry.
pub(crate) fn manifests(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for name in tree.names_in("crates/") {
        let path = format!("crates/{name}/Cargo.toml");
        let text = tree.file(&path).map_or("", |file| file.text.as_str());
        let is_published = !text.contains("\npublish = false\n");
        let shown = SHOWN.iter().filter(|_| is_published);
        for wanted in EVERYWHERE.iter().chain(shown) {
            if !text.contains(wanted) {
                found.push(Finding::at(path.as_str(), format!("lacks {wanted:?}")));
            }
        }
    }
    found
}

/// The keys of the wanted sections of a manifest, each with its line.
fn entries(file: &File, wanted: impl Fn(&str) -> bool) -> Vec<(usize, &str)> {
    let mut inside = false;
    let mut found = Vec::new();
    for (at, line) in file.text.lines().enumerate() {
        if let Some(section) = line.strip_prefix('[') {
            inside = wanted(section.trim_end_matches(']'));
        } else if let (true, Some((key, _))) = (inside, line.split_once('=')) {
            found.push((at + 1, key.split('.').next().unwrap_or_default().trim()));
        }
    }
    found
}
