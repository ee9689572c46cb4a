//! The configuration of a table.
#![forbid(unsafe_code)]

use core::marker::PhantomData;

use super::{Direct, Lookup};
use crate::rcu::{Domain, Rcu};
use crate::sync::{RawLock, SpinLock};

/// The parameters of a table.
pub trait Config {
    /// The structure that finds a frame's segment and descriptor.
    type Lookup: Lookup;
    /// The lock between writers.
    type Lock: RawLock;
    /// The read-copy-update scheme: it tells when readers have left.
    type Rcu: Rcu;
    /// The page size is 2 to this power, in bytes.
    const PAGE_BITS: u32;
}

/// [`Direct`], a spin lock, an own domain for 64 readers, pages of 4 KiB.
pub type Standard = Custom;

/// Any lookup with any lock, any RCU and any page size.
#[derive(Clone, Copy, Debug, Default)]
pub struct Custom<L = Direct, K = SpinLock, R = Domain, const PAGE_BITS: u32 = 12>(
    PhantomData<(L, K, R)>,
);

impl<L: Lookup, K: RawLock, R: Rcu, const PAGE_BITS: u32> Config for Custom<L, K, R, PAGE_BITS> {
    type Lookup = L;
    type Lock = K;
    type Rcu = R;
    const PAGE_BITS: u32 = {
        assert!(PAGE_BITS < 64, "an address has 64 bits");
        PAGE_BITS
    };
}
