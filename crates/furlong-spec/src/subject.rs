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

    /// Checks every invariant that the subject can see in itself.
    ///
    /// # Errors
    /// A description of the broken invariant.
    fn check(&self) -> Result<(), String>;
}
