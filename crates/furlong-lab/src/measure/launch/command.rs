//! A user's commands, prepared for the launcher, and the metrics of a sample of one.
//!
//! A command runs without a shell if it needs none, because the start of a shell would be measured
//! too. If one of several commands needs a shell, all of them get it, so that they differ in
//! nothing but what is compared.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use serde::{Deserialize, Serialize};

use super::finished::Usage;
use crate::error::Error;
use crate::model::MetricPlan;
use crate::model::result::Kind;
use crate::shell_words::{Line, split};

/// The use of a shell for commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shell {
    /// `sh`, if one of the commands needs it.
    AsNeeded,
    /// Always this one.
    Always(String),
    /// Never.
    Never,
}

/// A runnable command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program's file.
    pub program: PathBuf,
    /// Its arguments, its own name first.
    pub arguments: Vec<OsString>,
    /// Folder in which it runs, if not furlong's own.
    pub folder: Option<PathBuf>,
}

impl Command {
    /// Returns the bytes that the program's name and arguments take on the stack of its process.
    pub fn stack_bytes(&self) -> usize {
        let strings = self.arguments.iter().map(|argument| argument.len() + 1);
        let pointers = self.arguments.len() * size_of::<usize>();
        self.program.as_os_str().len() + 1 + strings.sum::<usize>() + pointers
    }
}

/// Commands that will run in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commands {
    /// Commands in the order in which they were given.
    pub list: Vec<Command>,
    /// Reason for a shell that the user did not choose.
    pub note: Option<String>,
}

fn refuse<T>(message: String) -> Result<T, Error> {
    Err(Error::usage(message))
}

impl Commands {
    /// Prepares commands, each with the folder in which it runs if that is not furlong's own.
    ///
    /// # Errors
    ///
    /// The first command that cannot be run, with the reason.
    pub fn new(texts: &[(&str, Option<&Path>)], shell: &Shell) -> Result<Self, Error> {
        let lines: Vec<Line> = texts.iter().map(|(text, _)| split(text)).collect();
        if let Some(empty) = texts.iter().position(|(text, _)| text.trim().is_empty()) {
            return refuse(format!("command {} is empty: give it a program", empty + 1));
        }
        if let Shell::Always(shell) = shell {
            return Self::through(shell, texts, None);
        }
        let mut list = vec![];
        for ((text, folder), line) in texts.iter().zip(lines) {
            match line {
                Line::Words(words) => list.push(direct(&words, *folder)),
                Line::NeedsShell(what) if *shell == Shell::Never => {
                    return refuse(format!(
                        "command `{text}` needs a shell ({}): leave out --shell=none, or quote it",
                        what.escape_debug()
                    ));
                }
                Line::NeedsShell(what) => {
                    let note = format!(
                        "all commands run through sh, because `{text}` needs a shell ({}); the \
                         shell's start-up is part of every sample",
                        what.escape_debug()
                    );
                    return Self::through("sh", texts, Some(note));
                }
                Line::Unclosed(quote) => {
                    return refuse(format!(
                        "command `{text}` has an unmatched {quote}: close it"
                    ));
                }
                Line::Empty => {
                    let number = list.len() + 1;
                    return refuse(format!("command {number} is empty: give it a program"));
                }
            }
        }
        let list = list.into_iter().collect::<Result<_, _>>()?;
        Ok(Self { list, note: None })
    }

    /// Prepares all commands for one shell.
    fn through(
        shell: &str,
        texts: &[(&str, Option<&Path>)],
        note: Option<String>,
    ) -> Result<Self, Error> {
        let list = texts
            .iter()
            .map(|(text, folder)| in_shell(shell, text, *folder))
            .collect::<Result<_, _>>()?;
        Ok(Self { list, note })
    }
}

/// Prepares a command that a shell runs. The shell may have arguments, as `bash --norc`.
///
/// # Errors
///
/// There is no such shell.
pub fn in_shell(shell: &str, text: &str, folder: Option<&Path>) -> Result<Command, Error> {
    let Line::Words(mut words) = split(shell) else {
        return refuse(format!("`{shell}` is not a shell: give its name"));
    };
    words.extend(["-c", text].map(str::to_owned));
    Ok(Command {
        folder: folder.map(Path::to_owned),
        ..direct(&words, None)?
    })
}

/// Prepares a command that needs no shell.
fn direct(words: &[String], folder: Option<&Path>) -> Result<Command, Error> {
    let name = words.first().map_or("", String::as_str);
    let arguments = words.iter().map(OsString::from).collect();
    // A path is relative to the folder; a mere name is searched as everywhere.
    let within = folder
        .filter(|_| name.contains('/'))
        .map(|folder| folder.join(name));
    let program = match within {
        Some(program) => find(&program.to_string_lossy())?,
        None => find(name)?,
    };
    Ok(Command {
        program,
        arguments,
        folder: folder.map(Path::to_owned),
    })
}

