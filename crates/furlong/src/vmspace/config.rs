//! The one configuration parameter of a space.

use core::marker::PhantomData;

#[cfg(doc)]
use super::Rbtree;
use super::{Atomic, Index, Maple, Mode, Structure, Value};
use crate::maple;

/// The choices that may differ between two spaces.
pub trait Config {
    /// The index of areas.
    type Index<A: Value>: Index<A>;
    /// The effect of a range operation that fails in the middle.
    type Mode: Mode;
}

/// The default: a B-tree of ranges, [`Maple`]; a failed operation changes nothing; no counters.
///
/// `Space<A, Custom<Rbtree>>` uses a red-black tree of areas, [`Rbtree`]. The guide of this module
/// says which calls take less time there. A [`Shared`](super::Shared) space always uses the B-tree.
pub type Standard = Custom;

/// The choices that may differ between two [`Shared`](super::Shared) spaces. They always use the
/// B-tree, the only index that can have readers beside a writer.
pub trait SharedConfig: 'static {
    /// The node sizes, the memory and the counters of the tree.
    type Tree: maple::Config;
    /// The effect of a range operation that fails in the middle.
    type Mode: Mode;
}

impl<T: maple::Config, M: Mode + 'static> SharedConfig for Custom<Maple<T>, M> {
    type Tree = T;
    type Mode = M;
}

/// Any index in any mode.
#[derive(Clone, Copy, Debug, Default)]
pub struct Custom<I = Maple, M = Atomic>(PhantomData<(I, M)>);

impl<I: Structure, M: Mode> Config for Custom<I, M> {
    type Index<A: Value> = I::Index<A>;
    type Mode = M;
}
