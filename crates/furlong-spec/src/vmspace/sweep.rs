//! All short sequences of a few operations.

use super::{Operation, Outcome};
use crate::{Subject, compare, every_sequence};

/// Runs every sequence of `length` operations of `alphabet` on a new subject and a copy of `model`,
/// and compares the whole state after each operation.
///
/// Returns the number of operations compared.
///
/// # Errors
/// The first sequence with an outcome that differs from the model's.
pub fn sequences<S, M>(
    build: impl Fn() -> S,
    model: &M,
    alphabet: &[Operation],
    length: u32,
) -> Result<u64, String>
where
    S: Subject<Operation = Operation, Outcome = Outcome>,
    M: Subject<Operation = Operation, Outcome = Outcome> + Clone,
{
    let mut count = 0;
    for sequence in every_sequence(alphabet, length) {
        let all = sequence.iter().cloned();
        let all = all.flat_map(|operation| [operation, Operation::Areas]);
        compare(&mut model.clone(), &mut build(), all)
            .map_err(|divergence| format!("{sequence:?}: {divergence}"))?;
        count += u64::from(length);
    }
    Ok(count)
}
