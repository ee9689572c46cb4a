//! The allocator.

use furlong::malloc::{
    Batched, Checked, Gate, Hardening, Inlined, NoHardening, Outlined, PerCall, Secure, Tier,
};

use super::Held;
use crate::malloc::{Allocator, Model, Operation, Pages, chosen};
use crate::{Bytes, Choices, judge};

/// A memory limit, in bytes, that is short for a stream with one large block.
const SHORT: usize = 26 << 20;

/// Largest size, in bytes, of a block that is allocated in rows.
const SMALL: usize = 2048;

/// Runs any arm under four threads in turn, with few places or many and with memory that may be
/// short. At the end it frees everything and checks that nothing is in use.
///
/// # Errors
/// The first operation with a wrong outcome, or the invariant broken at the end.
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
    let mut subject = Allocator::<H, G, T>::new(places, Pages::new(limit));
    let stream = chosen(places, choices);
    let stream = stream.flat_map(|operation| rowed(operation, row, places));
    judge(&mut model, &mut subject, stream).map_err(|error| error.to_string())?;
    subject.finish()
}

/// Repeats an operation on `row` consecutive places if its block is small. So spans fill up and
/// empty within a few bytes of input.
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
