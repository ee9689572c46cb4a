//! The one configuration parameter of a space.
#![forbid(unsafe_code)]

use core::marker::PhantomData;

use super::{Atomic, Index, Maple, Mode, Rbtree, Structure, Value};
use crate::maple;

/// What may differ between two spaces.
pub trait Config {
    /// What keeps the areas.
    type Index<A: Value>: Index<A>;
    /// What an operation over a range leaves behind where it fails in the middle.
    type Mode: Mode;
}

/// A tree of areas, [`Rbtree`]; an operation that fails has changed nothing; nothing is counted.
///
/// All areas are in one array, so that none is allocated by itself. `Space<A, Custom<Maple>>` is
/// over the B-tree of ranges, [`Maple`], which looks up and finds gaps in less time. A space that
/// is [`Shared`](super::Shared) is over that one, whatever its configuration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standard;

impl Config for Standard {
    type Index<A: Value> = <Rbtree as Structure>::Index<A>;
    type Mode = Atomic;
}

/// What may differ between two spaces that are [`Shared`](super::Shared): they are always over the
/// B-tree, which alone can have readers beside a writer.
pub trait SharedConfig: 'static {
    /// The sizes of its nodes, where they come from, and whether its work is counted.
    type Tree: maple::Config;
    /// What an operation over a range leaves behind where it fails in the middle.
    type Mode: Mode;
}

impl SharedConfig for Standard {
    type Tree = maple::Standard;
    type Mode = Atomic;
}

impl<T: maple::Config, M: Mode + 'static> SharedConfig for Custom<Maple<T>, M> {
    type Tree = T;
    type Mode = M;
}

/// Any index in any mode.
#[derive(Clone, Copy, Debug, Default)]
pub struct Custom<I, M = Atomic>(PhantomData<(I, M)>);

impl<I: Structure, M: Mode> Config for Custom<I, M> {
    type Index<A: Value> = I::Index<A>;
    type Mode = M;
}
