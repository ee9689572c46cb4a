//! What the examples that go on for as long as one likes have in common.
#![forbid(unsafe_code)]

use std::env;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

/// Runs what takes how much and a seed, as the command line says: `usual` and 0 where it says
/// nothing. `what` names how much of it. Exits with 1 at the first thing that is wrong, which is
/// printed, and with 2 where the command line is no such numbers.
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

/// At most two numbers.
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
