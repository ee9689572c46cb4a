//! `furlong man`: the manual, a page for each verb.

use std::path::PathBuf;
use std::process::ExitCode;

use clap_mangen::Man;

use crate::error::{Error, Exit, cause};
use crate::nearest::named;
use crate::report::Target;
use crate::talk;

const EXAMPLES: &str = "\
Examples:
  furlong man > furlong.1
  furlong man run
  furlong man --to .";

/// Selection of a page.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A verb [default: the page on the command as a whole]
    #[arg(conflicts_with = "to")]
    pub verb: Option<String>,
    /// Write every page into this directory
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
}

/// Prints a page of the manual, or writes them all.
///
/// # Errors
///
/// There is no such verb, or a page cannot be written.
pub fn run(args: &Args, mut command: clap::Command) -> Result<ExitCode, Error> {
    command.build();
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let verbs: Vec<clap::Command> = verbs.cloned().collect();
    if let Some(dir) = &args.to {
        for page in [command].into_iter().chain(verbs) {
            let path = dir.join(format!("{}.1", file_stem(&page)));
            let target = Target {
                option: "--to",
                path: &path,
            };
            target.put(&roff(page)?)?;
        }
        return Ok(Exit::Done.into());
    }
    let page = match &args.verb {
        None => command,
        Some(name) => named("verb", name, &verbs, clap::Command::get_name)?.clone(),
    };
    talk::data(&String::from_utf8_lossy(&roff(page)?))?;
    Ok(Exit::Done.into())
}

/// Returns the name of a page's file, such as "furlong-run".
fn file_stem(command: &clap::Command) -> String {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    name.replace(' ', "-")
}

fn roff(command: clap::Command) -> Result<Vec<u8>, Error> {
    let title = file_stem(&command);
    let mut page = vec![];
    let made = Man::new(command).title(title).render(&mut page);
    made.map_err(|error| Error::failed(format!("no manual page: {}", cause(&error))))?;
    Ok(page)
}
