//! Sizes: slots of a leaf, children of an inner node, levels of a tree.

use core::fmt::Debug;

use crate::forms::Sealed;

/// A row of `T`s with a length that the geometry sets.
pub trait Row<T>: Sealed {
    /// A row of the results of `make` for each index.
    fn from_fn(make: impl FnMut(usize) -> T) -> Self;
    /// All elements.
    fn as_slice(&self) -> &[T];
    /// All elements, mutable.
    fn as_mut_slice(&mut self) -> &mut [T];
}

impl<T, const N: usize> Sealed for [T; N] {}

impl<T, const N: usize> Row<T> for [T; N] {
    #[inline(always)]
    fn from_fn(make: impl FnMut(usize) -> T) -> Self {
        core::array::from_fn(make)
    }

    #[inline(always)]
    fn as_slice(&self) -> &[T] {
        self
    }

    #[inline(always)]
    fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }
}

/// The sizes of a tree's nodes, implemented by [`Fan`].
pub trait Geometry: Sealed + Debug + 'static {
    /// A row with one element for each slot of a leaf.
    type Leaf<T>: Row<T>;
    /// A row with one element for each child of an inner node.
    type Inner<T>: Row<T>;
    /// A row with one element for each level of inner nodes that a tree may have.
    type Path<T>: Row<T>;

    /// Slots of a leaf.
    const LEAF: usize;
    /// Children of an inner node.
    const INNER: usize;
    /// Levels of inner nodes.
    const DEPTH: usize;
}

/// `LEAF` slots, 3 to 16; `INNER` children, 3 to 255; `DEPTH` levels above the leaves.
///
/// A change that would make the tree higher is refused as out of memory. So no path from the root
/// is ever longer than `DEPTH`. The geometry must allow at least 2^32 leaves when all nodes are
/// half full, or it does not compile:
/// ```compile_fail,E0080
/// use furlong::addr::VirtAddr;
/// use furlong::maple::{Custom, Fan, Heap, Maple};
///
/// let map: Maple<VirtAddr, u32, Custom<Fan<3, 3, 1>, Heap>> = Maple::with_config();
/// ```
///
/// The tests use three slots and three children, so that splits, merges and spanning stores happen
/// with few entries.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fan<const LEAF: usize, const INNER: usize, const DEPTH: usize>;

/// 15 slots in a leaf, which makes 384 bytes, and 32 children in an inner node.
pub type Wide = Fan<15, 32, 12>;

impl<const L: usize, const I: usize, const D: usize> Sealed for Fan<L, I, D> {}

impl<const L: usize, const I: usize, const D: usize> Geometry for Fan<L, I, D> {
    type Leaf<T> = [T; L];
    type Inner<T> = [T; I];
    type Path<T> = [T; D];

    const LEAF: usize = {
        assert!(
            3 <= L && L <= 16,
            "a store adds two slots; kinds have 32 bits"
        );
        L
    };
    const INNER: usize = {
        assert!(3 <= I && I <= 255, "a split can give three nodes");
        I
    };
    const DEPTH: usize = {
        assert!(D <= 64, "a way down is kept on the stack");
        assert!(
            half_full(I, D) >= LEAVES_MIN,
            "a tree has room for 2^32 leaves"
        );
        D
    };
}

/// The number of leaves for which every geometry must have room.
const LEAVES_MIN: u64 = 1 << 32;

/// The number of leaves of a tree with `depth` levels of nodes that are half full.
const fn half_full(inner: usize, depth: usize) -> u64 {
    let mut leaves: u64 = 1;
    let mut level = 0;
    while level < depth {
        leaves = leaves.saturating_mul(inner.div_ceil(2) as u64);
        level += 1;
    }
    leaves
}

/// A node with fewer entries is merged with a sibling that has room for them.
pub(crate) const fn least(capacity: usize) -> usize {
    let third = capacity.div_ceil(3);
    if third < 2 { 2 } else { third }
}

/// The places that stay free in a node that takes over from a sibling, so that the next entry does
/// not split it again.
pub(crate) const fn spare(capacity: usize) -> usize {
    capacity / 5
}

#[cfg(all(test, feature = "alloc", not(loom)))]
mod tests {
    use alloc::vec::Vec;

    use super::{Geometry, Sealed, half_full};
    use crate::addr::{Extent, VirtAddr};
    use crate::check::Check;
    use crate::maple::{
        BulkError, Custom, Heap, InsertError, Maple, NoMemory, NotEnough, RcuMaple, Reservation,
    };
    use crate::rcu::Domain;
    use crate::sync::SpinLock;

