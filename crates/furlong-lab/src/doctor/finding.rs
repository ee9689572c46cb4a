//! The result of one check.

use std::fmt;

use serde::Serialize;

/// Judgement of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The condition is good.
    Good,
    /// It may spoil a measurement, or something cannot be measured.
    Bad,
    /// The machine does not report it.
    Unknown,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Subject of the check.
    pub subject: String,
    /// Judgement.
    pub state: State,
    /// Observation.
    pub text: String,
    /// Remedy, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Finding {
    /// Returns a finding of a good condition.
    pub fn good(subject: &str, text: impl Into<String>) -> Self {
        Self::new(subject, State::Good, text.into(), None)
    }

    /// Returns a finding of a bad condition.
    pub fn bad(subject: &str, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(subject, State::Bad, text.into(), Some(remedy.into()))
    }

    /// Returns a finding of a condition that the machine does not report.
    pub fn unknown(subject: &str, remedy: &str) -> Self {
        let text = "this machine does not report it".to_owned();
        Self::new(subject, State::Unknown, text, Some(remedy.to_owned()))
    }

    fn new(subject: &str, state: State, text: String, remedy: Option<String>) -> Self {
        Self {
            subject: subject.to_owned(),
            state,
            text,
            remedy,
        }
    }
}

/// One line: `bad      turbo: on: ..`.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::Good => "good",
            State::Bad => "bad",
            State::Unknown => "unknown",
        };
        write!(f, "{state:<8} {}: {}", self.subject, self.text)?;
        match &self.remedy {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}
