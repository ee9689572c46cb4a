//! Segments: plugged, looked at, and told what is known of them.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use furlong::addr::{Address, Pfn};
use furlong::phys::{self, Node, SegmentId};

use super::Phys;
use super::table::Locked;
use crate::answer::{Given, answer};
use crate::errno::Errno;
use crate::extent::{Extent, extent};

/// A segment as it is at a moment.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PhysSegment {
    /// Its first frame.
    pub start: u64,
    /// Its last frame.
    pub last: u64,
    /// The first frame that the page allocator may have.
    pub avail_start: u64,
    /// How many it may have from there on, 0 where it may have none.
    pub avail_len: u64,
    /// Where, counted from avail_start, the next search for contiguous pages begins.
    pub start_hint: u64,
    /// The caller's value.
    pub user: u64,
    /// Free list or NUMA node.
    pub node: u32,
}

impl From<phys::Segment> for PhysSegment {
    fn from(segment: phys::Segment) -> Self {
        let Extent { start, last } = segment.frames.into();
        Self {
            start,
            last,
            avail_start: segment.avail_start.raw(),
            avail_len: segment.avail_end.raw() - segment.avail_start.raw(),
            start_hint: segment.start_hint,
            user: segment.user,
            node: segment.node.0,
        }
    }
}

/// The segment that has a frame.
pub(crate) fn of_frame(segments: &Locked<'_>, frame: u64) -> Result<SegmentId, Errno> {
    let found = segments.find(Pfn::new(frame));
    Ok(found.ok_or(Errno::NOT_FOUND)?.0)
}

/// Writes what a segment is, if there is one.
fn tell(
    segments: &Locked<'_>,
    id: Option<SegmentId>,
    out: &mut MaybeUninit<PhysSegment>,
) -> Result<(), Errno> {
    let segment = segments.get(id.ok_or(Errno::NOT_FOUND)?)?;
    out.write(segment.into());
    Ok(())
}

/// Adds the frames from start to last as a segment, all of them available, of node 0, with user
/// value 0. Once the table has started they get descriptors, and lookups find them.
///
/// Answers 0, -EINVAL (phys is NULL, last is below start), -EFBIG (a frame beyond 2^40), -EEXIST (a
/// segment has some of the frames), -ENOSPC (there is room for 32 segments, and the table has no
/// memory) or -ENOMEM: nothing has changed.
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_plug(phys: Option<&Phys>, start: u64, last: u64) -> c_int {
    answer(|| {
        let frames = extent::<Pfn>(start, last)?;
        phys.given()?.lock().plug(frames)?;
        Ok(())
    })
}

/// The number of segments; 0 for NULL.
///
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_len(phys: Option<&Phys>) -> usize {
    phys.map_or(0, |phys| phys.lock().len())
}

/// The number of available frames that have descriptors; 0 before the table has started, and for
/// NULL.
///
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_managed(phys: Option<&Phys>) -> u64 {
    phys.map_or(0, |phys| phys.lock().managed())
}

/// Writes the segment that has frame, isolated or not, to segment.
///
/// Answers 0, -EINVAL (an argument is NULL) or -ENOENT (no segment has it).
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_get(
    phys: Option<&Phys>,
    frame: u64,
    segment: Option<&mut MaybeUninit<PhysSegment>>,
) -> c_int {
    answer(|| {
        let (segments, out) = (phys.given()?.lock(), segment.given()?);
        tell(&segments, Some(of_frame(&segments, frame)?), out)
    })
}

/// Writes the lowest segment to segment.
///
/// Answers 0, -EINVAL (an argument is NULL) or -ENOENT (there is none).
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_first(
    phys: Option<&Phys>,
    segment: Option<&mut MaybeUninit<PhysSegment>>,
) -> c_int {
    answer(|| {
        let (segments, out) = (phys.given()?.lock(), segment.given()?);
        tell(&segments, segments.first(), out)
    })
}

/// Writes the lowest segment that starts behind frame to segment: with a segment's last frame, the
/// one above it. O(log n) if a segment has the frame, else O(n).
///
/// Answers 0, -EINVAL (an argument is NULL) or -ENOENT (there is none).
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_next(
    phys: Option<&Phys>,
    frame: u64,
    segment: Option<&mut MaybeUninit<PhysSegment>>,
) -> c_int {
    answer(|| {
        let (segments, out) = (phys.given()?.lock(), segment.given()?);
        let next = match of_frame(&segments, frame) {
            Ok(id) => segments.next(id)?,
            Err(_) => {
                let mut all = segments.iter();
                let behind = all.find(|segment| frame < segment.frames.start().raw());
                behind.map(|segment| segment.id)
            }
        };
        tell(&segments, next, out)
    })
}

/// Says that of the segment that has frame the page allocator may have avail_len frames from
/// avail_start on: none if that is 0.
///
/// Answers 0, -EINVAL (phys is NULL, the frames are not all in the segment) or -ENOENT (no segment
/// has frame): nothing has changed.
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_set_avail(
    phys: Option<&Phys>,
    frame: u64,
    avail_start: u64,
    avail_len: u64,
) -> c_int {
    answer(|| {
        let mut segments = phys.given()?.lock();
        let id = of_frame(&segments, frame)?;
        let avail_end = avail_start.checked_add(avail_len).ok_or(Errno::INVALID)?;
        Ok(segments.set_avail(id, Pfn::new(avail_start), Pfn::new(avail_end))?)
    })
}

/// Sets where in the segment that has frame, counted from its first available frame, the next
/// search for contiguous pages begins.
///
/// Answers 0, -EINVAL (phys is NULL), -ENOENT (no segment has frame) or -ERANGE (the hint is beyond
/// the available frames): nothing has changed.
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_set_start_hint(phys: Option<&Phys>, frame: u64, hint: u64) -> c_int {
    answer(|| {
        let mut segments = phys.given()?.lock();
        let id = of_frame(&segments, frame)?;
        Ok(segments.set_start_hint(id, hint)?)
    })
}

/// Sets the free list or NUMA node of the segment that has frame.
///
/// Answers 0, -EINVAL (phys is NULL) or -ENOENT (no segment has frame).
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_set_node(phys: Option<&Phys>, frame: u64, node: u32) -> c_int {
    answer(|| {
        let mut segments = phys.given()?.lock();
        let id = of_frame(&segments, frame)?;
        Ok(segments.set_node(id, Node(node))?)
    })
}

/// Sets the caller's value of the segment that has frame.
///
/// Answers 0, -EINVAL (phys is NULL) or -ENOENT (no segment has frame).
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_set_user(phys: Option<&Phys>, frame: u64, user: u64) -> c_int {
    answer(|| {
        let mut segments = phys.given()?.lock();
        let id = of_frame(&segments, frame)?;
        Ok(segments.set_user(id, user)?)
    })
}
