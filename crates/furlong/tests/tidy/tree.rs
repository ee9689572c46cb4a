//! The repository as input of the rules: paths, texts, and the findings about them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{fmt, fs};

use super::lexer::{Line, lines};

/// A file of the repository.
#[derive(Debug)]
pub(crate) struct File {
    /// From the root, with `/`.
    pub(crate) path: String,
    /// Empty if the file is not text.
    pub(crate) text: String,
    split: OnceLock<Vec<Line>>,
}

impl File {
    fn new(path: &str, text: &str) -> Self {
        File {
            path: path.into(),
            text: text.into(),
            split: OnceLock::new(),
        }
    }

    /// The lines of a Rust file, split into code and comments.
    pub(crate) fn lines(&self) -> &[Line] {
        self.split.get_or_init(|| lines(&self.text))
    }

    /// The whole code, with comments and the contents of strings blanked.
    pub(crate) fn code(&self) -> String {
        self.lines()
            .iter()
            .flat_map(|line| [line.code.as_str(), "\n"])
            .collect()
    }

    /// A finding in this file.
    pub(crate) fn finding(&self, line: usize, what: impl Into<String>) -> Finding {
        Finding {
            path: self.path.clone(),
            line,
            what: what.into(),
        }
    }
}

/// A violation of a rule.
#[derive(Debug, PartialEq)]
pub(crate) struct Finding {
    path: String,
    /// From 1; 0 for the file as a whole.
    line: usize,
    what: String,
}

impl Finding {
    /// A finding about a path that may not exist.
    pub(crate) fn at(path: impl Into<String>, what: impl Into<String>) -> Self {
        Finding {
            path: path.into(),
            line: 0,
            what: what.into(),
        }
    }

    /// `path:line`, as the samples have it.
    pub(crate) fn place(&self) -> String {
        format!("{}:{}", self.path, self.line)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// All files of a repository.
#[derive(Debug)]
pub(crate) struct Tree {
    files: Vec<File>,
}

impl Tree {
    /// The repository that this test belongs to, read once.
    pub(crate) fn here() -> &'static Tree {
        static HERE: OnceLock<Tree> = OnceLock::new();
        HERE.get_or_init(|| {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            let mut paths = tracked(&root).unwrap_or_else(|| walk(&root));
            paths.sort();
            let read = |path: &String| {
                let bytes = fs::read(root.join(path)).ok()?;
                Some(File::new(
                    path,
                    std::str::from_utf8(&bytes).unwrap_or_default(),
                ))
            };
            Tree {
                files: paths.iter().filter_map(read).collect(),
            }
        })
    }

    /// The files of a sample.
    pub(crate) fn of(files: &[(&str, &str)]) -> Tree {
        Tree {
            files: files
                .iter()
                .map(|(path, text)| File::new(path, text))
                .collect(),
        }
    }

    /// Every file.
    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    /// The files whose path ends with `end`.
    pub(crate) fn ending<'a>(&'a self, end: &'a str) -> impl Iterator<Item = &'a File> {
        self.files().filter(move |file| file.path.ends_with(end))
    }

    /// The files whose path begins with `start`.
    pub(crate) fn under<'a>(&'a self, start: &'a str) -> impl Iterator<Item = &'a File> {
        self.files()
            .filter(move |file| file.path.starts_with(start))
    }

    /// The file at this path.
    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files().find(|file| file.path == path)
    }

    /// True if this file or folder exists.
    pub(crate) fn exists(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let inside = |file: &File| {
            file.path
                .strip_prefix(path)
                .is_some_and(|r| r.starts_with('/'))
        };
        path.is_empty() || self.files().any(|file| file.path == path || inside(file))
    }

    /// The names directly below a folder (which ends in `/`), each once, in order.
    pub(crate) fn names_in(&self, folder: &str) -> Vec<&str> {
        let below = self
            .files()
            .filter_map(|file| file.path.strip_prefix(folder));
        let mut names: Vec<&str> = below.filter_map(|rest| rest.split('/').next()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// The files that git tracks or would add; `None` without git or outside of a clone.
fn tracked(root: &Path) -> Option<Vec<String>> {
    let arguments = [
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ];
    let out = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(arguments)
        .output()
        .ok()?;
    let list = String::from_utf8(out.stdout).ok()?;
    let paths: Vec<String> = list
        .split('\0')
        .filter(|path| !path.is_empty())
        .map(String::from)
        .collect();
    (out.status.success() && !paths.is_empty()).then_some(paths)
}

/// Every file except build outputs, for a source archive.
fn walk(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(root.join(&folder)) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = folder.join(entry.file_name());
            let built = ["target", ".git", "node_modules"]
                .iter()
                .any(|name| path.ends_with(name));
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !built => folders.push(path),
                Ok(kind) if kind.is_file() && !built => found.push(path.display().to_string()),
                _ => {}
            }
        }
    }
    found
}

#[test]
fn a_walk_finds_what_git_finds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let walked = walk(&root);
    for path in ["README.md", ".ci/run", "crates/furlong/tests/tidy/tree.rs"] {
        assert!(Tree::here().exists(path), "{path} is not in the tree");
        assert!(
            walked.iter().any(|found| found == path),
            "the walk missed {path}"
        );
    }
    assert!(!walked.iter().any(|path| path.starts_with("target/")));
}

#[test]
fn folders_exist_through_their_files() {
    let tree = Tree::of(&[("a/b/c.rs", ""), ("a/d.rs", "")]);
    assert!(tree.exists("a/b") && tree.exists("a/b/") && tree.exists("a/d.rs"));
    assert!(!tree.exists("a/c") && !tree.exists("b"));
    assert_eq!(tree.names_in("a/"), ["b", "d.rs"]);
}
