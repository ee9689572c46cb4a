//! The modules that are mutated, and the narrow test suites that should notice.

use std::fs;
use std::io;
use std::path::Path;

/// A part of the repository.
#[derive(Debug)]
pub struct Module {
    pub name: &'static str,
    pub package: &'static str,
    /// The first words of test file names; the first entry also selects the library's own tests.
    words: &'static [&'static str],
}

const fn system(name: &'static str, words: &'static [&'static str]) -> Module {
    Module {
        name,
        package: "furlong",
        words,
    }
}

/// A package that is one module.
const STATISTICS: &str = "furlong-stats";

/// The folder of loom's models, a workspace of its own.
const MODELS: &str = "loom";

/// A program of several systems' tests, with a module named as each.
pub const RACES: &str = "races";

/// All modules, each named as its folder or its package.
pub const MODULES: &[Module] = &[
    system("rbtree", &["rbtree", "tree"]),
    system("iova", &["iova", RACES]),
    system("phys", &["phys", RACES]),
    system("maple", &["maple", RACES]),
    system("vmspace", &["vmspace", RACES]),
    system("rcu", &["rcu", "loom"]),
    system("bounce", &["bounce", RACES]),
    system("malloc", &["malloc"]),
    Module {
        name: "stats",
        package: STATISTICS,
        words: &["stats"],
    },
];

/// The targets that cargo builds, and the tests that run.
#[derive(Debug)]
pub struct Suite {
    /// The package with the mutants.
    pub package: &'static str,
    /// Loom models instead of tests.
    pub loom: bool,
    /// Prefixes of the names of the package's own tests.
    pub filters: Vec<String>,
    /// Folder of the package, and name, of each test file.
    targets: Vec<(&'static str, String)>,
}

impl Module {
    /// True if a file belongs to this module and is not a test.
    pub fn has(&self, file: &str) -> bool {
        let sources = format!("crates/{}/src/", self.package);
        let folder = match self.package {
            STATISTICS => sources,
            _ => format!("{sources}{}/", self.name),
        };
        file.strip_prefix(&folder).is_some_and(|rest| {
            let tests = rest.ends_with("tests.rs") || rest.contains("tests/");
            rest.ends_with(".rs") && !tests
        })
    }

    /// Its suite.
    pub fn suite(&self, root: &Path, loom: bool) -> io::Result<Suite> {
        let mut targets = vec![];
        let folders: &[&'static str] = match (self.package, loom) {
            (STATISTICS, _) => &["crates/furlong-stats"],
            (_, false) => &["crates/furlong", "crates/furlong-spec"],
            (_, true) => &[MODELS],
        };
        for folder in folders {
            for name in names(&root.join(folder).join("tests"))? {
                if name.starts_with("loom") == loom && is_about(&name, self.words) {
                    targets.push((*folder, name));
                }
            }
        }
        targets.sort();
        let filter = (self.package != STATISTICS).then(|| format!("{}::", self.name));
        Ok(Suite {
            package: self.package,
            loom,
            filters: filter.into_iter().collect(),
            targets,
        })
    }
}

/// Names of the test files in a folder.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut found = vec![];
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_one =
            path.extension().is_some_and(|end| end == "rs") || path.join("main.rs").is_file();
        found.extend(
            path.file_stem()
                .filter(|_| is_one)
                .map(|name| name.to_string_lossy().into()),
        );
    }
    Ok(found)
}

/// True if a test file's name starts with one of the words, as in `phys`, `phys_interrupt`,
/// `hostile_phys`, `loom_phys`.
fn is_about(name: &str, words: &[&str]) -> bool {
    let bare = ["loom_", "hostile_"]
        .iter()
        .find_map(|start| name.strip_prefix(start));
    let first = bare.unwrap_or(name).split('_').next();
    first.is_some_and(|first| words.contains(&first))
}

impl Suite {
    /// True if there are programs beside the library's own tests.
    pub fn has_programs(&self) -> bool {
        !self.targets.is_empty()
    }

    /// Cargo's arguments for the library's own tests, which compile soonest, or for all programs.
    /// With loom the library has no tests of its own, so the first program stands for them.
    pub fn arguments(&self, only_library: bool) -> Vec<String> {
        let mut said: Vec<String> = if self.loom {
            let manifest = format!("{MODELS}/Cargo.toml");
            vec!["--release".into(), "--manifest-path".into(), manifest]
        } else {
            vec!["-p".into(), self.package.into()]
        };
        if self.package == "furlong" && !self.loom {
            let all = "furlong/std,furlong/lock_api,furlong/allocator-api2,furlong/serde";
            said.extend(["--features".into(), all.into()]);
        }
        if only_library && !self.loom {
            said.push("--lib".into());
            return said;
        }
        let count = if only_library { 1 } else { self.targets.len() };
        for (folder, name) in self.targets.iter().take(count) {
            if let Some(package) = folder.strip_prefix("crates/") {
                said.extend(["-p".into(), package.into()]);
            }
            said.extend(["--test".into(), name.clone()]);
        }
        said
    }

    /// The folder of a program's package, by the name of its crate; `None` for a program that was
    /// not requested.
    pub fn folder_of(&self, program: &str, own: bool) -> Option<String> {
        if own {
            let is_its = self.package.replace('-', "_") == program;
            return is_its.then(|| format!("crates/{}", self.package));
        }
        let found = self.targets.iter().find(|(_, name)| name == program);
        found.map(|(folder, _)| (*folder).to_string())
    }
}
