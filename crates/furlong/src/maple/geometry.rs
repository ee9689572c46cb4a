//! How many slots a leaf has, how many children an inner node, and how high a tree may grow.
#![forbid(unsafe_code)]

use core::fmt::Debug;

mod sealed {
    pub trait Sealed {}
}

/// A row of `T`s of a length that the geometry says.
pub trait Row<T>: sealed::Sealed {
    /// A row of what `make` gives for each index.
    fn from_fn(make: impl FnMut(usize) -> T) -> Self;
    /// All of it.
    fn as_slice(&self) -> &[T];
    /// All of it, to be changed.
    fn as_mut_slice(&mut self) -> &mut [T];
}

impl<T, const N: usize> sealed::Sealed for [T; N] {}

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

/// The sizes of a tree's nodes: [`Fan`] has them all.
pub trait Geometry: sealed::Sealed + Debug + 'static {
    /// A row as long as a leaf has slots.
    type Leaf<T>: Row<T>;
    /// A row as long as an inner node has children.
    type Inner<T>: Row<T>;
    /// A row as long as a tree may have levels of inner nodes.
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
/// The tests use three slots and three children, where splits, merges and spanning stores happen at
/// once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fan<const LEAF: usize, const INNER: usize, const DEPTH: usize>;

/// 15 slots a leaf, which is 384 bytes, and 32 children an inner node.
pub type Wide = Fan<15, 32, 12>;

impl<const L: usize, const I: usize, const D: usize> sealed::Sealed for Fan<L, I, D> {}

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
        assert!(1 <= D && D <= 64, "a tree has a root");
        D
    };
}

/// A node with fewer is merged with a sibling where that leaves room.
pub(super) const fn least(capacity: usize) -> usize {
    let third = capacity.div_ceil(3);
    if third < 2 { 2 } else { third }
}

/// What stays free in a node that takes over from a sibling, so that the next entry does not split
/// it again.
pub(super) const fn spare(capacity: usize) -> usize {
    capacity / 5
}
