//! The specified interface: anything that carries out operations and returns their outcomes.
#![forbid(unsafe_code)]

use core::fmt::Debug;

/// Carries out the operations of one system.
pub trait Subject {
    /// An operation with its arguments.
    type Operation: Debug;
    /// The result of an operation.
    type Outcome: PartialEq + Debug;

    /// Carries out `operation`.
    fn apply(&mut self, operation: &Self::Operation) -> Self::Outcome;

    /// Checks every invariant that the subject can see in itself. By default there is none.
    ///
    /// # Errors
    /// A description of the broken invariant.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// A subject whose outcomes a function sees, and may replace.
#[derive(Clone, Copy, Debug)]
pub struct Through<S, F>(pub S, F);

impl<S: Subject, F: FnMut(&S::Operation, S::Outcome) -> S::Outcome> Through<S, F> {
    /// `subject`, with each outcome passed through `outcome`.
    pub const fn new(subject: S, outcome: F) -> Self {
        Self(subject, outcome)
    }
}

impl<S: Subject, F: FnMut(&S::Operation, S::Outcome) -> S::Outcome> Subject for Through<S, F> {
    type Operation = S::Operation;
    type Outcome = S::Outcome;

    fn apply(&mut self, operation: &S::Operation) -> S::Outcome {
        let outcome = self.0.apply(operation);
        (self.1)(operation, outcome)
    }

    fn check(&self) -> Result<(), String> {
        self.0.check()
    }
}
