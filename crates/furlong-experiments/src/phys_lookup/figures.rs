//! The measured values, by the plan's names.

use std::time::Duration;

use super::layout::PAGE_BITS;
use super::lookup_arm::{LookupArm, Table};

/// Bytes of 1 GiB.
const GIB: f64 = (1_u64 << 30) as f64;

/// Size of an index, and the number of frames that it covers.
pub(super) struct Index {
    bytes: usize,
    frames: u64,
}

impl Index {
    /// Measures a table's index, over the frames of its segments.
    pub(super) fn of<D, L: LookupArm>(table: &Table<D, L>) -> Self {
        let segments = table.lock();
        Self {
            bytes: segments.index_bytes(),
            frames: segments.iter().map(|segment| segment.len()).sum(),
        }
    }
}

/// The counted metrics.
pub(super) fn exact(
    indices: impl Iterator<Item = Index>,
    probes: u64,
    lookups: u64,
) -> [(&'static str, f64); 2] {
    let (bytes, frames) = indices.fold((0, 0), |(bytes, frames), index| {
        (bytes + index.bytes, frames + index.frames)
    });
    let gib = (frames << PAGE_BITS) as f64 / GIB;
    [
        ("probes_per_lookup", probes as f64 / lookups as f64),
        ("index_bytes_per_gib", bytes as f64 / gib),
    ]
}

/// The timed metric.
pub(super) fn sampled(timed: Duration, lookups: u64) -> [(&'static str, f64); 1] {
    let time = timed.as_secs_f64() * 1e9 / lookups as f64;
    [("time_ns_per_lookup", time)]
}
