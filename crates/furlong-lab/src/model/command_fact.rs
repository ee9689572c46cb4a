//! Facts about the commands of a comparison, in the record of a workload: one object, by arm.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Name of the fact that holds the commands.
pub const COMMANDS: &str = "commands";

/// Name of the fact that holds the commits of a comparison of revisions.
pub const REVISIONS: &str = "revisions";

/// Name of the fact that holds a sweep's values for the commands, by arm and parameter.
pub const PARAMETERS: &str = "parameters";

/// Name of the fact that holds the processors of two commands that run at once.
pub const DUET: &str = "duet";

/// Returns the processors of two commands that ran at once, from the parameters of a workload.
pub fn duet(params: &BTreeMap<String, Value>) -> Option<[usize; 2]> {
    <[usize; 2]>::deserialize(params.get(DUET)?).ok()
}

/// The command of an arm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandFact {
    /// The command line, with the values of a sweep.
    pub command: String,
    /// True if the user named the arm.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub named: bool,
    /// True for the command of `--reference`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reference: bool,
}

impl CommandFact {
    /// Reads the commands from the parameters of a workload; older records have none.
    pub fn of(params: &BTreeMap<String, Value>) -> BTreeMap<String, CommandFact> {
        let fact = params.get(COMMANDS);
        let read = fact.map(|fact| BTreeMap::deserialize(fact).unwrap_or_default());
        read.unwrap_or_default()
    }
}