/// Searches the file of a program as a shell does.
///
/// # Errors
///
/// There is no such file, or it cannot be run.
pub fn find(name: &str) -> Result<PathBuf, Error> {
    let unfit = |path: &Path, why: &str| refuse(format!("{} {why}", path.display()));
    if name.contains('/') {
        let path = Path::new(name);
        return match why_no_program(path) {
            None => Ok(path.to_owned()),
            Some(_) if !path.exists() => {
                refuse(format!("there is no program {name}: check the path"))
            }
            Some(why) => unfit(path, why),
        };
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let places: Vec<PathBuf> = env::split_paths(&path)
        // An empty entry means the current directory.
        .map(|place| if place == Path::new("") { PathBuf::from(".") } else { place })
        .map(|place| place.join(name))
        .collect();
    if let Some(found) = places.iter().find(|place| why_no_program(place).is_none()) {
        return Ok(found.clone());
    }
    let almost = places
        .iter()
        .filter(|_| !name.is_empty())
        .find(|place| place.is_file());
    match almost.and_then(|place| Some((place, why_no_program(place)?))) {
        Some((place, why)) => unfit(place, why),
        None => refuse(format!(
            "there is no program `{name}` in PATH: install it or give its path (for a shell's \
             builtin or alias use --shell)"
        )),
    }
}

/// Returns the reason why a file is not a program; `None` if it is one.
fn why_no_program(path: &Path) -> Option<&'static str> {
    if path.is_dir() {
        Some("is a directory: give a program in it")
    } else if access(path, Access::EXEC_OK).is_err() {
        Some("is not executable: use chmod +x, or name its interpreter")
    } else {
        None
    }
}

/// Variable of which only the length matters. The size of the environment decides where the stack
/// begins, which changes how fast a program runs.
pub const PADDING: &str = "FURLONG_PAD";

/// Returns this process's environment with padding.
pub fn padded_environment(padding: usize) -> Vec<(OsString, OsString)> {
    let own = env::vars_os().filter(|(name, _)| name != PADDING);
    own.chain([(OsString::from(PADDING), OsString::from("x".repeat(padding)))])
        .collect()
}

/// Returns the environment of a pass that must give the same counts on every day. It has the
/// variables with which a program and its libraries are found, and none that changes by itself.
pub fn clean_environment() -> Vec<(OsString, OsString)> {
    const KEPT: [&str; 6] = [
        "HOME",
        "LANG",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "PATH",
        "TMPDIR",
    ];
    let kept = |name: &OsStr| KEPT.iter().any(|kept| name == *kept);
    let mut environment: Vec<_> = env::vars_os().filter(|(name, _)| kept(name)).collect();
    environment.sort();
    environment
}

/// Metric of a command's time.
pub const WALL: &str = "wall_s";

/// A metric of commands: name, unit, margin in per cent, meaning, and value.
type Metric = (
    &'static str,
    &'static str,
    f64,
    &'static str,
    fn(&Usage) -> f64,
);

/// The metrics of a command, the primary one first.
const METRICS: [Metric; 9] = [
    (
        WALL,
        "s",
        1.0,
        "time from the start of the command's process to its end",
        |usage| usage.wall_s,
    ),
    (
        "user_s",
        "s",
        1.0,
        "processor time outside the kernel, of all its processes",
        |usage| usage.user_s,
    ),
    (
        "sys_s",
        "s",
        1.0,
        "processor time inside the kernel, of all its processes",
        |usage| usage.sys_s,
    ),
    (
        "maxrss_kib",
        "KiB",
        2.0,
        "most memory that one of its processes had resident",
        |usage| usage.maxrss_kib as f64,
    ),
    (
        "minor_faults",
        "1",
        0.1,
        "page faults without a read from a device",
        |usage| usage.minor_faults as f64,
    ),
    (
        "major_faults",
        "1",
        0.1,
        "page faults with a read from a device",
        |usage| usage.major_faults as f64,
    ),
    (
        "context_switches",
        "1",
        0.1,
        "context switches, voluntary and involuntary",
        |usage| (usage.voluntary_switches + usage.involuntary_switches) as f64,
    ),
    (
        "fs_inputs",
        "1",
        5.0,
        "reads from devices, units of 512 bytes",
        |usage| usage.blocks_in as f64,
    ),
    (
        "fs_outputs",
        "1",
        5.0,
        "writes to devices, units of 512 bytes",
        |usage| usage.blocks_out as f64,
    ),
];

