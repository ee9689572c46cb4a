//! One thing that was looked at.
#![forbid(unsafe_code)]

use std::fmt;

use serde::Serialize;

/// What to think of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it should be.
    Good,
    /// It may spoil a measurement, or something cannot be measured.
    Bad,
    /// The machine does not say.
    Unknown,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What.
    pub subject: String,
    /// What to think of it.
    pub state: State,
    /// How it is.
    pub text: String,
    /// What would help, where anything would.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Finding {
    /// As it should be.
    #[must_use]
    pub fn good(subject: &str, text: impl Into<String>) -> Self {
        Self::new(subject, State::Good, text.into(), None)
    }

    /// Not as it should be.
    #[must_use]
    pub fn bad(subject: &str, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(subject, State::Bad, text.into(), Some(remedy.into()))
    }

    /// The machine does not say.
    #[must_use]
    pub fn unknown(subject: &str, remedy: &str) -> Self {
        let text = "this machine does not say".to_owned();
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

/// `bad      turbo: on: ..`, in one line.
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
