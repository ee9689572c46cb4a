//! The pool of bounce buffers under workloads: its slots alone, copies, and real input and output.
//!
//! The pool is that of a guest booted with `swiotlb=512,4,force` that has grown to four blocks of 1
//! MiB. Each block has four areas of 128 slots: see `pool::pool`. A thread acts as a CPU of its
//! own, or as the processor that runs it. It searches the area of that number first.

mod buffer;
mod copies;
mod counts;
mod driver;
mod io;
mod pools;
mod shape;
#[cfg(test)]
mod tests;
mod worker;

use pools::{allocator, lock, mapper, pool, slots, test_memory};

use furlong::bounce::{Area, Custom, Order, ZeroPads};
use furlong::sync::SpinLock;

use super::iova_magazine::ThreadCpu;
pub use allocator::{SlotAllocator, allocator_limit, run_allocator};
use furlong_lab::model::{Failure, Outcome, Request, Workload};
pub use lock::YieldingLock;
use shape::{Kind, Shape};

/// The pool of an arm; all settings that are not raced are the library's defaults.
type Arm<O, A, K> = Custom<O, A, ZeroPads, ThreadCpu, SpinLock, K>;

/// Runs one sample of a workload.
///
/// # Errors
/// The workload is not known, two mappings overlapped, data came back changed, or there is no
/// device.
pub fn run<O: Order, A: Area>(request: &Request) -> Result<Outcome, Failure> {
    let shape = Shape::of(&request.workload)?;
    match shape.kind {
        Kind::Slots | Kind::FullSlots => driver::run::<O, A>(&shape, request),
        Kind::Memcpy => copies::memcpy(&shape, request),
        Kind::Copies => copies::run::<O, A>(&shape, request),
        Kind::Io(_) if request.exact => driver::run::<O, A>(&shape, request),
        Kind::Io(medium) => io::run::<O, A>(&shape, medium, request),
    }
}

/// The reason if no arm can run a workload on this machine, otherwise `None`. A faulty workload is
/// reported when it runs.
#[must_use]
pub fn limit(workload: &Workload) -> Option<String> {
    match Shape::of(workload).ok()?.kind {
        Kind::Io(medium) => io::why_not(medium),
        _ => None,
    }
}
