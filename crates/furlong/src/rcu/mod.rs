//! Read-copy-update: readers that never wait, and removed objects that outlive them.
//!
//! # What it is
//!
//! Readers of a lock-free structure may still hold a piece after it was unlinked, so it cannot be
//! freed at once. Here a writer unlinks the piece and puts it into a [`Batch`] through the
//! [`RcuHead`] inside it. It hands the batch to [`Rcu::retire`], which neither allocates nor waits.
//! Once every reader that could have seen the piece has left, [`Rcu::reclaim`] calls the function
//! that frees it. The caller chooses the moment: after its lock was released, in an idle loop, at
//! the end of a system call.
//!
//! [`Rcu`] is the contract. A kernel can implement it over its own primitives (`call_rcu` and the
//! like). [`Domain`] is our own implementation, `no_std`, without allocation and without
//! thread-local storage: each reader holds a [`Reader`] that it registered. [`PerCpu`] is the same
//! for readers that are CPUs with preemption off. Ordinary safe code uses `RcuCell` (feature
//! `alloc`).
//!
//! ```
//! # #[cfg(feature = "alloc")] {
//! use furlong::rcu::{Domain, Rcu, RcuBox, RcuCell};
//!
//! static RCU: Domain = Domain::new();
//!
//! let limits = RcuCell::new(&RCU, RcuBox::new([1, 2]));
//! let reader = RCU.register().unwrap();
//!
//! let guard = reader.enter();
//! let old = limits.load(&guard);
//! limits.replace(RcuBox::new([3, 4])); // readers go on; the old value is retired
//! assert_eq!((old, limits.load(&guard)), (&[1, 2], &[3, 4]));
//! assert_eq!(RCU.poll(usize::MAX), 0); // nothing is freed yet: a reader is inside
//! drop(guard);
//! assert_eq!(RCU.poll(usize::MAX), 1);
//! # }
//! ```
//!
//! A `Domain` gives each reader a slot of its own, 128 bytes, with a *sequence*: even outside, odd
//! inside. To enter, a reader makes it odd and executes a fence; to leave, it makes it even. To
//! advance, a caller takes all retired objects, executes a fence and notes every odd sequence. The
//! grace period ends once each noted sequence has changed, in the same call or a later one. A
//! reader never reads a cache line that a writer or another reader writes. Others read its slot
//! only to advance or to test for quiet. No epoch can wrap: a sequence that wraps around to the
//! noted value only makes the grace period longer.
//!
//! Failure cases and their effects:
//!
//! | event | effect |
//! |---|---|
//! | a reader stalls inside | nothing retired since it entered is freed; retiring continues |
//! | a guard is forgotten | as above, until its [`Reader`] is dropped; with [`PerCpu`] for good |
//! | a [`Reader`] is forgotten | its slot stays taken; outside a guard it delays nothing |
//! | a thread ends or panics | its guard and its reader are dropped like all its values |
//! | a drop function retires more | allowed: retiring takes no lock |
//! | a drop function reclaims | it reclaims ready objects; keep it shallow, it is recursion |
//! | a drop function panics | the rest of the reclaim batch is dropped; a second panic aborts |
//! | [`barrier`](Rcu::barrier) inside a guard | [`Reader::barrier`] and [`PerCpu`] refuse |
//! | a retired object owns an `Arc` of its domain | neither is freed until a caller reclaims |
//! | a domain is dropped with objects pending | they are reclaimed in the drop |
//! | retired faster than reclaimed | the caller must bound it: see [`pending`](Rcu::pending) |
//!
//! # Words
//!
//! - *reader*: a thread, task or CPU that reads without a lock; *guard*: the proof that it is
//!   inside.
//! - *retire*: to hand over an object that has been unlinked; *reclaim*: to call its drop function.
//! - *grace period*: an interval in which every reader has been outside at least once.
//! - *period*: a [`Period`], a number that identifies the end of a grace period.
//! - *slot*, *sequence*: a reader's own cache lines in the domain; its count of enters and leaves.
//! - *straggler*: a reader that was inside when the grace period began and has not left since.
//! - *grace period's lock*: guards the state of the running grace period; it is only tried, never
//!   waited for.
//! - *quiet*: the state of a domain without a reader inside.
//! - *reclaim batch*: retired objects taken out for their drop functions to be called.
//!
//! # Invariants
//!
//! - I1. A slot's sequence is odd from before the first load of an outermost section until after
//!   its last load; only the slot's owner writes it.
//! - I2. An object is reclaimed only after a grace period that began after it was retired.
//! - I3. A grace period ends only when each slot was seen with an even sequence, or with a sequence
//!   other than the odd one noted after the period's fence.
//! - I4. Every head is in one chain, and each chain has one owner: a batch, the inbox, the grace
//!   period (waiting or ready) or a reclaim batch.
//! - I5. The number of pending objects equals the number of objects in inbox, grace period and
//!   reclaim batches.
//! - I6. A drop function is called with nothing of the domain held: no lock, not the grace period's
//!   either.
//! - I7. The period's number is odd exactly while a grace period runs, and never decreases.
//!
//! # Files
//!
//! - `contract`: the trait [`Rcu`], and the types that its methods return.
//! - `domain`: the domain; `reader`: its readers; `cpu`: readers that are CPUs.
//! - `slot`: a reader's cache lines, their orderings, and the storage of slots.
//! - `grace_period`: its start, its stragglers, its end.
//! - `retire`: retired objects, from the writer's batch to the calls of their drop functions.
//! - `boxed`, `cell`: the safe interface, for values on the heap.
//! - `pause`: the functions to call while a barrier waits.
//!
//! # Sources
//!
//! - P. McKenney and J. Slingwine, "Read-Copy Update: Using Execution History to Solve Concurrency
//!   Problems" (1998): the idea, and quiescent states.
//! - Linux 6.12, `kernel/rcu/tree.c` and `rcu.h`: per-CPU counters whose parity means "inside" and
//!   whose change means "was outside"; the odd and even grace-period number and its cookies
//!   (`get_state_synchronize_rcu`, `poll_state_synchronize_rcu`); `rcu_barrier`.
//! - crossbeam-epoch 0.9, `internal.rs`, and seize 0.5, `raw/collector.rs`: the places of the
//!   fences, and the treatment of forgotten guards.
//! - ISO C++20, [atomics.order] and [atomics.fences]: the rules that the arguments use.

#[cfg(feature = "alloc")]
mod boxed;
#[cfg(feature = "alloc")]
mod cell;
mod contract;
mod cpu;
mod domain;
mod grace_period;
mod pause;
mod reader;
mod retire;
mod slot;

#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(feature = "alloc")]
pub use boxed::RcuBox;
#[cfg(feature = "alloc")]
pub use cell::RcuCell;
pub use contract::{BarrierError, Period, Progress, Rcu};
pub use cpu::{CpuGuard, CurrentCpu, PerCpu};
pub use domain::{Domain, NoFreeSlot};
pub use pause::spin;
#[cfg(feature = "std")]
pub use pause::yield_now;
pub use reader::{Guard, Reader};
pub use retire::batch::Batch;
pub use retire::head::{RcuHead, ReclaimFn};
pub use slot::{ReaderSlot, SlotStore};

// Names that several modules below use.
#[cfg(feature = "alloc")]
use boxed::Block;
use grace_period::Core;
use retire::chain::Chain;
use retire::inbox::Inbox;
use retire::reclaim_batch::{Hands, ReclaimBatch};
