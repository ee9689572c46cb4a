//! Boot: frames that are stolen, and its end.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use furlong::addr::Address;
use furlong::phys::Node;

use super::Phys;
use crate::answer::{Given, answer, put};

/// Takes an available frame of a node out of the table, from an edge if there is one to be had, and
/// writes its number to frame: for page tables, before there is an allocator that could be asked.
///
/// Answers 0, -EINVAL (an argument is NULL), -EALREADY (the table has started), -ENOENT (the node
/// has no available frame), -EPERM (it would be the last frame of the last segment) or -ENOMEM (a
/// hole needs a further segment): nothing has changed.
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_steal(
    phys: Option<&Phys>,
    node: u32,
    frame: Option<&mut MaybeUninit<u64>>,
) -> c_int {
    answer(|| {
        let (phys, out) = (phys.given()?, frame.given()?);
        let stolen = phys.lock().steal_from(&[Node(node)])?;
        out.write(stolen.raw());
        Ok(())
    })
}

/// Ends boot: every frame gets a descriptor, and lookups find them. The number of available frames
/// is written to available, unless that is NULL.
///
/// Answers 0, -EINVAL (phys is NULL), -EALREADY (it has started), -ENOSPC (there are more segments
/// than the index has room for) or -ENOMEM: nothing has changed.
/// Threads: side by side with everything.
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

/// Whether the table has started: 1 or 0; 0 for NULL.
///
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_is_started(phys: Option<&Phys>) -> c_int {
    phys.map_or(0, |phys| c_int::from(phys.lock().is_started()))
}
