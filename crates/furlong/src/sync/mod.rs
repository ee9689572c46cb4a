//! Synchronisation: atomics, cells and locks for all other modules.
//!
//! # What it is
//!
//! The one place that chooses between `core` and `loom`. Code that uses [`atomic`], [`UnsafeCell`],
//! [`fence`] and [`spin_loop`] from here runs on the real types. Under `cfg(loom)` it runs on
//! loom's, where a model explores every interleaving and every value that a weak load may return.
//! The constructors are `const` only outside loom.
//!
//! It also has the locks. [`RawLock`] is implemented by the caller's lock, so that the shared
//! shells of this library can use it. [`Lock`] is a value under such a lock. [`SpinLock`] is the
//! simplest one. [`TryLock`] is only tried, never waited for. Through [`Cpu`] a kernel returns the
//! number of the current CPU.
//!
//! # Words
//!
//! - *raw lock*: a lock without a value; two methods, `lock` and `unlock`.
//! - *token*: the result of `lock`, passed back to `unlock`: saved interrupt flags, a preemption
//!   guard, or nothing.
//!
//! # Invariants
//!
//! - I1. Between the return of [`RawLock::lock`] and the call of [`RawLock::unlock`] no other
//!   `lock` of the same raw lock returns. Everything before an `unlock` happens before the return
//!   of the next `lock`.
//! - I2. A guard never leaves the thread that locked: guards are not `Send`, because a token may
//!   belong to a CPU.
//!
//! # Files
//!
//! - `atomic.rs`: atomics, fences and the spin hint, of `core` or of loom.
//! - `cell.rs`: the cell whose accesses loom tracks.
//! - `cpu.rs`: the number of the current CPU.
//! - `guard.rs`: exclusive access to a value while a lock is held.
//! - `line.rs`: padding to separate cache lines.
//! - `lock.rs`: the raw-lock trait, its guard, and a value under a lock.
//! - `serial.rs`: unique numbers.
//! - `lock_api.rs`: locks of that crate as raw locks.
//! - `spin.rs`: a spin lock.
//! - `try_lock.rs`: a lock that is never waited for.
//! - `under.rs`: a value protected by a lock elsewhere.
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

/// Defines a record, each field with its first value, and the function that makes one. That is
/// `const`, except under loom.
macro_rules! record {
    (
        $(#[$meta:meta])*
        $visible:vis struct $name:ident $(<$param:ident>)? {
            $($(#[$field_meta:meta])* $field_visible:vis $field:ident: $type:ty = $first:expr,)+
        }
        $(#[$new_meta:meta])*
        $new_visible:vis const fn $new:ident;
    ) => {
        $(#[$meta])*
        $visible struct $name $(<$param>)? {
            $($(#[$field_meta])* $field_visible $field: $type,)+
        }

        impl $(<$param>)? $name $(<$param>)? {
            $crate::sync::const_unless_loom! {
                $(#[$new_meta])*
                $new_visible const fn $new() -> Self {
                    Self { $($field: $first,)+ }
                }
            }
        }
    };
}
pub(crate) use record;

pub mod atomic;
mod cell;
mod cpu;
mod guard;
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
pub use guard::Guard;
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