    /// A tree of three levels at most.
    #[derive(Debug)]
    struct Low;

    impl Sealed for Low {}

    impl Geometry for Low {
        type Leaf<T> = [T; 3];
        type Inner<T> = [T; 3];
        type Path<T> = [T; 2];

        const LEAF: usize = 3;
        const INNER: usize = 3;
        const DEPTH: usize = 2;
    }

    type Map = Maple<VirtAddr, u32, Custom<Low, Heap>>;
    type Beside = RcuMaple<VirtAddr, u32, Domain, SpinLock, Custom<Low, Heap>>;

    fn at(index: u64) -> Extent<VirtAddr> {
        Extent::from_len(VirtAddr::new(10 * index), 5).unwrap()
    }

    /// The first forty indices: ascending, descending, and from the ends to the middle.
    fn orders() -> [Vec<u64>; 3] {
        let (up, down) = (1..41, (1..41).rev());
        let inwards = up.clone().zip(down.clone()).flat_map(|(a, b)| [a, b]);
        [up.collect(), down.collect(), inwards.take(40).collect()]
    }

    #[test]
    fn half_full_nodes_multiply_by_half_a_node_a_level() {
        assert_eq!([0, 1, 2, 5].map(|depth| half_full(3, depth)), [1, 2, 4, 32]);
        assert_eq!(half_full(16, 3), 512);
        assert_eq!(half_full(16, 100), u64::MAX);
    }

    #[test]
    fn a_tree_that_is_as_high_as_it_may_be_refuses_what_would_make_it_higher() {
        for order in orders() {
            let mut map = Map::with_config();
            let mut inserted = Vec::new();
            for index in order {
                match map.insert(at(index), 7) {
                    Ok(()) => inserted.push(index),
                    Err(InsertError::NoMemory { .. }) => assert!(map.view().levels() == 3),
                    Err(occupied) => panic!("{occupied:?}"),
                }
                assert_eq!(map.check(), Ok(()));
                assert_eq!(map.len(), inserted.len());
            }
            assert!((6..=27).contains(&inserted.len()), "{}", inserted.len());
            assert_eq!(map.prepare(1), Err(NoMemory));
            assert_eq!(map.prepare(0), Ok(()));
            for index in inserted {
                assert!(map.erase(at(index).start()).unwrap().is_some());
                assert_eq!(map.check(), Ok(()));
            }
            map.insert(at(1), 7).expect("there is room again");
        }
    }

    #[test]
    fn a_tree_that_may_be_one_level_higher_is_prepared_for_a_change() {
        let mut map = Map::with_config();
        for index in 1..=4 {
            map.insert(at(index), 7).expect("there is room");
        }
        assert_eq!((map.view().levels(), map.prepare(1)), (2, Ok(())));
    }

    #[test]
    fn a_tree_beside_readers_that_is_as_high_as_it_may_be_refuses_what_would_make_it_higher() {
        for order in orders() {
            let map = Beside::with_config(Domain::new(), SpinLock::new());
            let mut inserted = 0;
            for index in order {
                inserted += usize::from(map.lock().insert(at(index), 7).is_ok());
                assert_eq!(map.check(), Ok(()));
                assert_eq!(map.lock().view().len(), inserted);
            }
            assert!((6..=27).contains(&inserted), "{inserted}");
            assert_eq!(map.lock_prepared(1).err(), Some(NoMemory));
            let mut nodes = Reservation::new(9, 1).expect("there is memory");
            assert_eq!(
                map.lock().supply(&mut nodes, 1),
                Err(NotEnough { levels: 3 })
            );
            assert_eq!(map.lock().supply(&mut nodes, 0), Ok(()));
            let over = Extent::from_len(VirtAddr::new(0), 1 << 20).unwrap();
            drop(map.lock().store(over, 9).expect("it makes the tree lower"));
            assert_eq!(map.check(), Ok(()));
        }
    }

    #[test]
    fn more_sorted_entries_than_a_tree_has_room_for_are_refused() {
        // Two entries a leaf and two children a node.
        for len in 0..20 {
            let entries = (1..=len).map(|index| (at(index), 7));
            match Map::from_sorted(entries) {
                Ok(map) => {
                    assert!(len <= 8);
                    assert_eq!((map.check(), map.len() as u64), (Ok(()), len));
                }
                Err(refused) => {
                    assert!(len > 8);
                    assert_eq!(refused, BulkError::NoMemory(at(9), 7));
                }
            }
        }
    }
}
