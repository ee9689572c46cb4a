//! Inputs of the real programs; they are the same on every machine.

use std::fmt::Write;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::process::finished;
use furlong_lab::model::Failure;

/// Work for Python.
pub(super) const PYTHON: &str = include_str!("scripts/work.py");

/// Work for Perl.
pub(super) const PERL: &str = include_str!("scripts/work.pl");

/// Settings that isolate git from the user's and the system's configuration.
pub(super) const GIT_ALONE: [(&str, &str); 3] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_PAGER", "cat"),
];

/// SQL for SQLite, over `rows` rows.
pub(super) fn sql(rows: u64) -> String {
    format!(
        "create table a(id integer primary key, name text, size integer);\n\
         with recursive n(i) as (select 1 union all select i + 1 from n where i < {rows})\n\
         insert into a select i, printf('name-%d-%d', i * 7919 % 10007, i), i * 31 % 997 from n;\n\
         create index a_name on a(name);\n\
         create table b as select size, count(*) many, min(name) least from a group by size;\n\
         select count(*), sum(a.id), max(b.least) from a join b using (size) where many > 1;\n\
         update a set name = name || '-more' where size % 3 = 0;\n\
         delete from a where size % 5 = 0;\n\
         select count(*), sum(length(name)) from a;\n\
         select name from a order by name desc limit 3;\n"
    )
}

/// A C program of `functions` functions.
pub(super) fn c(functions: u64) -> String {
    let mut text = String::from("struct pair { int left, right; };\n");
    for number in 0..functions {
        let (step, limit) = (number % 13 + 1, number * 7 % 91 + 3);
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "static int table_{number}[{limit}];\n\
             int work_{number}(struct pair *pair, const char *name, int count)\n{{\n\
             \tint sum = {step};\n\
             \tfor (int at = 0; at < count; at += {step}) {{\n\
             \t\tswitch ((at ^ sum) & 3) {{\n\
             \t\tcase 0: sum += pair->left * at; break;\n\
             \t\tcase 1: sum -= table_{number}[at % {limit}]; break;\n\
             \t\tcase 2: sum ^= name ? name[at % 5] : pair->right; break;\n\
             \t\tdefault: pair->right = sum; table_{number}[sum % {limit}] = at;\n\
             \t\t}}\n\t}}\n\treturn sum;\n}}\n"
        );
    }
    text
}

/// Makes a repository of `commits` commits.
pub(super) fn repository(git: &Path, home: &Path, commits: u64) -> Result<(), Failure> {
    let place = home.join("repository");
    let stream = home.join("stream");
    fs::write(&stream, history(commits)).map_err(Failure::of)?;
    let git = |arguments: &[&str], input: Stdio| {
        let mut command = Command::new(git);
        command
            .args(arguments)
            .envs(GIT_ALONE)
            .env_remove("LD_PRELOAD")
            .stdin(input);
        finished(&mut command)
    };
    let path = place.display().to_string();
    git(
        &["init", "--quiet", "--initial-branch=main", &path],
        Stdio::null(),
    )?;
    let stream = File::open(&stream).map_err(Failure::of)?;
    git(&["-C", &path, "fast-import", "--quiet"], stream.into()).map(drop)
}

/// A history in the format of `git fast-import`: each commit changes some lines of two of ten
/// files.
fn history(commits: u64) -> String {
    let mut text = String::new();
    for commit in 0..commits {
        let message = format!("Change {commit}");
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "commit refs/heads/main\ncommitter A <a@example.org> {} +0000\ndata {}\n{message}\n",
            1_700_000_000 + commit,
            message.len(),
        );
        for file in [commit % 10, commit * 3 % 10] {
            let content = content(file, commit);
            let length = content.len();
            let _ = write!(text, "M 644 inline file-{file}\ndata {length}\n{content}\n");
        }
    }
    text
}

/// A file of 300 lines; each commit changes every seventeenth of them.
fn content(file: u64, commit: u64) -> String {
    let line = |line: u64| {
        let changed = commit - (commit + line * 5) % 17 % (commit + 1);
        format!("line {line} of file {file}, changed by {changed}\n")
    };
    (0..300).map(line).collect()
}
