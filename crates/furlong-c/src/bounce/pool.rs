//! The pool behind the functions.
#![forbid(unsafe_code)]

use furlong::bounce::{self, AreaFirst, Custom, LockFree, ZeroPads};

use super::memory::BounceMemory;
use super::plan::CallersCpu;

/// The standard configuration, where C says which CPU it is on.
pub(crate) type Pool =
    bounce::Pool<BounceMemory, Custom<AreaFirst, LockFree, ZeroPads, CallersCpu>>;
