//! Values of options: the shell, the failures that count, the destination of output.

use std::path::{Path, PathBuf};

use crate::measure::launch::command::Shell;
use crate::measure::launch::launcher::Output;
use crate::model::result::Better;
use crate::record::comparison::CHARS_MAX;
use crate::shell_words::{Line, split};

/// Failures that count as runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// The exit codes; empty for all.
    pub(super) codes: Vec<u8>,
}

/// Parses `--shell`. Only programs with the name of a shell are taken, because the word after
/// `--shell` may be a command.
pub(super) fn shell(text: &str) -> Result<Shell, String> {
    let is_shell = |name: &str| name.ends_with("sh") || name == "nu";
    let is_shell_file = |program: &String| {
        let name = Path::new(program).file_name();
        name.and_then(|name| name.to_str()).is_some_and(is_shell)
    };
    match (text, split(text)) {
        ("none", _) => Ok(Shell::Never),
        ("default", _) => Ok(Shell::Always("sh".to_owned())),
        (_, Line::Words(words)) if words.first().is_some_and(is_shell_file) => {
            Ok(Shell::Always(text.to_owned()))
        }
        _ => Err(format!(
            "`{text}` is not the name of a shell: give one, such as --shell=bash, or --shell=none"
        )),
    }
}

/// Parses `--name`.
pub(super) fn name(text: &str) -> Result<String, String> {
    let text = text.trim();
    let is_long = text.chars().count() > CHARS_MAX;
    match text.is_empty() || is_long || text.chars().any(char::is_control) {
        true => Err(format!(
            "give a name of one line and at most {CHARS_MAX} characters"
        )),
        false => Ok(text.to_owned()),
    }
}

/// Parses `--ignore-failure`.
pub(super) fn ignored(text: &str) -> Result<Ignored, String> {
    if text == "all-non-zero" || text.is_empty() {
        return Ok(Ignored { codes: vec![] });
    }
    let codes = text.split(',').map(|code| code.trim().parse());
    let codes = codes.collect::<Result<_, _>>();
    let codes = codes.map_err(|_| "give exit codes, such as 1,2 (137 for signal 9)".to_owned())?;
    Ok(Ignored { codes })
}

/// Parses `--output`. A file needs a slash, so that no typing error becomes one.
pub(super) fn output(text: &str) -> Result<Output, String> {
    match text {
        "null" => Ok(Output::Discard),
        "pipe" => Ok(Output::Pipe),
        "inherit" => Ok(Output::Inherit),
        file if file.contains('/') => Ok(Output::File(PathBuf::from(file))),
        file => Err(format!("give null, pipe, inherit or a file: ./{file}")),
    }
}

/// Parses `--input`.
// A parser returns a Result.
pub(super) fn input(text: &str) -> Result<PathBuf, String> {
    Ok(PathBuf::from(match text {
        "null" => "/dev/null",
        file => file,
    }))
}

/// Parses `lower` or `higher`.
pub(super) fn better(text: &str) -> Result<Better, String> {
    match text {
        "lower" => Ok(Better::Lower),
        "higher" => Ok(Better::Higher),
        _ => Err("give lower or higher".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Ignored, ignored, output, shell};
    use crate::measure::launch::command::Shell;
    use crate::measure::launch::launcher::Output;

    #[test]
    fn a_command_is_not_taken_for_a_shell() {
        let always = |text: &str| Ok(Shell::Always(text.to_owned()));
        assert_eq!(shell("bash"), always("bash"));
        assert_eq!(shell("/bin/bash --norc"), always("/bin/bash --norc"));
        assert_eq!(shell("default"), always("sh"));
        assert_eq!(shell("none"), Ok(Shell::Never));
        for command in ["echo a", "true | cat", "", "/bin/true"] {
            let said = shell(command).expect_err("a command");
            assert!(said.contains("is not the name of a shell"), "{said}");
        }
    }

    #[test]
    fn failures_are_all_or_those_of_the_codes() {
        let codes = |codes: &[u8]| {
            let codes = codes.to_vec();
            Ok(Ignored { codes })
        };
        assert_eq!(ignored("all-non-zero"), codes(&[]));
        assert_eq!(ignored("1, 137"), codes(&[1, 137]));
        assert!(ignored("256").is_err() && ignored("x").is_err());
    }

    #[test]
    fn a_file_for_output_has_a_slash() {
        assert_eq!(output("./log"), Ok(Output::File("./log".into())));
        assert_eq!(output("pipe"), Ok(Output::Pipe));
        let said = output("nul").expect_err("a typing error");
        assert!(said.ends_with("./nul"), "{said}");
    }
}
