//! A history and a difference for programs: `furlong.history/1` and `furlong.diff/1`. Within /1,
//! fields may be added but never renamed.

use serde::Serialize;

use super::difference::{Difference, Differences};
use crate::model::result::{Machine, Run};

/// The fields of a machine that programs get.
#[derive(Serialize)]
#[serde(remote = "Machine")]
pub(super) struct Place {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<String>,
    host: String,
    kernel: String,
}

/// The fields of a run that programs get.
#[derive(Serialize)]
#[serde(remote = "Run")]
struct Named {
    id: String,
    started: String,
    version: String,
    tag: Option<String>,
    #[serde(with = "Place")]
    machine: Machine,
}

/// A difference of two runs.
#[derive(Serialize)]
#[serde(tag = "schema", rename = "furlong.diff/1")]
struct Figures<'a> {
    #[serde(with = "Named")]
    before: &'a Run,
    #[serde(with = "Named")]
    after: &'a Run,
    differences: &'a [Difference],
    left_out: &'a [String],
}

impl Differences {
    /// The differences of these runs, in the form for programs.
    pub fn figures<'a>(&'a self, before: &'a Run, after: &'a Run) -> impl Serialize + 'a {
        Figures {
            before,
            after,
            differences: &self.found,
            left_out: &self.left_out,
        }
    }
}
