//! `furlong ab`: two revisions of a git repository, each built in a checkout of its own, and
//! compared as two commands, or by the benchmarks of `cargo bench`.

mod suite;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use serde_json::json;

use super::compare::{How, Sides, compare};
use crate::error::{Error, cause};
use crate::hash::fnv1a;
use crate::record::comparison::name_of;
use crate::record::place::{cache_dir, private_dir};
use crate::talk::{Voice, quoted};
use suite::Side;

/// Checkouts that a repository keeps in the cache.
const KEPT: usize = 8;

/// Lines of a failed build that are shown.
const LOG_LINES: usize = 20;

/// Fact about a workload: the commit of each side.
const REVISIONS: &str = "revisions";

/// Two revisions, the way to build them, and the command to run.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Baseline: a branch, a tag or a commit
    pub base: String,
    /// Revision to judge
    #[arg(default_value = "HEAD")]
    pub head: String,
    /// Build each revision by this (sh, in its checkout) [default: cargo build --release, or cargo
    /// bench --no-run if there is no COMMAND]
    #[arg(long, value_name = "COMMAND")]
    pub build: Option<String>,
    /// Only benchmarks whose name contains this
    #[arg(long, value_name = "TEXT", conflicts_with = "command")]
    pub bench: Vec<String>,
    /// Command to run in each checkout [default: the benchmarks of cargo bench]
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Options of `compare`.
    #[command(flatten)]
    pub how: How,
}

const EXAMPLES: &str = "\
Examples:
  furlong ab main
  furlong ab v1.2 v1.3 --bench sort --build 'cargo bench --no-run -p parser'
  furlong ab main -- ./target/release/tool big.txt
  furlong ab v1.2 v1.3 --build 'make -j2' -- ./tool big.txt
  furlong ab main HEAD --counters auto --fail-on revert -- ./target/release/tool big.txt

Each revision is built once, in a checkout in the cache. Changes that are not committed are not in
it. Both run in their checkouts, in blocks of random order, as two commands of `furlong compare`.

Without a command, every benchmark of furlong-bench that both revisions have is compared, for at
most 10 s each (--max-time). All of them together raise a false alarm in at most 5 % of runs.";

/// Builds both revisions and compares them.
///
/// # Errors
///
/// An unknown revision, a build that fails, and those of `compare`.
pub fn run(args: &Args) -> Result<ExitCode, Error> {
    if args.how.resume.is_some() {
        let why = "a comparison of revisions is resumed by furlong compare --resume ID";
        return Err(Error::usage(why));
    }
    let repository = Repository::here()?;
    let base = repository.revision(&args.base)?;
    let head = repository.revision(&args.head)?;
    let voice = args.how.voice();
    if base.tree == head.tree {
        voice.note("both revisions have the same files: this shows the noise");
    } else if args.head == "HEAD" && repository.is_changed() {
        voice.note("changes that are not committed are not measured");
    }
    let build = args.build(&repository)?;
    let build = build.as_deref();
    // Both are in use until the end of the comparison.
    let base_built = repository.built(&base, build, voice)?;
    let head_built = repository.built(&head, build, voice)?;
    repository.forget();
    let commits = BTreeMap::from([("base", &base.commit), ("head", &head.commit)]);
    let facts = BTreeMap::from([(REVISIONS.to_owned(), json!(commits))]);
    if args.command.is_empty() {
        let names = [base.name.clone(), head.name.clone()];
        let built = [&base_built, &head_built];
        let logs = built.map(|one| one.folder.with_extension("log"));
        let side = |at: usize| Side {
            name: &names[at],
            folder: &built[at].folder,
            log: &logs[at],
        };
        let sides = Sides {
            comparison: Some("ab cargo bench".to_owned()),
            suite: Some(suite::common(&[side(0), side(1)], &args.bench)?),
            names: names.to_vec(),
            facts,
            ..Sides::default()
        };
        return compare(&sides, &args.how);
    }
    let folders = vec![base_built.folder.clone(), head_built.folder.clone()];
    let command = match &args.command[..] {
        // A command line in quotes may need a shell.
        [line] => line.clone(),
        words => {
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            words.join(" ")
        }
    };
    let names = match base.name == head.name {
        true => vec![],
        false => vec![base.name.clone(), head.name.clone()],
    };
    let commands = vec![command.clone(), command];
    let sides = Sides {
        comparison: Some(format!("ab {}", name_of(&commands[..1]))),
        commands,
        folders,
        names,
        facts,
        ..Sides::default()
    };
    compare(&sides, &args.how)
}

