//! What is specified: anything that carries out operations and tells their outcomes.
#![forbid(unsafe_code)]

use core::fmt::Debug;

/// Carries out the operations of one system.
pub trait Subject {
    /// An operation with its arguments.
    type Operation: Debug;
    /// What an operation answers.
    type Outcome: PartialEq + Debug;

    /// Carries out `operation`.
    fn apply(&mut self, operation: &Self::Operation) -> Self::Outcome;

    /// Walks every invariant that the subject can see in itself.
    ///
    /// # Errors
    /// The broken one, in words.
    fn check(&self) -> Result<(), String>;
}
