//! The hostile caller: safe code that forgets results, panics in callbacks, re-enters and lies.
//!
//! A test gives a structure values and policies that call [`user_code`] wherever the library calls
//! the user. [`panic_at_every_call`] then runs one attempt after another, and makes the first,
//! second, third .. such call panic until an attempt needs no more calls. [`Ledger`] counts the
//! distinct attacks on distinct states; `ci/hostile.sh` runs all of these tests
//! under AddressSanitizer and adds the ledgers up.
//!
//! After every attack a test must look: the structure passes its `check()`, can be used and
//! dropped, and [`Tracked`] values are dropped at most once, on time, and never used afterwards.
#![deny(unsafe_code)]

mod fuse;
mod ledger;
mod policies;
mod tracked;

pub use fuse::{Outcome, count_calls, panic_at, panic_at_every_call, user_code};
pub use ledger::Ledger;
pub use policies::{Alone, Grace, Latch, Memory, Pin};
pub use tracked::{Tracked, Watch};
