//! Two subjects, the same operations: where do they part? A subject and a judge: what is wrong?
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
    follow(subject, operations, |operation, found| {
        let expected = model.apply(operation);
        if expected == *found {
            Ok(())
        } else {
            Err(expected)
        }
    })
}

/// A model of something that may answer in more than one way.
pub trait Judge: Subject {
    /// Whether the answer `found` to `operation` is one that is allowed. The state is then the one
    /// after that answer.
    ///
    /// # Errors
    /// An answer that would have been allowed.
    fn judge(
        &mut self,
        operation: &Self::Operation,
        found: &Self::Outcome,
    ) -> Result<(), Self::Outcome>;
}

/// Carries out `operations` on the subject, has each outcome judged and checks the subject after
/// each.
///
/// # Errors
/// The first operation whose outcome is not allowed, or after which the subject is broken.
pub fn judge<M, S>(
    model: &mut M,
    subject: &mut S,
    operations: impl IntoIterator<Item = M::Operation>,
) -> Result<(), Divergence>
where
    M: Judge,
    S: Subject<Operation = M::Operation, Outcome = M::Outcome>,
{
    follow(subject, operations, |operation, found| {
        model.judge(operation, found)
    })
}

/// Carries out `operations`; `allow` says what it had expected instead of an outcome.
fn follow<S: Subject>(
    subject: &mut S,
    operations: impl IntoIterator<Item = S::Operation>,
    mut allow: impl FnMut(&S::Operation, &S::Outcome) -> Result<(), S::Outcome>,
) -> Result<(), Divergence> {
    for (step, operation) in operations.into_iter().enumerate() {
        let found = subject.apply(&operation);
        let differs = allow(&operation, &found).err();
        let differs = differs
            .map(|expected| format!("{operation:?} gave {found:?}, the model says {expected:?}"));
        let broken = || {
            let broken = subject.check().err()?;
            Some(format!("{operation:?}: {broken}"))
        };
        if let Some(what) = differs.or_else(broken) {
            return Err(Divergence { step, what });
        }
    }
    Ok(())
}
