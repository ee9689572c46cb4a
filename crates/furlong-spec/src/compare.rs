//! Comparison of two subjects, or of a subject and a judge, over the same operations.
#![forbid(unsafe_code)]

use core::fmt;

use crate::Subject;

/// The first operation whose outcomes differ, or after which a subject is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Number of the operation, counted from 0.
    pub step: usize,
    /// The operation, and the two outcomes or the broken invariant.
    pub what: String,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at operation {}: {}", self.step, self.what)
    }
}

impl core::error::Error for Divergence {}

/// Carries out `operations` on both subjects, compares the outcomes and checks the subject after
/// each operation.
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
        agree(model.apply(operation), found)
    })
}

/// Accepts an outcome only if it is the expected one.
pub(crate) fn agree<O: PartialEq>(expected: O, found: &O) -> Result<(), O> {
    if expected == *found {
        Ok(())
    } else {
        Err(expected)
    }
}

/// A model that accepts more than one outcome for an operation.
pub trait Judge: Subject {
    /// Accepts the outcome `found` of `operation` if it is allowed, and moves the model to the
    /// state after it.
    ///
    /// # Errors
    /// An outcome that would have been allowed.
    fn judge(
        &mut self,
        operation: &Self::Operation,
        found: &Self::Outcome,
    ) -> Result<(), Self::Outcome>;
}

/// Carries out `operations` on the subject, has `model` judge each outcome, and checks the subject
/// after each operation.
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

/// Every sequence of `length` of these operations.
pub fn every_sequence<O: Clone>(alphabet: &[O], length: u32) -> impl Iterator<Item = Vec<O>> {
    let letters = alphabet.len();
    let letter = move |number: usize, place| number / letters.pow(place) % letters;
    (0..letters.pow(length)).map(move |number| {
        let sequence = (0..length).map(|place| alphabet[letter(number, place)].clone());
        sequence.collect()
    })
}

/// Carries out `operations`. `allow` returns the expected outcome if it rejects the one found.
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
