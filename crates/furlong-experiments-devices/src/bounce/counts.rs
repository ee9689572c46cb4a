//! Event counts of a pool, if it counts.
#![forbid(unsafe_code)]

use std::any::Any;
use std::ops::Sub;

use furlong::bounce::{Config, Event, Memory, Pool, Tally};

/// Event counts so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) slots: u64,
    pub(super) areas: u64,
    pub(super) waits: u64,
}

impl Counts {
    /// Reads the counts of a pool; zeros if it does not count.
    pub(super) fn of<M: Memory, C: Config>(pool: &Pool<M, C>) -> Self {
        let counters = pool.counters();
        let tally = (&counters as &dyn Any).downcast_ref::<Tally>();
        let count = |event| tally.map_or(0, |tally| tally.count_of(event));
        Self {
            slots: count(Event::SlotProbed),
            areas: count(Event::AreaProbed),
            waits: count(Event::LockWait),
        }
    }

    /// The exact metrics, as means over `maps` maps.
    pub(super) fn probes(self, maps: u64) -> [(&'static str, f64); 2] {
        let a_map = |count: u64| count as f64 / maps as f64;
        [
            ("slots_probed_per_map", a_map(self.slots)),
            ("areas_probed_per_map", a_map(self.areas)),
        ]
    }
}

impl Sub for Counts {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            slots: self.slots - before.slots,
            areas: self.areas - before.areas,
            waits: self.waits - before.waits,
        }
    }
}
