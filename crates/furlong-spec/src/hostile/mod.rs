//! The hostile caller: safe code that forgets results, panics in callbacks, re-enters and lies.
//!
//! A test gives a structure values and policies that call [`user_code`] wherever the library calls
//! the user. [`panic_at_every_call`] then runs attempts. It makes the first, second, third .. such
//! call panic until an attempt makes no further call. [`Ledger`] counts distinct attacks on
//! distinct states. `ci/hostile.sh` runs all of these tests under AddressSanitizer and adds up the
//! ledgers.
//!
//! A test must check the structure after every attack. The structure passes its `check()`, and can
//! be used and dropped. [`Tracked`] values are dropped at most once, on time, and never used
//! afterwards.
#![deny(unsafe_code)]

mod fuse;
mod ledger;
mod policies;
mod tracked;

pub use fuse::{Outcome, count_calls, panic_at, panic_at_every_call, user_code};
pub use ledger::{Ledger, thinned};
pub use policies::{Alone, Grace, Latch, Memory, Pin};
pub use tracked::{Tracked, Watch};
