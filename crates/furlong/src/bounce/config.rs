//! The one configuration parameter of a pool.
#![forbid(unsafe_code)]

use core::marker::PhantomData;

use super::area::{Area, LockFree};
use super::counters::{Counters, Off};
use super::order::{AreaFirst, Order};
use super::zeroing::{ZeroPads, Zeroing};
use crate::sync::{Cpu, OneCpu, RawLock, SpinLock};

/// What may differ between two pools.
pub trait Config: 'static {
    /// In which order areas are asked.
    type Order: Order;
    /// How the free slots of an area are shared.
    type Area: Area;
    /// When memory is zeroed.
    type Zeroing: Zeroing;
    /// Says which CPU this is, and by it which area is asked first.
    type Cpu: Cpu + Send + Sync;
    /// The lock of what is off the path: transient blocks and those who wait.
    type Lock: RawLock + Default + Send + Sync;
    /// What is counted.
    type Counters: Counters;

    /// Bytes of a page, a power of two of at least a slot: a run of as many starts at one, unless
    /// its device says how it is to be aligned.
    const PAGE: u64 = 4096;
}

/// Area-first, lock-free areas, zeroed pads, one CPU, nothing counted.
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
