//! The configuration of a pool.
#![forbid(unsafe_code)]

use core::marker::PhantomData;

use super::{Area, AreaFirst, Counters, LockFree, Off, Order, ZeroPads, Zeroing};
use crate::sync::{Cpu, OneCpu, RawLock, SpinLock};

/// The parameters of a pool.
pub trait Config: 'static {
    /// The order in which areas are searched.
    type Order: Order;
    /// The way to share the free slots of an area.
    type Area: Area;
    /// The policy for zeroing memory.
    type Zeroing: Zeroing;
    /// Returns the current CPU, which determines the area that is searched first.
    type Cpu: Cpu + Send + Sync;
    /// The lock for the slow path: transient blocks and waiters.
    type Lock: RawLock + Default + Send + Sync;
    /// The counters.
    type Counters: Counters;

    /// Bytes of a page, a power of two of at least a slot. A run of at least a page is aligned to
    /// pages, unless its device has an alignment of its own.
    const PAGE: u64 = 4096;
}

/// Area-first, lock-free areas, zeroed pads, one CPU, no counters.
pub type Standard = Custom;

/// Any arms with any CPU, lock and counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Custom<O = AreaFirst, A = LockFree, Z = ZeroPads, U = OneCpu, L = SpinLock, K = Off>(
    PhantomData<(O, A, Z, U, L, K)>,
);

impl<O, A, Z, U, L, K> Config for Custom<O, A, Z, U, L, K>
where
    O: Order,
    A: Area,
    Z: Zeroing,
    U: Cpu + Send + Sync + 'static,
    L: RawLock + Default + Send + Sync + 'static,
    K: Counters,
{
    type Order = O;
    type Area = A;
    type Zeroing = Z;
    type Cpu = U;
    type Lock = L;
    type Counters = K;
}
