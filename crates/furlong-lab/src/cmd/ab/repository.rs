//! A git repository and the checkouts of its revisions, each built once and kept in the cache.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::SystemTime;

use serde_json::{Value, json};

use super::layouts;
use super::recipe::{Recipe, make, outside};
use crate::error::{Error, cause};
use crate::hash::fnv1a;
use crate::model::command_fact::REVISIONS;
use crate::record::place::{cache_dir, private_dir};
use crate::talk::Voice;
use furlong_stats::layouts::LAYOUTS;

/// Variable of GitLab with the commit that a merge request begins with.
const GITLAB_BASE: &str = "CI_MERGE_REQUEST_DIFF_BASE_SHA";

/// Variable of GitHub with the branch that a pull request is for.
const GITHUB_BASE: &str = "GITHUB_BASE_REF";

/// Characters of a commit's name.
const SHORT: usize = 12;

/// Checkouts that a repository keeps in the cache.
const KEPT: usize = 8;

/// A revision of a repository.
#[derive(Debug)]
pub(in crate::cmd) struct Revision {
    /// As the user wrote it.
    pub(in crate::cmd) name: String,
    pub(in crate::cmd) commit: String,
    pub(in crate::cmd) tree: String,
}

impl Revision {
    /// The first characters of its commit.
    pub(in crate::cmd) fn short(&self) -> &str {
        &self.commit[..SHORT]
    }
}

/// A commit of a range.
#[derive(Debug)]
pub(in crate::cmd) struct Commit {
    pub(in crate::cmd) revision: Revision,
    /// Day on which its author wrote it.
    pub(in crate::cmd) date: String,
    pub(in crate::cmd) subject: String,
}

/// The commits between two revisions along first parents.
#[derive(Debug)]
pub(in crate::cmd) struct Range {
    /// The revision before them.
    pub(in crate::cmd) good: Revision,
    /// The oldest first; there is at least one.
    pub(in crate::cmd) commits: Vec<Commit>,
    /// Number of merges among them.
    pub(in crate::cmd) merges: usize,
}

/// A checkout that is built. It is not removed before this is dropped.
#[derive(Debug)]
pub(in crate::cmd) struct Built {
    pub(in crate::cmd) folder: PathBuf,
    _in_use: File,
}

/// The revision that another is compared with.
#[derive(Debug)]
pub(in crate::cmd) struct Base {
    pub(in crate::cmd) name: String,
    /// The reason why it was taken, unless the user named it.
    pub(in crate::cmd) why: Option<String>,
}

impl Base {
    /// The revision that the user named.
    pub(in crate::cmd) fn named(name: &str) -> Self {
        let why = None;
        Self {
            name: name.to_owned(),
            why,
        }
    }
}

/// Name of cargo's list of dependencies.
const LOCK_FILE: &str = "Cargo.lock";

/// Two revisions, the base first.
#[derive(Debug)]
pub(in crate::cmd) struct Pair {
    pub(in crate::cmd) revisions: [Revision; 2],
    /// Both are in use until this is dropped.
    pub(in crate::cmd) built: [Built; 2],
}

impl Pair {
    /// Names of the sides, as the user wrote them.
    pub(in crate::cmd) fn names(&self) -> Vec<String> {
        self.revisions.iter().map(|one| one.name.clone()).collect()
    }

    /// Facts for the record: the commit of each side, and the number of code layouts if it is not
    /// 0.
    pub(in crate::cmd) fn facts(&self, layouts: u32) -> BTreeMap<String, Value> {
        let [base, head] = self.revisions.each_ref().map(|one| &one.commit);
        let commits = json!({ "base": base, "head": head });
        let mut facts = BTreeMap::from([(REVISIONS.to_owned(), commits)]);
        if layouts > 0 {
            facts.insert(LAYOUTS.to_owned(), json!(layouts));
        }
        facts
    }
}

/// The repository around the current directory.
#[derive(Debug)]
pub(in crate::cmd) struct Repository {
    pub(in crate::cmd) top: PathBuf,
    /// The folder of its checkouts.
    cache: PathBuf,
}

