//! How the arms of a comparison are called.
#![forbid(unsafe_code)]

use crate::error::Error;
use crate::model::result::CONTROL;

/// A name that a command gets from itself is no longer than this.
const NAME_CHARS_MAX: usize = 40;

/// The names of the arms, each there once: those that were given, else those that the arms suggest.
pub(super) fn arms(suggested: &[String], names: &[String]) -> Result<Vec<String>, Error> {
    if !names.is_empty() && names.len() != suggested.len() {
        let (names, commands) = (names.len(), suggested.len());
        return Err(Error::usage(format!(
            "--names has {names} for {commands} commands: give one name a command, with commas"
        )));
    }
    let mut arms: Vec<String> = vec![];
    for (number, name) in names.iter().enumerate() {
        let wrong = |why: &str| Err(Error::usage(format!("--names: `{name}` {why}")));
        if name.trim().is_empty() {
            return Err(Error::usage(format!(
                "--names: name {} is empty",
                number + 1
            )));
        } else if name == CONTROL {
            return wrong("means the baseline again: choose another name");
        } else if arms.contains(name) {
            return wrong("is there twice: give each command its own name");
        }
        arms.push(name.clone());
    }
    for suggestion in suggested.iter().skip(arms.len()) {
        let name = one_line(suggestion);
        let mut candidates = (1..).map(|copy| match copy {
            1 => name.clone(),
            copy => format!("{name} ({copy})"),
        });
        let free = candidates.find(|name| name != CONTROL && !arms.contains(name));
        arms.extend(free);
    }
    Ok(arms)
}

/// An arm as the question names it: with its command, unless its name says that already.
pub(super) fn told(name: &str, command: &str) -> String {
    // A name that a command got from itself says it all, but for one that was cut.
    let own = name.starts_with(&one_line(command)) && !name.contains('…');
    if own {
        format!("`{name}`")
    } else {
        format!("{name} (`{command}`)")
    }
}

/// A command as a name: in one line that a table has room for.
fn one_line(command: &str) -> String {
    let line = command.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= NAME_CHARS_MAX {
        return line;
    }
    let start: String = line.chars().take(NAME_CHARS_MAX - 1).collect();
    format!("{}…", start.trim_end())
}
