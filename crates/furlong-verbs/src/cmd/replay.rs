//! `furlong replay`: runs a recorded trace on subjects and checks their answers.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::replay::{Input, Outcome, page, replay};
use furlong_lab::error::{Error, Exit};
use furlong_lab::options::Settings;
use furlong_lab::options::Talk;
use furlong_lab::publish;
use furlong_lab::report::Target;
use furlong_lab::talk;

const EXAMPLES: &str = "\
Examples:
  furlong replay laptop.map
  furlong replay laptop.map --subject rbtree,direct --json -";

/// Runs a trace through subjects, and checks every answer.
///
/// A trace is a recording of address spaces or allocations by `furlong record`, a recording of
/// plugs and unplugs, or a memory map. The form is detected from the content.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The trace; `-` is standard input
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Subjects, by the names of the experiment's arms [default: all of them]
    #[arg(long = "subject", value_name = "S", value_delimiter = ',')]
    pub subjects: Vec<String>,
    /// Write the outcome as JSON (`furlong.replay/1`); `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Amount of output.
    #[command(flatten)]
    pub talk: Talk,
}

/// Runs the trace and shows the outcome.
///
/// # Errors
///
/// The trace cannot be read or run, or is wrong from some line on: the lines before it are run and
/// shown. Or a subject gave a wrong answer.
pub fn run(args: &Args) -> Result<ExitCode, Error> {
    let settings = Settings::of_here()?;
    let voice = args.talk.voice(&settings);
    let json = Target::json(args.json.as_deref())?;
    let input = Input::read(&args.trace)?;
    let outcome = replay(&input, &args.subjects)?;
    if !input.ends_with_a_line() {
        let name = &input.name;
        voice.warn(&format!(
            "{name}: its last line has no line end; the file may be truncated"
        ));
    }
    if json.is_some_and(|json| json.is_stdout()) {
        talk::say(page(&outcome, &publish::style(false)).trim_end());
    } else {
        talk::data(&page(&outcome, &publish::style(talk::colour())))?;
    }
    if let Some(json) = json {
        json.put(outcome.json().as_bytes())?;
    }
    end(&outcome)
}

/// Ends the command when everything has been shown.
fn end(outcome: &Outcome) -> Result<ExitCode, Error> {
    let wrong = outcome.wrong();
    let fault = outcome.fault.as_ref();
    let fault = fault.map(|fault| format!("{fault}; the lines before it were replayed"));
    match fault {
        None if wrong == 0 => Ok(Exit::Done.into()),
        Some(fault) if wrong == 0 => Err(Error::usage(fault)),
        fault => {
            let wrong = [format!("{wrong} wrong answers, see above")];
            let said: Vec<String> = wrong.into_iter().chain(fault).collect();
            Err(Error::failed(said.join("; ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::end;
    use crate::replay::{Judge, Outcome, SubjectOutcome};
    use furlong_lab::error::Exit;

    fn outcome(wrong: u64, fault: Option<&str>) -> Outcome {
        let right = SubjectOutcome::default();
        let subject = SubjectOutcome {
            wrong,
            ..SubjectOutcome::default()
        };
        Outcome {
            schema: "furlong.replay/1",
            trace: String::new(),
            form: String::new(),
            described: String::new(),
            judge: Judge::Specification,
            fault: fault.map(str::to_owned),
            subjects: vec![right, subject],
        }
    }

    #[test]
    fn a_wrong_answer_fails_the_command_and_a_bad_line_is_bad_input() {
        assert!(end(&outcome(0, None)).is_ok());
        let exit = |wrong, fault| end(&outcome(wrong, fault)).unwrap_err().exit;
        assert_eq!(exit(1, None), Exit::Failed);
        assert_eq!(exit(1, Some("f: line 3")), Exit::Failed);
        assert_eq!(exit(0, Some("f: line 3")), Exit::Usage);
    }
}
