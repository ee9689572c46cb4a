//! The smallest sequence of operations whose last answer is wrong.

use std::panic::{AssertUnwindSafe, catch_unwind};

use furlong_peers::iova::{Bluntly, Peer, PeerSubject};
use furlong_spec::iova::{Geometry, Operation, Outcome};
use furlong_spec::{Judge, Subject};

/// A sequence whose last answer is wrong.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wrong {
    /// The whole sequence.
    pub(crate) operations: Vec<Operation>,
    /// The last answer; `None` if the peer panicked.
    pub(crate) found: Option<Outcome>,
    /// An answer that would have been allowed.
    pub(crate) expected: Outcome,
}

/// The first of the shortest sequences over `alphabet` in which a peer gives a wrong answer or
/// panics; `None` if there is none of at most `longest` operations.
pub(crate) fn smallest<P: Peer>(
    space: Geometry,
    alphabet: &[Operation],
    longest: u32,
) -> Option<Wrong> {
    let base = alphabet.len();
    (1..=longest).find_map(|len| {
        (0..base.pow(len)).find_map(|number| {
            let digit = |place: u32| number / base.pow(len - 1 - place) % base;
            let operations = (0..len).map(|place| alphabet[digit(place)].clone());
            run::<P>(space, operations.collect())
        })
    })
}

/// Runs a sequence, in which only the last answer may be wrong.
fn run<P: Peer>(space: Geometry, operations: Vec<Operation>) -> Option<Wrong> {
    let mut peer = PeerSubject::<P>::new(space).expect("the peer can have the space");
    let mut model = Bluntly::new(space);
    for (step, operation) in operations.iter().enumerate() {
        let found = catch_unwind(AssertUnwindSafe(|| peer.apply(operation))).ok();
        let wrong = match &found {
            Some(found) => model.judge(operation, found).err(),
            None => Some(model.apply(operation)),
        };
        if let Some(expected) = wrong {
            let is_last = step + 1 == operations.len();
            return is_last.then_some(Wrong {
                operations,
                found,
                expected,
            });
        }
    }
    None
}
