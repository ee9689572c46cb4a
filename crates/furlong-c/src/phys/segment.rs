//! Segments: plugging, queries, and attributes.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use furlong::addr::{Address, Pfn};
use furlong::phys::{self, Node, SegmentId};

use super::Phys;
use super::table::Locked;
use crate::answer::{Given, answer, answer_in};
use crate::errno::Errno;
use crate::extent::{Extent, extent};

/// The state of a segment at one moment.
#[repr(C)]
pub struct PhysSegment {
    /// Its first frame.
    pub start: u64,
    /// Its last frame.
    pub last: u64,
    /// The first frame that the page allocator may use.
    pub avail_start: u64,
    /// The number of frames from there on that it may use; 0 for none.
    pub avail_len: u64,
    /// The start of the next search for contiguous pages, counted from avail_start.
    pub start_hint: u64,
    /// The caller's value.
    pub user: u64,
    /// The free list or NUMA node.
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

/// The segment that contains a frame.
pub(crate) fn of_frame(segments: &Locked<'_>, frame: u64) -> Result<SegmentId, Errno> {
    let found = segments.find(Pfn::new(frame));
    Ok(found.ok_or(Errno::NOT_FOUND)?.0)
}

/// Writes the state of a segment, if there is one.
fn tell(segments: &Locked<'_>, id: Option<SegmentId>) -> Result<PhysSegment, Errno> {
    Ok(segments.get(id.ok_or(Errno::NOT_FOUND)?)?.into())
}

/// Adds the frames from start to last as a segment, all of them available, with node 0 and user
/// value 0. After the start of the table they get descriptors, and lookups find them.
///
/// Returns 0, -EINVAL (phys is NULL, last is below start), -EFBIG (a frame beyond 2^40), -EEXIST
/// (another segment contains some of the frames), -ENOSPC (there are 32 segments, and the table has
/// no memory for more) or -ENOMEM: nothing has changed.
/// Threads: concurrent.
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
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_len(phys: Option<&Phys>) -> usize {
    phys.map_or(0, |phys| phys.lock().len())
}

/// The number of available frames that have descriptors; 0 before the start of the table, and for
/// NULL.
///
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_managed(phys: Option<&Phys>) -> u64 {
    phys.map_or(0, |phys| phys.lock().managed())
}

/// Writes the segment that contains frame, isolated or not, to segment.
///
/// Returns 0, -EINVAL (an argument is NULL) or -ENOENT (no segment contains it).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_get(
    phys: Option<&Phys>,
    frame: u64,
    segment: Option<&mut MaybeUninit<PhysSegment>>,
) -> c_int {
    answer_in(segment, || {
        let segments = phys.given()?.lock();
        tell(&segments, Some(of_frame(&segments, frame)?))
    })
}

/// Writes the lowest segment to segment.
///
/// Returns 0, -EINVAL (an argument is NULL) or -ENOENT (there is none).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_first(
    phys: Option<&Phys>,
    segment: Option<&mut MaybeUninit<PhysSegment>>,
) -> c_int {
    answer_in(segment, || {
        let segments = phys.given()?.lock();
        tell(&segments, segments.first())
    })
}

/// Writes the lowest segment that starts behind frame to segment. Given the last frame of a
/// segment, that is the next one. O(log n) if a segment contains the frame, else O(n).
///
/// Returns 0, -EINVAL (an argument is NULL) or -ENOENT (there is none).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_next(
    phys: Option<&Phys>,
    frame: u64,
    segment: Option<&mut MaybeUninit<PhysSegment>>,
) -> c_int {
    answer_in(segment, || {
        let segments = phys.given()?.lock();
        let next = match of_frame(&segments, frame) {
            Ok(id) => segments.next(id)?,
            Err(_) => {
                let mut all = segments.iter();
                let behind = all.find(|segment| frame < segment.frames.start().raw());
                behind.map(|segment| segment.id)
            }
        };
        tell(&segments, next)
    })
}

/// Sets the frames that the page allocator may use in the segment that contains frame: avail_len
/// frames from avail_start on, or none if avail_len is 0.
///
/// Returns 0, -EINVAL (phys is NULL, the frames are not all in the segment) or -ENOENT (no segment
/// contains frame): nothing has changed.
/// Threads: concurrent.
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
        let start = if avail_len == 0 { frame } else { avail_start };
        let end = start.checked_add(avail_len).ok_or(Errno::INVALID)?;
        Ok(segments.set_avail(id, Pfn::new(start), Pfn::new(end))?)
    })
}

/// Sets the start of the next search for contiguous pages in the segment that contains frame,
/// counted from its first available frame.
///
/// Returns 0, -EINVAL (phys is NULL), -ENOENT (no segment contains frame) or -ERANGE (the hint is
/// beyond the available frames): nothing has changed.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_set_start_hint(phys: Option<&Phys>, frame: u64, hint: u64) -> c_int {
    answer(|| {
        let mut segments = phys.given()?.lock();
        let id = of_frame(&segments, frame)?;
        Ok(segments.set_start_hint(id, hint)?)
    })
}

/// Sets the free list or NUMA node of the segment that contains frame.
///
/// Returns 0, -EINVAL (phys is NULL) or -ENOENT (no segment contains frame).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_set_node(phys: Option<&Phys>, frame: u64, node: u32) -> c_int {
    answer(|| {
        let mut segments = phys.given()?.lock();
        let id = of_frame(&segments, frame)?;
        Ok(segments.set_node(id, Node(node))?)
    })
}

/// Sets the caller's value of the segment that contains frame.
///
/// Returns 0, -EINVAL (phys is NULL) or -ENOENT (no segment contains frame).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_set_user(phys: Option<&Phys>, frame: u64, user: u64) -> c_int {
    answer(|| {
        let mut segments = phys.given()?.lock();
        let id = of_frame(&segments, frame)?;
        Ok(segments.set_user(id, user)?)
    })
}
