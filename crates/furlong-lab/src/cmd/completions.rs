//! `furlong completions`: the command line's completions for a shell.

use std::process::ExitCode;

use clap_complete::Shell;

use crate::error::{Error, Exit};
use crate::talk;

const EXAMPLES: &str = "\
Examples:
  furlong completions bash > furlong.bash
  furlong completions fish > furlong.fish";

/// Selection of a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The shell
    pub shell: Shell,
}

/// Prints the completions.
///
/// # Errors
///
/// The completions cannot be written.
pub fn run(args: &Args, mut command: clap::Command) -> Result<ExitCode, Error> {
    let mut page = vec![];
    clap_complete::generate(args.shell, &mut command, "furlong", &mut page);
    talk::data(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Done.into())
}