/// Returns what git prints, without the end of the line.
fn git(folder: &Path, arguments: &[&str]) -> Result<String, Error> {
    let output = outside("git")
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
    pub(in crate::cmd) fn here() -> Result<Self, Error> {
        let top = git(Path::new("."), &["rev-parse", "--show-toplevel"]);
        let top = top.map_err(|error| {
            let why = "this compares revisions of a git repository: call it inside one";
            Error::usage(format!("{why} ({error})"))
        })?;
        let cache = cache_dir().filter(|path| path.to_str().is_some());
        let cache = cache.ok_or_else(|| {
            Error::usage("there is no cache directory with a name in UTF-8: set XDG_CACHE_HOME")
        })?;
        let id = format!("{:016x}", fnv1a(top.as_bytes()));
        Ok(Self {
            cache: cache.join("ab").join(id),
            top: top.into(),
        })
    }

    /// Returns the revision that a pull request begins with. `variable` reads the environment.
    ///
    /// # Errors
    ///
    /// Neither the CI nor the remote names a branch, or it is not here.
    pub(in crate::cmd) fn base(
        &self,
        head: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Base, Error> {
        let given = |name: &str| variable(name).filter(|value| !value.is_empty());
        if let Some(commit) = given(GITLAB_BASE) {
            let why = Some(format!("which {GITLAB_BASE} names"));
            return Ok(Base { name: commit, why });
        }
        let branch = match given(GITHUB_BASE) {
            Some(branch) => format!("origin/{branch}"),
            None => {
                let of_remote = ["rev-parse", "--abbrev-ref", "origin/HEAD"];
                git(&self.top, &of_remote).map_err(|_| {
                    let why = "the default branch of the remote `origin` is not known here: \
                               name the base, such as furlong ci main";
                    Error::usage(why)
                })?
            }
        };
        self.revision(&branch)?;
        let found = git(&self.top, &["merge-base", &branch, head]);
        let commit = found.map_err(|_| {
            let why = format!("{branch} and {head} have no common commit here");
            Error::usage(format!("{why}{}", self.remedy()))
        })?;
        let why = Some(format!("the last common commit with {branch}"));
        let name = commit.chars().take(SHORT).collect();
        Ok(Base { name, why })
    }

    /// Says how the commits that are not here are fetched, if some are not.
    fn remedy(&self) -> &'static str {
        let shallow = git(&self.top, &["rev-parse", "--is-shallow-repository"]);
        match shallow.as_deref() {
            Ok("true") => {
                ": this clone is shallow, git fetch --unshallow completes it (GitHub: fetch-depth: \
                 0; GitLab: GIT_DEPTH: 0)"
            }
            _ => "",
        }
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
            Error::usage(match self.remedy() {
                "" => format!("there is no revision `{name}` here: see git branch -a"),
                remedy => format!("there is no revision `{name}` here{remedy}"),
            })
        };
        Ok(Revision {
            name: name.to_owned(),
            commit: id("commit").map_err(unknown)?,
            tree: id("tree").map_err(unknown)?,
        })
    }

    /// Returns the commits after one revision up to another.
    ///
    /// # Errors
    ///
    /// An unknown revision, or one that does not lead to the other.
    pub(in crate::cmd) fn range(
        &self,
        good: &str,
        bad: &str,
        voice: Voice,
    ) -> Result<Range, Error> {
        let [first, last] = [self.revision(good)?, self.revision(bad)?];
        if first.commit == last.commit {
            let why = format!("{good} and {bad} are the same commit: nothing changed between them");
            return Err(Error::usage(why));
        }
        let leads = ["merge-base", "--is-ancestor", &first.commit, &last.commit];
        git(&self.top, &leads).map_err(|_| {
            let why = format!("{good} is not an ancestor of {bad}: give the older one first");
            Error::usage(format!("{why}{}", self.remedy()))
        })?;
        if bad == "HEAD" && self.is_changed() {
            voice.note("changes that are not committed are not measured");
        }
        let between = format!("{}..{}", first.commit, last.commit);
        let form = "--format=%H%x00%T%x00%P%x00%as%x00%s";
        let log = git(
            &self.top,
            &["log", "--first-parent", "--reverse", form, &between],
        )?;
        let all = log.lines().count();
        let mut merges = 0;
        let mut commits = vec![];
        for (line, number) in log.lines().zip(1..) {
            let parts: Vec<&str> = line.split('\0').collect();
            let [commit, tree, parents, date, subject] = parts[..] else {
                return Err(Error::failed(format!("git log: {line}")));
            };
            let above = parents.split(' ').next().unwrap_or_default();
            if number == 1 && above.is_empty() {
                let why = format!("{good} is of another history that was merged into {bad}");
                return Err(Error::usage(why));
            }
            if number == 1 && above != first.commit {
                return Err(Error::usage(format!(
                    "{good} was merged into {bad} from the side, so commits between them lack it: \
                     give {} as GOOD, the commit that {bad} goes back to by first parents",
                    &above[..above.len().min(SHORT)]
                )));
            }
            merges += usize::from(parents.contains(' '));
            let [name, commit, tree, date, subject] = [
                &format!("commit {number} of {all}"),
                commit,
                tree,
                date,
                subject,
            ]
            .map(str::to_owned);
            commits.push(Commit {
                revision: Revision { name, commit, tree },
                date,
                subject,
            });
        }
        Ok(Range {
            good: first,
            commits,
            merges,
        })
    }

    /// Builds two revisions.
    ///
    /// # Errors
    ///
    /// An unknown revision, or a build that fails.
    pub(in crate::cmd) fn pair(
        &self,
        names: [&str; 2],
        build: Recipe<'_>,
        voice: Voice,
    ) -> Result<Pair, Error> {
        let [base, head] = names.map(|name| self.revision(name));
        let revisions = [base?, head?];
        if revisions[0].tree == revisions[1].tree {
            voice.note("both revisions have the same files: this shows the noise");
        } else if names[1] == "HEAD" && self.is_changed() {
            voice.note("changes that are not committed are not measured");
        }
        let [base, head] = revisions.each_ref();
        let built = [
            self.built(base, build, voice)?,
            self.built(head, build, voice)?,
        ];
        Ok(Pair { revisions, built })
    }

    /// True if files differ from the last commit.
    fn is_changed(&self) -> bool {
        let status = git(
            &self.top,
            &["status", "--porcelain", "--untracked-files=no"],
        );
        status.is_ok_and(|files| !files.is_empty())
    }

    /// Returns the user's `Cargo.lock`, if a revision has none of its own: without one, each side
    /// would have the dependencies of the day of its build.
    fn lock_file(&self, revision: &Revision) -> Vec<u8> {
        let own = git(
            &self.top,
            &["ls-tree", "--name-only", &revision.commit, LOCK_FILE],
        );
        match own.is_ok_and(|own| own.is_empty()) {
            true => fs::read(self.top.join(LOCK_FILE)).unwrap_or_default(),
            false => vec![],
        }
    }

    /// Returns the checkout of a revision, built. One that was built before is used again.
    ///
    /// # Errors
    ///
    /// It cannot be built.
    pub(in crate::cmd) fn built(
        &self,
        revision: &Revision,
        build: Recipe<'_>,
        voice: Voice,
    ) -> Result<Built, Error> {
        let failed = |what: &str, error: &std::io::Error| {
            let cache = self.cache.display();
            Error::failed(format!("{what} in {cache} failed: {}", cause(error)))
        };
        private_dir(&self.cache).map_err(|error| failed("a directory", &error))?;
        // Names of one length: the path of a program is on its stack.
        let lock_file = self.lock_file(revision);
        let by = fnv1a(&[&build.id().to_ne_bytes()[..], &lock_file].concat());
        let by = format!("{:08x}", by >> 32);
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
                for old in [&mark, &log] {
                    let _ = fs::remove_file(old);
                }
                self.check_out(&folder, &revision.commit)?;
                if !lock_file.is_empty() {
                    fs::write(folder.join(LOCK_FILE), &lock_file)
                        .map_err(|error| failed("a lock file", &error))?;
                }
                let command = match build.command {
                    Some(command) => command,
                    None if folder.join("Cargo.toml").is_file() => "cargo build --release",
                    None => {
                        let why = "has no Cargo.toml: say with --build how it is built (or `true`)";
                        return Err(Error::usage(format!("{} {why}", revision.name)));
                    }
                };
                let commit = &revision.commit[..SHORT];
                voice.note(&format!("building {} ({commit}): {command}", revision.name));
                let (layouts, name) = (build.layouts, &revision.name);
                let linker = match build.relink {
                    None if layouts > 0 => Some(layouts::linker(&self.cache, layouts)?),
                    _ => None,
                };
                make(&folder, command, linker, &log, name)?;
                match build.relink {
                    Some(command) => layouts::by_command((&folder, &log), layouts, command, name)?,
                    None if layouts > 0 => layouts::of_cargo(&folder, layouts)?,
                    None => {}
                }
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
        // A checkout that is gone is still known to git, and locked if git was killed: twice by
        // force. To prune would unlink the user's own checkouts on a disk that is not mounted.
        let place = folder.to_string_lossy();
        let add = ["worktree", "add", "--force", "--force", "--detach"];
        git(&self.top, &[&add[..], &[&place, commit]].concat())?;
        if folder.join(".gitmodules").is_file() {
            git(folder, &["submodule", "update", "--init", "--recursive"])?;
        }
        Ok(())
    }
}

