//! The one configuration parameter of a space.
#![forbid(unsafe_code)]

use core::marker::PhantomData;

use super::{Atomic, Index, Mode, Rbtree, Structure, Value};

/// What may differ between two spaces.
pub trait Config {
    /// What keeps the areas.
    type Index<A: Value>: Index<A>;
    /// What an operation over a range leaves behind where it fails in the middle.
    type Mode: Mode;
}

/// A tree of areas; an operation that fails has changed nothing; nothing is counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standard;

impl Config for Standard {
    type Index<A: Value> = <Rbtree as Structure>::Index<A>;
    type Mode = Atomic;
}

/// Any index in any mode.
#[derive(Clone, Copy, Debug, Default)]
pub struct Custom<I, M = Atomic>(PhantomData<(I, M)>);

impl<I: Structure, M: Mode> Config for Custom<I, M> {
    type Index<A: Value> = I::Index<A>;
    type Mode = M;
}
