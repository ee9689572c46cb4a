//! Trees of ranges.

use std::sync::Arc;

use furlong::maple::{Custom, Fan, Heap, Standard};
use furlong::rcu::RcuBox;

use super::Held;
use crate::maple::{Mix, Model, Operation, Outcome, SharedTree, Tree, chosen};
use crate::{Bytes, Choices, Subject, compare};

/// Three slots a leaf and three children a node: few entries cause splits, merges and spanning
/// stores.
type Tiny = Custom<Fan<3, 3, 48>, Heap>;
/// An even number of leaf slots, below nodes that are wider.
type Odd = Custom<Fan<4, 5, 32>, Heap>;

/// Runs any tree over few indices or all, for one owner or with readers.
///
/// # Errors
/// The first operation with a wrong outcome, or after which an invariant is broken.
pub fn maple(bytes: &[u8]) -> Held {
    let mut choices = Bytes::new(bytes);
    match choices.below(7) {
        0 => agree(Tree::<u32, Tiny>::new(), choices),
        1 => agree(Tree::<u32, Odd>::new(), choices),
        2 => agree(Tree::<u32, Standard>::new(), choices),
        3 => agree(Tree::<Arc<u32>, Tiny>::new(), choices),
        4 => agree(SharedTree::<u32, Tiny>::new(), choices),
        5 => agree(SharedTree::<u32, Odd>::new(), choices),
        _ => agree(SharedTree::<RcuBox<u32>, Tiny>::new(), choices),
    }
}

fn agree<S>(mut tree: S, mut choices: Bytes<'_>) -> Held
where
    S: Subject<Operation = Operation, Outcome = Outcome>,
{
    // 0 stands for all indices.
    let space = choices.pick(&[60, 250, 2000, 0]);
    let mix = choices.pick(&[Mix::Growing, Mix::Steady, Mix::Shrinking]);
    let all = [Operation::Range(0, u64::MAX), Operation::LargestGap];
    let stream = chosen(space, mix, choices).chain(all);
    let compared = compare(&mut Model::new(), &mut tree, stream);
    compared.map_err(|error| format!("space {space}: {error}"))
}
