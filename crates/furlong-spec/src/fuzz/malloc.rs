//! The allocator.
#![forbid(unsafe_code)]

use furlong::malloc::{
    Batched, Checked, Gate, Hardening, Inlined, NoHardening, Outlined, PerCall, Secure, Tier,
};

use super::Held;
use crate::malloc::{Allocator, Model, Operation, chosen};
use crate::{Bytes, Choices, judge};

/// Bytes that are short for a stream with a large block in it.
const SHORT: usize = 26 << 20;

/// Blocks of more bytes come one at a time.
const SMALL: usize = 2048;

/// Any arm under four threads in turn, with few places or many, and with memory that may be short;
/// at the end everything is freed, and nothing may be in use.
///
/// # Errors
/// The first operation that is answered wrongly, or what is broken at the end.
pub fn malloc(bytes: &[u8]) -> Held {
    let mut choices = Bytes::new(bytes);
    match choices.below(5) {
        0 => agree::<Checked, Inlined, Batched>(choices),
        1 => agree::<NoHardening, Inlined, Batched>(choices),
        2 => agree::<Secure, Inlined, Batched>(choices),
        3 => agree::<Checked, Outlined, Batched>(choices),
        _ => agree::<Checked, Inlined, PerCall>(choices),
    }
}

fn agree<H: Hardening, G: Gate, T: Tier>(mut choices: Bytes<'_>) -> Held {
    let places = choices.pick(&[4, 24, 200]);
    let row = choices.pick(&[1, 1, 50]).min(places);
    let limit = choices.pick(&[usize::MAX, usize::MAX, SHORT]);
    let mut model = Model::new(places, limit < usize::MAX).sealed(H::SCRUB);
    let mut subject = Allocator::<H, G, T>::new(places, limit);
    let stream = chosen(places, choices);
    let stream = stream.flat_map(|operation| rowed(operation, row, places));
    judge(&mut model, &mut subject, stream).map_err(|error| error.to_string())?;
    subject.finish()
}

/// The operation on so many places in a row, where it is about a small block: spans fill up and
/// empty within few bytes of input.
fn rowed(operation: Operation, row: usize, places: usize) -> impl Iterator<Item = Operation> {
    (0..row).map_while(move |more| {
        let mut operation = operation;
        match &mut operation {
            Operation::Allocate { size, .. } if *size > SMALL && more > 0 => return None,
            Operation::Allocate { place, .. }
            | Operation::Look(place)
            | Operation::Free(place)
            | Operation::FreeSized(place) => *place = (*place + more) % places,
            _ if more > 0 => return None,
            _ => {}
        }
        Some(operation)
    })
}
