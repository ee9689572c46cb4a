//! What several threads share: atomics, cells and locks, for everything above.
//!
//! # What it is
//!
//! The one place that says `core` or `loom`. Code that uses [`atomic`], [`UnsafeCell`], [`fence`]
//! and [`spin_loop`] from here runs on the real types, and under `--cfg loom` on loom's, where a
//! model explores every interleaving and every value that a weak load may return. Only outside
//! loom are the constructors `const`.
//!
//! Beside them the locks: [`RawLock`], which the caller's lock implements so that the shared shells
//! of this library can run under it, [`Lock`], a value under such a lock, [`SpinLock`], the
//! simplest one, and [`TryLock`], which is taken or found taken but never waited for. And [`Cpu`],
//! by which a kernel says where it runs.
//!
//! # Words
//!
//! - *raw lock*: a lock without a value; two methods, `lock` and `unlock`.
//! - *token*: what `lock` returns and `unlock` takes back: saved interrupt flags, a preemption
//!   guard, or nothing.
//!
//! # Invariants
//!
//! - I1. Between the return of [`RawLock::lock`] and the call of [`RawLock::unlock`] no other
//!   `lock` of the same raw lock returns; what happened before an `unlock` happened before the
//!   return of the next `lock`.
//! - I2. A guard never leaves the thread that locked: guards are not `Send`, because a token may
//!   belong to a CPU.
//!
//! # Files
//!
//! - `atomic.rs`: atomics, fences and the spin hint, of `core` or of loom.
//! - `cell.rs`: the cell whose accesses loom sees.
//! - `cpu.rs`: on which CPU a caller is.
//! - `line.rs`: cache lines of one's own.
//! - `lock.rs`: the raw-lock trait, its guard, and a value under a lock.
//! - `serial.rs`: numbers that tell things apart.
//! - `lock_api.rs`: locks of that crate as raw locks.
//! - `spin.rs`: a lock that spins.
//! - `try_lock.rs`: a lock that is never waited for.
//! - `under.rs`: a value under a lock that another structure has.
//!
//! # Sources
//!
//! The shape of the facade follows loom's own advice (crate `loom` 0.7, section "Handling Loom API
//! differences").

/// Defines a function that is `const`, except under loom, whose types have no `const` constructors.
macro_rules! const_unless_loom {
    ($(#[$meta:meta])* $vis:vis const fn $name:ident($($arg:tt)*) -> $out:ty $body:block) => {
        #[cfg(not(loom))]
        $(#[$meta])*
        $vis const fn $name($($arg)*) -> $out $body

        #[cfg(loom)]
        $(#[$meta])*
        $vis fn $name($($arg)*) -> $out $body
    };
}
pub(crate) use const_unless_loom;

pub mod atomic;
mod cell;
mod cpu;
#[cfg(target_has_atomic = "64")]
mod line;
mod lock;
#[cfg(all(feature = "lock_api", not(loom)))]
mod lock_api;
mod serial;
mod spin;
mod try_lock;
#[cfg(feature = "alloc")]
mod under;

#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(all(feature = "lock_api", not(loom)))]
pub use self::lock_api::LockApi;
pub use atomic::{compiler_fence, fence, spin_loop};
pub use cell::{MutPtr, UnsafeCell};
pub use cpu::{Cpu, OneCpu};
#[cfg(target_has_atomic = "64")]
pub(crate) use line::{LINE, Padded};
pub use lock::{Held, Lock, LockGuard, RawLock};
pub(crate) use serial::serial;
#[cfg(target_has_atomic = "64")]
pub(crate) use serial::unique;
pub use spin::SpinLock;
pub use try_lock::{TryGuard, TryLock};
#[cfg(feature = "alloc")]
pub use under::Lent;
#[cfg(feature = "alloc")]
pub(crate) use under::Under;
