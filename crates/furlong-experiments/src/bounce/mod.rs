//! The pool of bounce buffers on its way through workloads: its slots alone, copies, and real
//! input and output.
//!
//! The pool is that of a guest that was booted with `swiotlb=512,4,force` and has grown to four
//! blocks of 1 MiB, each of four areas of 128 slots: `pool::pool`. A thread acts as a CPU of its
//! own, or as the processor that runs it, and asks the area of that number first.

mod allocator;
mod buffer;
mod copies;
mod counts;
mod course;
mod ground;
mod io;
mod lock;
mod mapper;
mod pool;
mod shape;
mod slots;
#[cfg(test)]
mod tests;
mod worker;

use furlong::bounce::{Area, Custom, Order, ZeroPads};
use furlong::sync::SpinLock;

use super::iova_magazine::ThreadCpu;
pub use allocator::{SlotAllocator, run_allocator};
use furlong_lab::model::{Failure, Outcome, Request, Workload};
pub use lock::YieldingLock;
use shape::{Kind, Shape};

/// A pool of an arm; what is off the path is as the library has it by default.
type Arm<O, A, K> = Custom<O, A, ZeroPads, ThreadCpu, SpinLock, K>;

/// Runs one sample of a workload.
///
/// # Errors
/// The workload is not known, a mapping got what another had, data came back changed, or the
/// device cannot be had.
pub fn run<O: Order, A: Area>(request: &Request) -> Result<Outcome, Failure> {
    let shape = Shape::of(&request.workload)?;
    match shape.kind {
        Kind::Slots { .. } => course::run::<O, A>(&shape, request),
        Kind::Memcpy => copies::memcpy(&shape, request),
        Kind::Copies => copies::run::<O, A>(&shape, request),
        Kind::Io(_) if request.exact => course::run::<O, A>(&shape, request),
        Kind::Io(queue) => io::run::<O, A>(&shape, queue, request),
    }
}

/// Why no arm can run a workload on this machine, if none can. What is wrong with the workload
/// itself is said when it runs.
#[must_use]
pub fn limit(workload: &Workload) -> Option<String> {
    match Shape::of(workload).ok()?.kind {
        Kind::Io(queue) => io::why_not(queue),
        _ => None,
    }
}
