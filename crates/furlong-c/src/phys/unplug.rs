//! Unplugging: at once, or in two phases.

use core::ffi::c_int;

use furlong::addr::Pfn;
use furlong::phys::Isolated;

use super::Phys;
use super::table::Locked;
use crate::answer::{Given, answer};
use crate::errno::Errno;
use crate::extent::extent;

/// Takes the frames from start to last out: a whole segment, one of its ends, or its middle, which
/// leaves two. Their descriptors are gone.
///
/// Answers 0, -EINVAL (phys is NULL, last is below start), -ENOENT (no segment has start), -ERANGE
/// (they go beyond the segment's end), -EPERM (they are all that there is), -EALREADY (some are
/// isolated), -EBUSY (one is pinned), -EADDRINUSE (they hold bookkeeping), -EAGAIN (a reader is
/// inside), -ENOSPC (there is room for 32 segments, and the table has no memory) or -ENOMEM:
/// nothing has changed.
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_unplug(phys: Option<&Phys>, start: u64, last: u64) -> c_int {
    answer(|| {
        let frames = extent::<Pfn>(start, last)?;
        Ok(phys.given()?.lock().unplug(frames)?)
    })
}

/// The first phase: no lookup that begins from now on finds the frames from start to last. Readers
/// that are inside may still have their descriptors.
///
/// Answers as furlong_phys_unplug, but for -EBUSY and -EAGAIN; -ENXIO if the table has not started.
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_isolate(phys: Option<&Phys>, start: u64, last: u64) -> c_int {
    answer(|| {
        let frames = extent::<Pfn>(start, last)?;
        // The frames name it from now on: a token that is dropped leaves them isolated.
        drop(phys.given()?.lock().isolate(frames)?);
        Ok(())
    })
}

/// The second phase: the isolated frames among which frame is leave the table.
///
/// Answers 0, -EINVAL (phys is NULL), -ENOENT (frame is not isolated), -EAGAIN (readers are inside
/// that may have them: call again later), -EBUSY (one is pinned) or -EPERM (they are all that there
/// is): they stay isolated.
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_remove(phys: Option<&Phys>, frame: u64) -> c_int {
    answer(|| {
        let mut segments = phys.given()?.lock();
        let isolated = token(&mut segments, frame)?;
        Ok(segments.remove(isolated)?)
    })
}

/// Takes the isolated frames back among which frame is: lookups find them again.
///
/// Answers 0, -EINVAL (phys is NULL) or -ENOENT (frame is not isolated).
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_abort(phys: Option<&Phys>, frame: u64) -> c_int {
    answer(|| {
        let mut segments = phys.given()?.lock();
        let isolated = token(&mut segments, frame)?;
        Ok(segments.abort(isolated)?)
    })
}

/// What stands for the isolated frames among which this one is.
fn token(segments: &mut Locked<'_>, frame: u64) -> Result<Isolated, Errno> {
    segments.adopt(Pfn::new(frame)).ok_or(Errno::NOT_FOUND)
}
