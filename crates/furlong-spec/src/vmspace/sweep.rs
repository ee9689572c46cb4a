//! All short sequences of a few operations.
#![forbid(unsafe_code)]

use super::{Operation, Outcome};
use crate::{Subject, compare};

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
    let count = alphabet.len().pow(length);
    for number in 0..count {
        let digits = (0..length).map(|place| number / alphabet.len().pow(place) % alphabet.len());
        let sequence: Vec<Operation> = digits
            .flat_map(|digit| [alphabet[digit].clone(), Operation::Areas])
            .collect();
        let told = format!("{sequence:?}");
        compare(&mut model.clone(), &mut build(), sequence)
            .map_err(|divergence| format!("{told}: {divergence}"))?;
    }
    Ok(count as u64 * u64::from(length))
}
