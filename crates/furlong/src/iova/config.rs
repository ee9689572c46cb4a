//! The one configuration parameter of a space.
#![forbid(unsafe_code)]

use core::marker::PhantomData;

use super::{Gaps, Measure};
use crate::rbtree::{Checked, Counters, Off, Propagation, Store};

/// What may differ between two spaces: what a node knows of the gaps below it, and the tree's own
/// seams.
pub trait Config: crate::rbtree::Config {
    /// What a node knows of the gaps below it.
    type Measure: Measure;
}

/// The largest gap, [`Checked`] propagation, nothing counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standard;

impl crate::rbtree::Config for Standard {
    type Propagation = Checked;
    type Counters = Off;
}

impl Config for Standard {
    type Measure = u64;
}

/// Any measure with any propagation and any counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Custom<M, P = Checked, K = Off>(PhantomData<(M, P, K)>);

impl<M, P: Propagation, K: Counters> crate::rbtree::Config for Custom<M, P, K> {
    type Propagation = P;
    type Counters = K;
}

impl<M: Measure, P: Propagation, K: Counters> Config for Custom<M, P, K> {
    type Measure = M;
}

/// An array of the nodes of a space: a `Vec`, a boxed or a borrowed slice.
pub trait Storage<C: Config>: Store<Gaps<C::Measure>> {}
impl<C: Config, S: Store<Gaps<C::Measure>>> Storage<C> for S {}