impl Args {
    /// Returns the command that builds a revision, if it is not the usual one of a command.
    fn build(&self, repository: &Repository) -> Result<Option<String>, Error> {
        if !self.command.is_empty() {
            return Ok(self.build.clone());
        }
        if self.build.is_none() && !repository.top.join("Cargo.toml").is_file() {
            let why = "there is no Cargo.toml: give a command after --, or say with --build how \
                       cargo bench is built";
            return Err(Error::usage(why));
        }
        let build = self.build.as_deref().unwrap_or(suite::BUILD);
        Ok(Some(format!("{build} {}", suite::MESSAGES)))
    }
}

/// A revision of a repository.
#[derive(Debug)]
struct Revision {
    /// As the user wrote it.
    name: String,
    commit: String,
    tree: String,
}

/// A checkout that is built. It is not removed before this is dropped.
#[derive(Debug)]
struct Built {
    folder: PathBuf,
    _in_use: File,
}

/// The repository around the current directory.
#[derive(Debug)]
struct Repository {
    top: PathBuf,
    /// The folder of its checkouts.
    cache: PathBuf,
}

/// Returns what git prints, without the end of the line.
fn git(folder: &Path, arguments: &[&str]) -> Result<String, Error> {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error::failed(format!("git cannot be started: {}", cause(&error))))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim().trim_start_matches("fatal: ");
        return Err(Error::failed(format!("git {}: {said}", arguments[0])));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.trim_end_matches('\n').to_owned())
}

impl Repository {
    fn here() -> Result<Self, Error> {
        let top = git(Path::new("."), &["rev-parse", "--show-toplevel"]);
        let top = top.map_err(|error| {
            let why = "ab compares revisions of a git repository: call it inside one";
            Error::usage(format!("{why} ({error})"))
        })?;
        let cache = cache_dir()
            .ok_or_else(|| Error::usage("there is no cache directory: set XDG_CACHE_HOME"))?;
        let id = format!("{:016x}", fnv1a(top.as_bytes()));
        Ok(Self {
            cache: cache.join("ab").join(id),
            top: top.into(),
        })
    }

    fn revision(&self, name: &str) -> Result<Revision, Error> {
        let id = |kind: &str| {
            let asked = format!("{name}^{{{kind}}}");
            git(
                &self.top,
                &[
                    "rev-parse",
                    "--verify",
                    "--quiet",
                    "--end-of-options",
                    &asked,
                ],
            )
        };
        let unknown = |_| {
            Error::usage(format!(
                "there is no revision `{name}` here: see git branch -a"
            ))
        };
        Ok(Revision {
            name: name.to_owned(),
            commit: id("commit").map_err(unknown)?,
            tree: id("tree").map_err(unknown)?,
        })
    }

    /// True if files differ from the last commit.
    fn is_changed(&self) -> bool {
        let status = git(
            &self.top,
            &["status", "--porcelain", "--untracked-files=no"],
        );
        status.is_ok_and(|files| !files.is_empty())
    }

    /// Returns the checkout of a revision, built. One that was built before is used again.
    fn built(
        &self,
        revision: &Revision,
        build: Option<&str>,
        voice: Voice,
    ) -> Result<Built, Error> {
        let failed = |what: &str, error: &std::io::Error| {
            let cache = self.cache.display();
            Error::failed(format!("{what} in {cache} failed: {}", cause(error)))
        };
        private_dir(&self.cache).map_err(|error| failed("a directory", &error))?;
        // Names of one length: the path of a program is on its stack.
        let by = format!("{:08x}", fnv1a(build.unwrap_or_default().as_bytes()) >> 32);
        let name = format!("{}-{by}", &revision.tree[..16]);
        let [folder, mark, log, lock] =
            ["", ".built", ".log", ".lock"].map(|end| self.cache.join(format!("{name}{end}")));
        let lock = File::create(lock).map_err(|error| failed("a lock", &error))?;
        let failed_lock = |error| failed("a lock", &error);
        loop {
            // Calls that use a checkout share it; whoever builds it is alone.
            lock.lock_shared().map_err(failed_lock)?;
            if mark.is_file() && folder.is_dir() {
                // The time of the last use.
                File::create(&mark).map_err(|error| failed("a mark", &error))?;
                let _in_use = lock;
                return Ok(Built { folder, _in_use });
            }
            lock.unlock().map_err(failed_lock)?;
            lock.lock().map_err(failed_lock)?;
            if !(mark.is_file() && folder.is_dir()) {
                // A mark without a checkout would speak for the next one, even if its build fails.
                let _ = fs::remove_file(&mark);
                self.check_out(&folder, &revision.commit)?;
                let command = match build {
                    Some(command) => command,
                    None if folder.join("Cargo.toml").is_file() => "cargo build --release",
                    None => {
                        let why = "has no Cargo.toml: say with --build how it is built (or `true`)";
                        return Err(Error::usage(format!("{} {why}", revision.name)));
                    }
                };
                let commit = &revision.commit[..12];
                voice.note(&format!("building {} ({commit}): {command}", revision.name));
                make(&folder, command, &log, &revision.name)?;
                File::create(&mark).map_err(|error| failed("a mark", &error))?;
            }
            lock.unlock().map_err(failed_lock)?;
        }
    }

