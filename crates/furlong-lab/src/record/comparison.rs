//! Names of comparisons. A history files every comparison under its own, so that different ones
//! neither mix nor hide one another.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::hash::fnv1a;
use crate::model::command_fact::CommandFact;
use crate::model::result::ExperimentResult;
use crate::shell_words::{Line, split};
use crate::talk::quoted;

/// Name of the experiment of every comparison.
pub const COMPARE: &str = "compare";

/// Longest name, in characters.
pub const CHARS_MAX: usize = 160;

/// Returns the name of a comparison that the user gave none: its commands in order, quoted as on
/// the command line. Blanks and quotes that mean the same give the same name. A name that would be
/// too long ends with a hash of all of it.
pub fn name_of(commands: &[String]) -> String {
    let normal = |command: &String| match split(command) {
        Line::Words(words) => {
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            words.join(" ")
        }
        // Only a shell knows which blanks of it matter.
        _ => command.trim().to_owned(),
    };
    let all = commands.iter().map(|command| quoted(&normal(command)));
    let name = all.collect::<Vec<_>>().join(" ");
    let name: String = name.split(['\n', '\r']).collect::<Vec<_>>().join(" ");
    if name.chars().count() <= CHARS_MAX {
        return name;
    }
    let hash = format!("… {:016x}", fnv1a(name.as_bytes()));
    let kept = name.chars().take(CHARS_MAX - hash.chars().count());
    kept.collect::<String>() + &hash
}

/// Returns an experiment as it is stored: a comparison from before they had names gets the one of
/// its commands, if it has them.
pub fn named(experiment: &ExperimentResult) -> ExperimentResult {
    let mut experiment = experiment.clone();
    if experiment.name == COMPARE && experiment.comparison.is_none() {
        let first = experiment.workloads.first();
        experiment.comparison = first.and_then(|workload| {
            let arms = workload.arms.iter().map(|arm| arm.name.as_str());
            of_facts(&CommandFact::of(&workload.params), arms)
        });
    }
    experiment
}

/// Returns the name of a stored comparison that has none.
///
/// # Shapes
///
/// `agenda` is the schedule of its run as JSON; `params` are those of its first workload, whose
/// arms are `arms`.
pub(super) fn of_record(agenda: &str, params: &str, arms: &[String]) -> Option<String> {
    // The schedule has the commands as they were given, before the values of a sweep.
    let agenda: Option<Value> = serde_json::from_str(agenda).ok();
    let given = agenda.and_then(|agenda| {
        serde_json::from_value::<Vec<String>>(agenda.get("subject")?.get("commands")?.clone()).ok()
    });
    match given {
        Some(commands) => Some(name_of(&commands)),
        None => {
            let params = serde_json::from_str(params).ok()?;
            of_facts(&CommandFact::of(&params), arms.iter().map(String::as_str))
        }
    }
}

fn of_facts<'a>(
    facts: &BTreeMap<String, CommandFact>,
    arms: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let command = |arm| Some(facts.get(arm)?.command.clone());
    let commands: Option<Vec<String>> = arms.map(command).collect();
    let commands = commands.filter(|commands| !commands.is_empty());
    commands.map(|commands| name_of(&commands))
}

#[cfg(test)]
mod tests {
    use super::{CHARS_MAX, name_of, of_record};

    fn named(commands: &[&str]) -> String {
        let commands: Vec<String> = commands.iter().map(ToString::to_string).collect();
        name_of(&commands)
    }

    #[test]
    fn the_same_words_in_order_are_the_same_name() {
        let name = named(&["sort big.txt", "sort -u 'my file'"]);
        assert_eq!(name, r"'sort big.txt' 'sort -u '\''my file'\'''");
        let again = named(&["  'sort'   big.txt ", r#"sort "-u" my\ file"#]);
        assert_eq!(again, name);
        assert_ne!(named(&["sort -u 'my file'", "sort big.txt"]), name);
        assert_ne!(named(&["a b", "c"]), named(&["a", "b c"]));
        // In a shell's line, blanks may matter.
        assert_ne!(named(&["a | b  c"]), named(&["a | b c"]));
    }

    #[test]
    fn a_long_name_is_cut_and_still_its_own() {
        let long = "x".repeat(1000);
        let (one, other) = (named(&[&long, "a"]), named(&[&long, "b"]));
        assert_eq!(one.chars().count(), CHARS_MAX);
        assert_ne!(one, other);
        assert!(!named(&["a\nb"]).contains('\n'));
    }

    #[test]
    fn an_old_record_is_named_by_its_schedule_or_by_its_facts() {
        let agenda = r#"{"subject":{"commands":["gzip -{level} f","true"]}}"#;
        let params = r#"{"commands":{"old":{"command":"true"},"new":{"command":"false  x"}}}"#;
        let arms = ["old", "new"].map(str::to_owned);
        let name = |agenda, params| of_record(agenda, params, &arms);
        assert_eq!(name(agenda, params).unwrap(), "'gzip -{level} f' true");
        assert_eq!(name("null", params).unwrap(), "true 'false x'");
        assert_eq!(name("null", "{}"), None);
        assert_eq!(name("no JSON", "no JSON"), None);
    }
}
