//! Messages for refused command lines: one line with a remedy.

use std::env;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Subcommand};

use crate::cli::Cli;
use crate::error::{Error, Exit};
use crate::talk;

/// Prints the error, or the requested text: help and version are not errors.
pub fn say<X: Subcommand>(refused: &clap::Error) -> ExitCode {
    match refused.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let page = match talk::colour() {
                true => refused.render().ansi().to_string(),
                false => refused.render().to_string(),
            };
            let code = match talk::data(&page) {
                Ok(()) => Exit::Done,
                Err(_) => Exit::Failed,
            };
            code.into()
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            talk::say(refused.render().to_string().trim_end());
            Exit::Usage.into()
        }
        _ => {
            let arguments = env::args_os().skip(1);
            let arguments = arguments.map(|one| one.to_string_lossy().into_owned());
            let text = line(
                &refused.render().to_string(),
                verb::<X>(arguments).as_deref(),
            );
            talk::error(&Error::usage(text));
            Exit::Usage.into()
        }
    }
}

/// Returns the verb of a command line, if it has a valid one.
fn verb<X: Subcommand>(mut arguments: impl Iterator<Item = String>) -> Option<String> {
    let verbs = Cli::<X>::command();
    arguments.find(|one| verbs.find_subcommand(one).is_some())
}

/// Words of the parser and of numbers, with their translations for a person.
const PLAIN: [(&str, &str); 5] = [
    ("unrecognized subcommand", "unknown verb"),
    ("similar subcommand", "similar verb"),
    ("invalid digit found in string", "give a whole number"),
    (
        "cannot parse integer from empty string",
        "give a whole number",
    ),
    (
        "number too large to fit in target type",
        "give a smaller number",
    ),
];

/// Returns the text before the usage, as one line.
fn line(text: &str, verb: Option<&str>) -> String {
    let usage = ["\nUsage:", "\nFor more information"];
    let ends = usage.iter().filter_map(|mark| text.find(mark));
    let said = &text[..ends.min().unwrap_or(text.len())];
    let mut line = String::new();
    for piece in said
        .lines()
        .map(str::trim)
        .filter(|piece| !piece.is_empty())
    {
        let piece = piece.strip_prefix("error: ").unwrap_or(piece);
        let piece = piece.strip_prefix("tip: ").unwrap_or(piece);
        let gap = match line.chars().last() {
            None => "",
            Some(':') => " ",
            Some(_) => "; ",
        };
        line.push_str(gap);
        line.push_str(piece);
    }
    for (technical, plain) in PLAIN {
        line = line.replace(technical, plain);
    }
    let verb = verb.map_or_else(String::new, |verb| format!(" {verb}"));
    format!("{line}; `furlong{verb} --help` lists the options")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{line, verb};
    use crate::NoVerbs;
    use crate::cli::Cli;

    fn refused(arguments: &[&str]) -> String {
        let all = ["furlong"].iter().chain(arguments).copied();
        let text = Cli::<NoVerbs>::try_parse_from(all)
            .unwrap_err()
            .render()
            .to_string();
        let given = arguments.iter().map(ToString::to_string);
        line(&text, verb::<NoVerbs>(given).as_deref())
    }

    #[test]
    fn a_refusal_is_one_line_with_what_to_do() {
        let said = refused(&["run", "--blok", "3"]);
        assert_eq!(
            said,
            "unexpected argument '--blok' found; a similar argument exists: '--blocks'; \
             `furlong run --help` lists the options"
        );
        let said = refused(&["import"]);
        assert!(said.contains("were not provided: <FILE>"), "{said}");
        assert!(
            said.ends_with("`furlong import --help` lists the options"),
            "{said}"
        );
        let said = refused(&["rum"]);
        assert!(
            said.starts_with("unknown verb 'rum'; a similar verb exists: 'run'; "),
            "{said}"
        );
        assert!(
            said.ends_with("; `furlong --help` lists the options"),
            "{said}"
        );
        let said = refused(&["prune", "--keep", "some"]);
        assert!(
            said.contains("'--keep <N>': give a whole number; "),
            "{said}"
        );
        let said = refused(&["run", "--margin", "-1"]);
        assert!(said.contains("give a percentage"), "{said}");
    }
}
