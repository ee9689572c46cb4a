//! Configuration of a tree.

use core::marker::PhantomData;

use super::{Checked, Counters, Off, Propagation};

/// Type parameters of a tree, independent of its nodes.
pub trait Config {
    /// Rule for the recomputation of halves.
    type Propagation: Propagation;
    /// Work counters, or none.
    type Counters: Counters;
}

/// [`Checked`] propagation, no counters.
pub type Standard = Custom;

/// Any propagation with any counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Custom<P = Checked, K = Off>(PhantomData<(P, K)>);

impl<P: Propagation, K: Counters> Config for Custom<P, K> {
    type Propagation = P;
    type Counters = K;
}
