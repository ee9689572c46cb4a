//! Names of the arms of a comparison.
#![forbid(unsafe_code)]

use crate::error::Error;
use crate::model::result::CONTROL;

/// Maximum length of a name that is made from a command, in characters.
const NAME_CHARS_MAX: usize = 40;

/// Returns the names of the arms, without duplicates: the given ones, else the suggested ones.
pub(super) fn arms(suggested: &[String], names: &[String]) -> Result<Vec<String>, Error> {
    if !names.is_empty() && names.len() != suggested.len() {
        let (names, commands) = (names.len(), suggested.len());
        return Err(Error::usage(format!(
            "--names has {names} of {commands} names: give one name per command, \
             separated by commas"
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
            return wrong("is the name of the control: choose another name");
        } else if arms.contains(name) {
            return wrong("is given twice: give each command its own name");
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

/// Formats an arm for the question: with its command, unless the name contains it.
pub(super) fn told(name: &str, command: &str) -> String {
    // A name made from a command contains all of it, unless it was cut.
    let own = name.starts_with(&one_line(command)) && !name.contains('…');
    if own {
        format!("`{name}`")
    } else {
        format!("{name} (`{command}`)")
    }
}

/// Returns a command as a name, in one line that fits into a table.
fn one_line(command: &str) -> String {
    let line = command.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= NAME_CHARS_MAX {
        return line;
    }
    let start: String = line.chars().take(NAME_CHARS_MAX - 1).collect();
    format!("{}…", start.trim_end())
}