impl Drop for Repository {
    /// Removes checkouts that are not in use: each that is not built, and of the others those that
    /// were not used for the longest time. The checkouts of a call are dropped before this.
    fn drop(&mut self) {
        let Ok(entries) = fs::read_dir(&self.cache) else {
            return;
        };
        let locks = entries.flatten().map(|entry| entry.path());
        let locks = locks.filter(|path| path.extension().is_some_and(|end| end == "lock"));
        let locks = locks.filter(|lock| lock.with_extension("").is_dir());
        let used = |lock: &Path| fs::metadata(lock.with_extension("built"))?.modified();
        // One that is not built has no time, and comes first.
        let mut locks: Vec<(Option<SystemTime>, PathBuf)> =
            locks.map(|lock| (used(&lock).ok(), lock)).collect();
        locks.sort();
        let built = locks.iter().filter(|(used, _)| used.is_some()).count();
        let spare = locks.len() - built.min(KEPT);
        for (used, path) in &locks[..spare] {
            let Ok(lock) = File::open(path) else {
                continue;
            };
            // What is in use or cannot be removed stays for the next time. So does the lock:
            // another call may wait for it.
            let folder = path.with_extension("");
            let place = folder.to_string_lossy();
            let remove = ["worktree", "remove", "--force", "--force", &place];
            // Git does not remove what it does not know, or no longer.
            if lock.try_lock().is_ok()
                && (git(&self.top, &remove).is_ok() || fs::remove_dir_all(&folder).is_ok())
            {
                // An error has named the log of a build that failed.
                let ends = ["built", "log"];
                for end in &ends[..ends.len() - usize::from(used.is_none())] {
                    let _ = fs::remove_file(path.with_extension(end));
                }
            }
        }
    }
}