/// Metric of commands that may fail.
pub const EXIT_CODE: &str = "exit_code";

/// Returns the metric of commands that may fail.
pub fn exit_code() -> MetricPlan {
    let about = "exit code, or 128 and the number of the signal";
    MetricPlan::new(EXIT_CODE, "1", Kind::Sampled, 0.1, about)
}

/// Returns the metrics of a command, the primary one first.
pub fn metrics() -> Vec<MetricPlan> {
    let metric = |(name, unit, margin_pct, about, _): Metric| {
        MetricPlan::new(name, unit, Kind::Sampled, margin_pct, about)
    };
    METRICS.map(metric).into()
}

/// Returns the values of a command's metrics, by name.
pub fn metrics_of(usage: &Usage) -> BTreeMap<String, f64> {
    METRICS
        .map(|(name, .., value)| (name.to_owned(), value(usage)))
        .into()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Command, Commands, Shell, find, in_shell};
    use crate::error::Error;

    fn commands(texts: &[&str], shell: &Shell) -> Result<Commands, Error> {
        let texts: Vec<_> = texts.iter().map(|text| (*text, None)).collect();
        Commands::new(&texts, shell)
    }

    fn message(texts: &[&str], shell: &Shell) -> String {
        commands(texts, shell)
            .expect_err("it cannot be run")
            .to_string()
    }

    #[test]
    fn plain_commands_run_without_a_shell() {
        let ready = commands(&["sh -c 'exit 0'", "true"], &Shell::AsNeeded).unwrap();
        assert_eq!(ready.note, None);
        assert_eq!(ready.list[0].arguments, ["sh", "-c", "exit 0"]);
        assert!(ready.list[1].program.ends_with("true"), "{:?}", ready.list);
    }

    #[test]
    fn one_command_that_needs_a_shell_gives_it_to_all() {
        let ready = commands(&["true", "true | cat"], &Shell::AsNeeded).unwrap();
        assert_eq!(ready.list[0].arguments, ["sh", "-c", "true"]);
        assert!(
            ready
                .note
                .unwrap()
                .contains("`true | cat` needs a shell (|)")
        );
    }

    #[test]
    fn a_shell_can_be_chosen_and_forbidden() {
        let sh = Shell::Always("/bin/sh".to_owned());
        let ready = commands(&["true", "exit 3"], &sh).unwrap();
        assert_eq!(ready.list[1], in_shell("/bin/sh", "exit 3", None).unwrap());
        let refused = message(&["true", "ls *"], &Shell::Never);
        assert_eq!(
            refused,
            "command `ls *` needs a shell (*): leave out --shell=none, or quote it"
        );
    }

    #[test]
    fn what_cannot_be_run_is_said_in_one_line_with_the_remedy() {
        let text = message(&["no-such-program-here -x", "true"], &Shell::AsNeeded);
        assert!(
            text.starts_with("there is no program `no-such-program-here` in PATH"),
            "{text}"
        );
        let text = message(&["true", "/no/such/program"], &Shell::AsNeeded);
        assert_eq!(text, "there is no program /no/such/program: check the path");
        assert!(message(&["true", "/tmp"], &Shell::AsNeeded).contains("is a directory"));
        assert!(message(&["/etc/passwd", "true"], &Shell::AsNeeded).contains("chmod +x"));
        assert_eq!(
            message(&["true", " "], &Shell::AsNeeded),
            "command 2 is empty: give it a program"
        );
        assert!(message(&["echo 'a", "true"], &Shell::AsNeeded).contains("has an unmatched '"));
        assert!(message(&["'' a", "true"], &Shell::AsNeeded).contains("no program ``"));
        let shell = Shell::Always("no-such-shell".to_owned());
        assert!(message(&["a", "b"], &shell).contains("`no-such-shell`"));
    }

    #[test]
    fn a_file_without_permission_is_no_missing_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("script");
        fs::write(&path, "#!/bin/sh\n").unwrap();
        let name = path.to_str().unwrap();
        let refused = find(name).expect_err("it is not executable").message;
        assert!(
            refused.starts_with(&format!("{name} is not executable")),
            "{refused}"
        );
    }

    #[test]
    fn the_bytes_on_the_stack_count_everything_that_a_command_is_made_of() {
        let command = |program: &str, arguments: &[&str]| Command {
            program: program.into(),
            arguments: arguments.iter().map(Into::into).collect(),
            folder: None,
        };
        // 5 bytes for the path, 2 and 4 for the arguments, 16 for their addresses.
        assert_eq!(command("/b/a", &["a", "xyz"]).stack_bytes(), 27);
        assert_eq!(command("/b/a", &["a", "xyz", ""]).stack_bytes(), 36);
    }
}
