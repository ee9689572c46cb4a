//! The one configuration parameter of a tree.
#![forbid(unsafe_code)]

use core::marker::PhantomData;

use super::{Checked, Counters, Off, Propagation};

/// What may differ between two trees over the same nodes.
pub trait Config {
    /// When halves are recomputed.
    type Propagation: Propagation;
    /// Whether work is counted.
    type Counters: Counters;
}

/// [`Checked`] propagation, nothing counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standard;

impl Config for Standard {
    type Propagation = Checked;
    type Counters = Off;
}

/// Any propagation with any counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Custom<P, K = Off>(PhantomData<(P, K)>);

impl<P: Propagation, K: Counters> Config for Custom<P, K> {
    type Propagation = P;
    type Counters = K;
}
