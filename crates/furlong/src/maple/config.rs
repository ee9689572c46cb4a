//! The one configuration parameter of a tree.

use core::marker::PhantomData;

use super::{Counters, Geometry, Heap, Off, Source, Wide};

/// The choices that may differ between two trees.
pub trait Config: 'static {
    /// The sizes of nodes.
    type Geometry: Geometry;
    /// The memory for nodes.
    type Source: Source;
    /// The counters of work.
    type Counters: Counters;
}

/// The default: leaves of 15 slots, inner nodes of 32 children, nodes on the heap, no counters.
pub type Standard = Custom;

/// Any source with any geometry and any counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Custom<G = Wide, S = Heap, K = Off>(PhantomData<(G, S, K)>);

impl<G: Geometry, S: Source, K: Counters + 'static> Config for Custom<G, S, K> {
    type Geometry = G;
    type Source = S;
    type Counters = K;
}