    /// Puts the files of a commit into a folder. What a call that was killed or a failed build left
    /// there is removed.
    fn check_out(&self, folder: &Path, commit: &str) -> Result<(), Error> {
        if let Err(error) = fs::remove_dir_all(folder)
            && folder.exists()
        {
            let (folder, why) = (folder.display(), cause(&error));
            return Err(Error::failed(format!("{folder} cannot be removed: {why}")));
        }
        // A checkout that is gone is still known to git.
        git(&self.top, &["worktree", "prune"])?;
        let place = folder.to_string_lossy();
        git(&self.top, &["worktree", "add", "--detach", &place, commit])?;
        if folder.join(".gitmodules").is_file() {
            git(folder, &["submodule", "update", "--init", "--recursive"])?;
        }
        Ok(())
    }

    /// Removes the checkouts that were not used for the longest time, unless they are in use.
    fn forget(&self) {
        let Ok(entries) = fs::read_dir(&self.cache) else {
            return;
        };
        let marks = entries.flatten().map(|entry| entry.path());
        let marks = marks.filter(|path| path.extension().is_some_and(|end| end == "built"));
        let mut marks: Vec<(std::time::SystemTime, PathBuf)> = marks
            .filter_map(|mark| Some((fs::metadata(&mark).ok()?.modified().ok()?, mark)))
            .collect();
        marks.sort();
        let spare = marks.len().saturating_sub(KEPT);
        for (_, mark) in &marks[..spare] {
            let Ok(lock) = File::open(mark.with_extension("lock")) else {
                continue;
            };
            // What is in use or cannot be removed stays for the next time. So does the lock:
            // another call may wait for it.
            let folder = mark.with_extension("");
            let place = folder.to_string_lossy();
            if lock.try_lock().is_ok()
                && git(&self.top, &["worktree", "remove", "--force", &place]).is_ok()
            {
                for end in ["built", "log"] {
                    let _ = fs::remove_file(mark.with_extension(end));
                }
            }
        }
    }
}

/// Builds a checkout. What the build prints is in a file, whose end an error shows.
fn make(folder: &Path, command: &str, log: &Path, name: &str) -> Result<(), Error> {
    let cannot = |error: std::io::Error| {
        Error::failed(format!(
            "{} cannot be written: {}",
            log.display(),
            cause(&error)
        ))
    };
    let out = File::create(log).map_err(cannot)?;
    let errors = out.try_clone().map_err(cannot)?;
    let status = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        // Both builds would write to one place.
        .env_remove("CARGO_TARGET_DIR")
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(errors)
        .status()
        .map_err(|error| Error::failed(format!("sh cannot be started: {}", cause(&error))))?;
    if status.success() {
        return Ok(());
    }
    let mut said = vec![];
    let read = OpenOptions::new().read(true).open(log);
    let _ = read.and_then(|mut log| log.read_to_end(&mut said));
    let said = String::from_utf8_lossy(&said);
    let lines = said.lines().filter(|line| !suite::is_message(line));
    let lines: Vec<&str> = lines.collect();
    let end = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
    Err(Error::failed(format!(
        "{name} cannot be built ({command}, {status}); all of it is in {}:\n{end}",
        log.display()
    )))
}
