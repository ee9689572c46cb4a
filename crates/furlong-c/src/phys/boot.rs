//! Boot: stolen frames, and the start of the table.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use furlong::addr::Address;
use furlong::phys::Node;

use super::Phys;
use crate::answer::{Given, answer, answer_in, put};

/// Removes an available frame of a node from the table, at the edge of a segment if possible, and
/// writes its number to frame. Page tables need such frames before there is an allocator.
///
/// Returns 0, -EINVAL (an argument is NULL), -EALREADY (the table has started), -ENOENT (the node
/// has no available frame), -EPERM (it would be the last frame of the last segment) or -ENOMEM (a
/// hole needs one more segment): nothing has changed.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_steal(
    phys: Option<&Phys>,
    node: u32,
    frame: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    answer_in(frame, || {
        let stolen = phys.given()?.lock().steal_from(&[Node(node)])?;
        Ok(stolen.raw())
    })
}

/// Ends boot: every frame gets a descriptor, and lookups find it. The number of available frames is
/// written to available, unless that is NULL.
///
/// Returns 0, -EINVAL (phys is NULL), -EALREADY (the table has started), -ENOSPC (the index has no
/// room for so many segments) or -ENOMEM: nothing has changed.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_start(
    phys: Option<&Phys>,
    available: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    answer(|| {
        put(available, phys.given()?.lock().start()?);
        Ok(())
    })
}

/// Returns 1 if the table has started, else 0; 0 for NULL.
///
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_is_started(phys: Option<&Phys>) -> c_int {
    phys.map_or(0, |phys| c_int::from(phys.lock().is_started()))
}
