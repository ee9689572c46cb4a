//! `--duet`: two commands at once, where a check of the machine allows it.

use super::How;
use super::subject::Subject;
use crate::doctor::DuetCheck;
use crate::error::{Error, Exit};
use crate::fleet::On;
use crate::measure::interrupt::Interrupt;

/// Refuses a duet of something else than two commands, if it is that.
pub(super) fn refuse_if(is_so: bool, what: &str) -> Result<(), Error> {
    match is_so {
        false => Ok(()),
        true => Err(Error::usage(format!(
            "--duet runs two commands at once, not {what}: leave it out"
        ))),
    }
}

impl How {
    /// Returns the processors of a duet, if the user wants one and it is fair on this machine.
    pub(super) fn processors(
        &self,
        subject: &Subject,
        arms: usize,
    ) -> Result<Option<[usize; 2]>, Error> {
        if !self.duet {
            return Ok(None);
        }
        let unfit = [
            (arms != 2, "one command, or three and more"),
            (self.place.nodes.on == On::Slurm, "the nodes of a cluster"),
            (subject.layouts > 0, "several layouts"),
            (!subject.counted.is_empty(), "counters of the processor"),
        ];
        for (is_so, what) in unfit {
            refuse_if(is_so, what)?;
        }
        let check = match DuetCheck::known() {
            Some(known) => known,
            None => {
                let voice = self.voice();
                voice.note(
                    "comparing planted changes in two programs at once, for at most a minute",
                );
                let interrupt = Interrupt::listen()?;
                let checked = DuetCheck::measure(&interrupt)?;
                checked.ok_or_else(|| Error {
                    exit: interrupt.signal().unwrap_or(Exit::Signal(2)),
                    message: "interrupted before anything was measured".to_owned(),
                })?
            }
        };
        match check.refusal() {
            None => Ok(Some(check.processors)),
            Some(why) => Err(Error::failed(format!(
                "--duet: {why}: compare without it (`furlong doctor --duet` checks anew)"
            ))),
        }
    }
}
