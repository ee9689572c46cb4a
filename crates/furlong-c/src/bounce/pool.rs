//! The pool behind the functions.
#![forbid(unsafe_code)]

use furlong::bounce::{self, AreaFirst, Custom, LockFree, ZeroPads};

use super::memory::BounceMemory;
use super::plan::CallersCpu;

/// The standard configuration, with the CPU number from C.
pub(crate) type Pool =
    bounce::Pool<BounceMemory, Custom<AreaFirst, LockFree, ZeroPads, CallersCpu>>;
