//! Random values: the name of a run, and its seed if the user gave none.

use crate::error::Error;
use crate::record::run_name::run_name;

/// Returns a new name.
///
/// # Errors
///
/// The system has no random numbers.
pub(crate) fn new_id() -> Result<String, Error> {
    random_bytes().map(u64::from_le_bytes).map(run_name)
}

/// Returns a seed for a run whose user gave none. It is short enough to be typed again.
///
/// # Errors
///
/// The system has no random numbers.
pub fn new_seed() -> Result<u64, Error> {
    Ok(u64::from(u32::from_le_bytes(random_bytes()?)))
}

fn random_bytes<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    let flags = rustix::rand::GetRandomFlags::empty();
    match rustix::rand::getrandom(&mut bytes, flags) {
        Ok(count) if count == N => Ok(bytes),
        Ok(_) => Err(Error::failed("the system has too few random numbers")),
        Err(error) => Err(Error::failed(format!(
            "the system has no random numbers: {error}"
        ))),
    }
}
