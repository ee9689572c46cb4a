//! Names of the arms of a comparison.

use super::subject::Filled;
use crate::error::Error;
use crate::measure::commands::parameter::{fill, label};
use crate::model::MetricPlan;
use crate::model::result::CONTROL;
use crate::options::RESUME;
use crate::report::quantity::counted;

/// Maximum length of a name that is made from a command, in characters.
const NAME_CHARS_MAX: usize = 40;

/// The reference, and names for the commands.
#[derive(Debug, clap::Args)]
pub struct Names {
    /// A name for each command [default: the command itself]
    #[arg(long, value_name = "A,B,..", value_delimiter = ',', conflicts_with = RESUME)]
    names: Vec<String>,
    /// A name for the first command; given again, for the second one. A single -n A,B names both
    #[arg(short = 'n', long, value_name = "NAME", conflicts_with_all = ["names", RESUME])]
    command_name: Vec<String>,
    /// A further command, which is the baseline of all the others
    #[arg(long, value_name = "COMMAND", conflicts_with = RESUME)]
    pub(super) reference: Option<String>,
    /// A name for the command of --reference
    #[arg(long, value_name = "NAME", requires = "reference", conflicts_with = RESUME)]
    reference_name: Option<String>,
}

/// The name of an arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) text: String,
    /// True if it is the user's.
    pub(super) is_given: bool,
}

impl Names {
    /// Returns the names of a workload's arms, without duplicates: the given ones, else those that
    /// the commands suggest. `usual` are names for all arms, if the user gives none.
    pub(super) fn arms(&self, filled: &Filled, usual: &[String]) -> Result<Vec<Name>, Error> {
        let mut given = self.given(filled)?;
        if given.iter().all(Option::is_none) && given.len() == usual.len() {
            given = usual.iter().cloned().map(Some).collect();
        }
        let mut arms: Vec<Name> = vec![];
        for (place, text) in given.iter().flatten().enumerate() {
            let wrong = |why: &str| Err(Error::usage(format!("name {} {why}", place + 1)));
            if text.trim().is_empty() {
                return wrong("is empty: give each command a name");
            } else if text == CONTROL {
                return wrong("is the name of the control: choose another name");
            } else if given.iter().flatten().filter(|name| *name == text).count() > 1 {
                return Err(Error::usage(format!(
                    "the name `{text}` is given twice: give each command its own name"
                )));
            }
        }
        for (arm, own) in filled.arms.iter().zip(&given) {
            let name = match own {
                Some(name) => name.clone(),
                None => {
                    let taken = |name: &String| {
                        name == CONTROL
                            || given.iter().flatten().any(|given| given == name)
                            || arms.iter().any(|arm| arm.text == *name)
                    };
                    free(&one_line(&arm.suggested), taken)
                }
            };
            arms.push(Name {
                text: name,
                is_given: own.is_some(),
            });
        }
        Ok(arms)
    }

    /// Returns the user's name for each arm that has one.
    fn given(&self, filled: &Filled) -> Result<Vec<Option<String>>, Error> {
        let reference = usize::from(self.reference.is_some());
        let swept = &filled.arms[reference..];
        let commands = swept.len();
        let wrong = |option: &str, names: usize| {
            Err(Error::usage(format!(
                "{option} has {} for {}: give one name per command",
                counted(names as u64, "name"),
                counted(commands as u64, "command")
            )))
        };
        let names: Vec<Option<String>> = match &self.command_name[..] {
            [] if self.names.is_empty() => vec![],
            [] if self.names.len() == commands => self.names.iter().cloned().map(Some).collect(),
            [] => return wrong("--names", self.names.len()),
            [list] if commands > 1 && is_list(list, commands) => {
                let names = list.split(',').map(str::to_owned);
                names.map(Some).collect()
            }
            // One command with a parameter: its name, with the value.
            [one] if commands > 1 && swept.iter().all(|arm| !arm.setting.is_empty()) => {
                let name = |text: String, setting| match text == *one {
                    true => format!("{one} {}", label(setting)),
                    false => text,
                };
                let settings = swept.iter().map(|arm| &arm.setting);
                let names = settings.map(|setting| name(fill(one, setting), setting));
                names.map(Some).collect()
            }
            all if all.len() > commands => return wrong("--command-name", all.len()),
            all => all.iter().cloned().map(Some).collect(),
        };
        let mut all = vec![];
        all.extend(self.reference.as_ref().map(|_| self.reference_name.clone()));
        all.extend(names);
        all.resize(filled.arms.len(), None);
        Ok(all)
    }
}

/// True if a name is a list of them: `old,new`, but not `old, the slow one`.
fn is_list(name: &str, names: usize) -> bool {
    let mut all = name.split(',');
    all.clone().count() == names && all.all(|one| !one.starts_with(' '))
}

/// Returns a name that is not taken: the suggestion, or the suggestion with a number.
fn free(suggestion: &str, taken: impl Fn(&String) -> bool) -> String {
    let mut names = (1..).map(|copy| match copy {
        1 => suggestion.to_owned(),
        copy => format!("{suggestion} ({copy})"),
    });
    let free = names.find(|name| !taken(name));
    free.unwrap_or_else(|| suggestion.to_owned())
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

/// Returns the question of a comparison.
pub(super) fn question(commands: &[String], names: &[Name], metrics: &[MetricPlan]) -> String {
    let names: Vec<&str> = names.iter().map(|name| name.text.as_str()).collect();
    let listed = match (commands, &names[..]) {
        ([one], [name]) => {
            return format!("How long does {} take?", told(name, one));
        }
        (commands, names) if names.len() > commands.len() => {
            let last = commands.last().map_or("", String::as_str);
            format!("`{last}`: {}", names.join(" or "))
        }
        (commands, names) => {
            let pairs = names.iter().zip(commands);
            let told = pairs.map(|(name, command)| told(name, command));
            told.collect::<Vec<_>>().join(" or ")
        }
    };
    let is_time = metrics
        .first()
        .is_some_and(|metric| metric.name == "wall_s");
    let word = if is_time { "faster" } else { "better" };
    format!("Which is {word}: {listed}?")
}
