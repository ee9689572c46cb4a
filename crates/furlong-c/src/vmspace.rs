//! Address spaces of processes, with the calls and the error numbers of Linux.

pub mod area;
pub mod brk;
pub mod change;
pub mod fork;
pub mod freed;
pub mod layout;
pub mod map;
mod word;

use alloc::boxed::Box;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;

use furlong::check::Check;
use furlong::vmspace::{Layout, Prot, Space};

use self::freed::{Report, VmspaceTake};
use self::layout::VmspaceLayout;
use self::word::Word;
use crate::answer::{Given, answer, answer_in};
use crate::errno::Errno;
use crate::handle::boxed;

/// The areas of an address space: mapped ranges, each with its protection and a value of the
/// caller.
///
/// It does the bookkeeping of mmap, munmap, mprotect, mremap, brk, madvise, fork and of faults. It
/// refuses the same calls as Linux 6.12, with the same numbers. Page tables and files belong to the
/// caller. An address that is not a multiple of the page size is refused where Linux refuses it,
/// and lengths are rounded up to whole pages.
///
/// The value of an area is 64 bits, such as an index or an address, which the space does not
/// interpret. Neighbours merge if their values, protections and flags are equal and their offsets
/// continue.
pub struct Vmspace(Space<Word>);

/// Makes an empty space. layout may be NULL: Linux on x86-64, see furlong_vmspace_layout.
///
/// Returns 0, -EINVAL (space is NULL, the layout is invalid) or -ENOMEM.
/// Threads: any thread.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_vmspace_create(
    space: Option<&mut MaybeUninit<Box<Vmspace>>>,
    layout: Option<&VmspaceLayout>,
) -> c_int {
    answer_in(space, || {
        let layout = layout.map_or(Ok(Layout::LINUX_X86_64), VmspaceLayout::read)?;
        boxed(Vmspace(Space::new(layout)?))
    })
}

/// Destroys a space; NULL is ignored. Its areas are not reported: call furlong_vmspace_clear before
/// for that.
///
/// Threads: exclusive; the space must not be used afterwards.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_vmspace_destroy(space: Option<Box<Vmspace>>) {
    drop(space);
}

/// Unmaps everything and resets the break, as execve does. freed may be NULL.
///
/// Returns 0, or -EINVAL (space is NULL).
/// Threads: exclusive, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_vmspace_clear(
    space: Option<&mut Vmspace>,
    freed: VmspaceTake,
    context: *mut c_void,
) -> c_int {
    answer(|| {
        let report = Report::new(freed, context);
        space.given()?.0.clear(|item| report.take(item));
        Ok(())
    })
}

/// The number of areas; 0 for NULL.
///
/// Threads: read-only.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_vmspace_len(space: Option<&Vmspace>) -> usize {
    space.map_or(0, |space| space.0.len())
}

/// The number of mapped pages that allow all accesses in prot: all mapped pages if prot is 0; 0 for
/// NULL.
///
/// Threads: read-only.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_vmspace_pages(space: Option<&Vmspace>, prot: u32) -> u64 {
    space.map_or(0, |space| space.0.usage().allowing(Prot::from_bits(prot)))
}

/// Obtains memory, so that so many changes need none. furlong_vmspace_map and _mmap make at most 2,
/// _remap 4, _unmap and _set_brk 1, and _protect, _advise and _update one for each area in the
/// range.
///
/// Returns 0, -EINVAL (space is NULL) or -ENOMEM.
/// Threads: exclusive, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_vmspace_prepare(space: Option<&mut Vmspace>, changes: usize) -> c_int {
    answer(|| Ok(space.given()?.0.prepare(changes)?))
}

/// Checks all invariants of the space, which only a defect or a stray write can break.
///
/// Returns 0, -EINVAL (space is NULL) or -ENOTRECOVERABLE (one is broken).
/// Threads: read-only.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_vmspace_check(space: Option<&Vmspace>) -> c_int {
    answer(|| space.given()?.0.check().map_err(|_| Errno::BROKEN))
}
