//! Two subjects, the same operations: where do they part?
#![forbid(unsafe_code)]

use core::fmt;

use crate::Subject;

/// The first operation at which two subjects differ or one finds itself broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Number of the operation, counted from 0.
    pub step: usize,
    /// The operation, and what was answered or is broken.
    pub what: String,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at operation {}: {}", self.step, self.what)
    }
}

impl core::error::Error for Divergence {}

/// Carries out `operations` on both subjects, and compares the outcomes and checks the subject
/// after each.
///
/// # Errors
/// The first operation at which the outcomes differ, or after which the subject is broken.
pub fn compare<M, S>(
    model: &mut M,
    subject: &mut S,
    operations: impl IntoIterator<Item = M::Operation>,
) -> Result<(), Divergence>
where
    M: Subject,
    S: Subject<Operation = M::Operation, Outcome = M::Outcome>,
{
    for (step, operation) in operations.into_iter().enumerate() {
        let expected = model.apply(&operation);
        let found = subject.apply(&operation);
        let differs = (expected != found)
            .then(|| format!("{operation:?} gave {found:?}, the model says {expected:?}"));
        let broken = || {
            subject
                .check()
                .err()
                .map(|broken| format!("{operation:?}: {broken}"))
        };
        if let Some(what) = differs.or_else(broken) {
            return Err(Divergence { step, what });
        }
    }
    Ok(())
}
