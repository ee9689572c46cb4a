//! The one configuration parameter of a space.
#![forbid(unsafe_code)]

use core::marker::PhantomData;

#[cfg(doc)]
use super::Rbtree;
use super::{Atomic, Index, Maple, Mode, Structure, Value};
use crate::maple;

/// What may differ between two spaces.
pub trait Config {
    /// What keeps the areas.
    type Index<A: Value>: Index<A>;
    /// What an operation over a range leaves behind where it fails in the middle.
    type Mode: Mode;
}

/// A B-tree of ranges, [`Maple`]; an operation that fails has changed nothing; nothing is counted.
///
/// `Space<A, Custom<Rbtree>>` is over a tree of areas, [`Rbtree`]: the guide of this module says
/// which calls take less time there. A space that is [`Shared`](super::Shared) is over the B-tree,
/// whatever its configuration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standard;

impl Config for Standard {
    type Index<A: Value> = <Maple as Structure>::Index<A>;
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
