//! Read-copy-update: readers that never wait, and removed objects that outlive them.
//!
//! # What it is
//!
//! A structure whose readers take no lock has one question left: when may a removed piece be
//! freed? Here a writer unlinks the piece, puts it into a [`Batch`] through the [`RcuHead`] inside
//! it, and hands the batch to [`Rcu::retire`], which allocates nothing and waits for nobody. Once
//! every reader that could have seen the piece has left, [`Rcu::reclaim`] calls the function that
//! frees it, where the caller says so: after its lock was released, in an idle loop, at the end of
//! a system call.
//!
//! [`Rcu`] is the contract, for a kernel to implement over what it has (`call_rcu` and the like).
//! [`Domain`] is our own implementation, `no_std`, without allocation and without thread-local
//! storage: each reader brings a [`Reader`] that it registered. [`PerCpu`] is the same where a
//! reader is a CPU with preemption off. Users of ordinary safe code take
//! `RcuCell` (feature `alloc`).
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
//! A `Domain` works so. Each reader has a slot of its own, 128 bytes, with a *sequence*: even
//! outside, odd inside. To enter is to make it odd and to execute a fence; to leave is to make it
//! even. To advance is to take all that was retired, execute a fence, note every odd sequence, and
//! find, then or in a later call, that each noted sequence has changed. A reader never reads a
//! line that a writer or another reader writes, except where somebody advances, or asks whether it
//! is quiet, and looks at its slot. There is no epoch that could wrap: a sequence that comes round
//! to the noted value only makes the grace period longer.
//!
//! What goes wrong, and what happens then:
//!
//! | what | then |
//! |---|---|
//! | a reader stalls inside | nothing retired since it entered is freed; retiring goes on |
//! | a guard is forgotten | as above, until its [`Reader`] is dropped; with [`PerCpu`] for good |
//! | a [`Reader`] is forgotten | its slot stays taken; outside a guard it holds nothing up |
//! | a thread ends or panics | its guard and its reader are dropped like all it owns |
//! | a drop function retires more | welcome: retiring takes no lock |
//! | a drop function reclaims | it reclaims what is ready; keep it shallow, it is recursion |
//! | a drop function panics | the rest of the lot is dropped; a second panic aborts |
//! | [`barrier`](Rcu::barrier) inside a guard | [`Reader::barrier`] and [`PerCpu`] refuse |
//! | a retired object owns an `Arc` of its domain | neither ends until somebody reclaims |
//! | a domain is dropped with objects pending | they are reclaimed, there and then |
//! | retired faster than reclaimed | memory is the caller's: [`pending`](Rcu::pending) counts |
//!
//! # Words
//!
//! - *reader*: who looks without a lock; *guard*: the proof that it is inside.
//! - *retire*: to hand over an object that has been unlinked; *reclaim*: to call its drop function.
//! - *grace period*: a stretch of time in which every reader has been outside at least once.
//! - *period*: a [`Period`], the number that tells whether a grace period since some point is over.
//! - *slot*, *sequence*: a reader's own line in the domain; its count of enters and leaves.
//! - *straggler*: a reader that was inside when the grace period began and has not left since.
//! - *keeper*: the state of the grace period, worked on by one caller at a time, awaited by none.
//! - *quiet*: said of a domain at a moment when no reader is inside.
//! - *lot*: retired objects on their way to their drop functions.
//!
//! # Invariants
//!
//! - I1. A slot's sequence is odd from before the first load of an outermost section until after
//!   its last load; only the slot's owner writes it.
//! - I2. An object is reclaimed only after a grace period that began after it was retired.
//! - I3. A grace period ends only when each slot was seen with an even sequence, or with another
//!   than the odd one noted after the period's fence.
//! - I4. Every head is in one chain, and one owner has that chain: a batch, the inbox, the keeper
//!   (waiting or ready) or a lot.
//! - I5. The number of pending objects is that of the objects in inbox, keeper and lots.
//! - I6. A drop function is called with nothing of the domain taken: no lock, not the keeper.
//! - I7. The period's number is odd exactly while a grace period runs, and never goes back.
//!
//! # Files
//!
//! - `contract.rs`: the trait [`Rcu`], and what its methods return.
//! - `head.rs`: the two words inside a retired object.
//! - `chain.rs`: heads linked to each other; `batch.rs`: a chain that a writer fills.
//! - `inbox.rs`: where batches wait for the next grace period.
//! - `slot.rs`: a reader's line, its orderings, and where the slots are stored.
//! - `keeper.rs`: the grace period. `lot.rs`: calling drop functions; the barrier's last step.
//! - `domain.rs`: the domain; `reader.rs`: its readers; `cpu.rs`: readers that are CPUs.
//! - `boxed.rs`, `cell.rs`: the safe face, for values on the heap.
//! - `pause.rs`: what to do while a barrier waits.
//!
//! # Sources
//!
//! - P. McKenney and J. Slingwine, "Read-Copy Update: Using Execution History to Solve Concurrency
//!   Problems" (1998): the idea, and quiescent states.
//! - Linux 6.12, `kernel/rcu/tree.c` and `rcu.h`: per-CPU counters whose parity says "inside" and
//!   whose change says "was outside"; the odd and even grace-period number and its cookies
//!   (`get_state_synchronize_rcu`, `poll_state_synchronize_rcu`); `rcu_barrier`.
//! - crossbeam-epoch 0.9, `internal.rs`, and seize 0.5, `raw/collector.rs`: where the fences go,
//!   and what to do with guards that are forgotten.
//! - ISO C++20, [atomics.order] and [atomics.fences]: the rules that the arguments use.

mod batch;
#[cfg(feature = "alloc")]
mod boxed;
#[cfg(feature = "alloc")]
mod cell;
mod chain;
mod contract;
mod cpu;
mod domain;
mod head;
mod inbox;
mod keeper;
mod lot;
mod pause;
mod reader;
mod slot;

#[cfg(all(test, not(loom)))]
mod tests;

pub use batch::Batch;
#[cfg(feature = "alloc")]
pub use boxed::RcuBox;
#[cfg(feature = "alloc")]
pub use cell::RcuCell;
pub use contract::{BarrierError, Period, Progress, Rcu};
pub use cpu::{CpuGuard, CurrentCpu, PerCpu};
pub use domain::{Domain, NoFreeSlot};
pub use head::{RcuHead, ReclaimFn};
pub use pause::spin;
#[cfg(feature = "std")]
pub use pause::yield_now;
pub use reader::{Guard, Reader};
pub use slot::{ReaderSlot, SlotStore};
