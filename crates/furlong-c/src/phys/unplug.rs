//! Unplugging: at once, or in two phases.

use core::ffi::c_int;

use furlong::addr::Pfn;
use furlong::phys::Isolated;

use super::Phys;
use super::table::Locked;
use crate::answer::{Given, answer};
use crate::errno::Errno;
use crate::extent::extent;

/// Removes the frames from start to last, with their descriptors. They may be a whole segment, one
/// of its ends, or its middle, which leaves two segments.
///
/// Returns 0, -EINVAL (phys is NULL, last is below start), -ENOENT (no segment contains start),
/// -ERANGE (they reach beyond the segment's end), -EPERM (they are all frames of the table),
/// -EALREADY (some are isolated), -EBUSY (one is pinned), -EADDRINUSE (they hold bookkeeping),
/// -EAGAIN (a reader has entered), -ENOSPC (there are 32 segments, and the table has no memory for
/// more) or -ENOMEM: nothing has changed.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_unplug(phys: Option<&Phys>, start: u64, last: u64) -> c_int {
    answer(|| {
        let frames = extent::<Pfn>(start, last)?;
        Ok(phys.given()?.lock().unplug(frames)?)
    })
}

/// The first phase: no lookup that begins from now on finds the frames from start to last. Readers
/// that have entered may still use their descriptors.
///
/// Returns as furlong_phys_unplug, but for -EBUSY and -EAGAIN; -ENXIO if the table has not started.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_isolate(phys: Option<&Phys>, start: u64, last: u64) -> c_int {
    answer(|| {
        let frames = extent::<Pfn>(start, last)?;
        // The frames identify the range from now on: they stay isolated when the token is dropped.
        drop(phys.given()?.lock().isolate(frames)?);
        Ok(())
    })
}

/// The second phase: removes the isolated range that contains frame from the table.
///
/// Returns 0, -EINVAL (phys is NULL), -ENOENT (frame is not isolated), -EAGAIN (readers have
/// entered that may use them: call again later), -EBUSY (one is pinned) or -EPERM (they are all
/// frames of the table): they stay isolated; or -EINPROGRESS (another thread is removing them).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_remove(phys: Option<&Phys>, frame: u64) -> c_int {
    answer(|| {
        let mut segments = phys.given()?.lock();
        let isolated = token(&mut segments, frame)?;
        Ok(segments.remove(isolated)?)
    })
}

/// Cancels the isolation of the range that contains frame: lookups find its frames again.
///
/// Returns 0, -EINVAL (phys is NULL), -ENOENT (frame is not isolated) or -EINPROGRESS (another
/// thread is removing them).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_abort(phys: Option<&Phys>, frame: u64) -> c_int {
    answer(|| {
        let mut segments = phys.given()?.lock();
        let isolated = token(&mut segments, frame)?;
        Ok(segments.abort(isolated)?)
    })
}

/// The token of the isolated range that contains `frame`.
fn token(segments: &mut Locked<'_>, frame: u64) -> Result<Isolated, Errno> {
    let frame = Pfn::new(frame);
    if let Some(isolated) = segments.adopt(frame) {
        return Ok(isolated);
    }
    let is_leaving = segments.isolated().any(|frames| frames.contains(frame));
    Err(if is_leaving {
        Errno::LEAVING
    } else {
        Errno::NOT_FOUND
    })
}
