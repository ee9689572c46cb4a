//! Configuration of a space: the measure, and the parameters of its tree.

use core::marker::PhantomData;

use super::{Gaps, Largest, Measure};
use crate::rbtree::{Checked, Counters, Off, Propagation, Store};

/// Type parameters of a space: the measure of the gaps below a node, and the parameters of the
/// tree.
pub trait Config: crate::rbtree::Config {
    /// Summary of the gaps below a node.
    type Measure: Measure;
}

/// The largest gap as measure, [`Checked`] propagation, no counters.
pub type Standard = Custom;

/// Any measure, any propagation and any counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Custom<M = Largest, P = Checked, K = Off>(PhantomData<(M, P, K)>);

impl<M, P: Propagation, K: Counters> crate::rbtree::Config for Custom<M, P, K> {
    type Propagation = P;
    type Counters = K;
}

impl<M: Measure, P: Propagation, K: Counters> Config for Custom<M, P, K> {
    type Measure = M;
}

/// Storage for the nodes of a space: a `Vec`, a boxed or a borrowed slice.
pub trait Storage<C: Config>: Store<Gaps<C::Measure>> {}
impl<C: Config, S: Store<Gaps<C::Measure>>> Storage<C> for S {}
