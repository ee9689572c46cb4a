//! The common main function of the examples that run as long as the caller likes.
#![forbid(unsafe_code)]

use std::env;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

/// Calls `run` with an amount and a seed from the command line; the defaults are `usual` and 0.
/// `what` names the unit of the amount. Prints the first error and exits with status 1; exits with
/// status 2 if an argument is not a number.
pub fn long_run(
    what: &str,
    usual: u64,
    run: impl FnOnce(u64, u64) -> Result<(), String>,
) -> ExitCode {
    let mut arguments = env::args();
    let program = arguments.next().unwrap_or_default();
    let Some((much, seed)) = numbers(arguments, usual) else {
        let name = Path::new(&program).file_name().unwrap_or_default();
        let _ = writeln!(
            io::stderr(),
            "{} [{what}] [SEED]: two numbers",
            name.display()
        );
        return ExitCode::from(2);
    };
    match run(much, seed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            let _ = writeln!(io::stdout(), "WRONG: {wrong}");
            ExitCode::FAILURE
        }
    }
}

/// Parses at most two numbers.
fn numbers(mut arguments: impl Iterator<Item = String>, usual: u64) -> Option<(u64, u64)> {
    let mut number = |usual| match arguments.next() {
        Some(text) => text.parse().ok(),
        None => Some(usual),
    };
    let both = (number(usual)?, number(0)?);
    arguments.next().is_none().then_some(both)
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn a_command_line_is_at_most_two_numbers() {
        let read = |line: &str| numbers(line.split_whitespace().map(str::to_owned), 9);
        assert_eq!(read(""), Some((9, 0)));
        assert_eq!(read("5"), Some((5, 0)));
        assert_eq!(read("5 6"), Some((5, 6)));
        assert_eq!(read("5 6 7"), None);
        assert_eq!(read("all"), None);
        assert_eq!(read("5 -1"), None);
    }
}
