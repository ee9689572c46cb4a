//! Changes of mapped ranges: protection, advice, flags, place and size.

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;

use furlong::addr::{Address, VirtAddr};
use furlong::vmspace::{Advice, Flags, Remap, RemapFlags, linux};

use super::Vmspace;
use super::area::flags;
use super::freed::{Report, VmspaceTake};
use super::map::last;
use crate::answer::{Given, answer, answer_in};
use crate::errno::Errno;

/// A fork does not copy the range. This and the other advices have Linux's numbers.
pub const FURLONG_VMSPACE_MADV_DONTFORK: u32 = 10;
/// A fork copies the range again.
pub const FURLONG_VMSPACE_MADV_DOFORK: u32 = 11;
/// A fork gives the child an empty copy; private anonymous memory only.
pub const FURLONG_VMSPACE_MADV_WIPEONFORK: u32 = 18;
/// A fork copies the contents again; private anonymous memory only.
pub const FURLONG_VMSPACE_MADV_KEEPONFORK: u32 = 19;

/// The range may be moved. This and the other flags have Linux's numbers.
pub const FURLONG_VMSPACE_MREMAP_MAYMOVE: u64 = 1;
/// The range is moved to the given place, and replaces all mappings there.
pub const FURLONG_VMSPACE_MREMAP_FIXED: u64 = 2;
/// The old place stays mapped, but empty.
pub const FURLONG_VMSPACE_MREMAP_DONTUNMAP: u64 = 4;

// cbindgen needs literals; they are the numbers of the library.
const _: () = {
    assert!(FURLONG_VMSPACE_MREMAP_MAYMOVE == RemapFlags::MAY_MOVE.bits() as u64);
    assert!(FURLONG_VMSPACE_MREMAP_FIXED == RemapFlags::FIXED.bits() as u64);
    assert!(FURLONG_VMSPACE_MREMAP_DONTUNMAP == RemapFlags::DONT_UNMAP.bits() as u64);
};

/// Changes the protection of len bytes from start on, as mprotect. Areas are cut at the ends of the
/// range, and merged with neighbours that are now equal. Values that are no longer used are passed
/// to freed, unless that is NULL. A length of 0 changes nothing.
///
/// Returns 0, -EINVAL (space is NULL, start is not at a page, the protection is unknown, the area
/// does not grow as prot asks), -ENOMEM (part of the range is not mapped, the limit of areas is
/// reached, or out of memory) or -EACCES (an area does not allow the protection): nothing has
/// changed.
/// Threads: exclusive, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_vmspace_protect(
    space: Option<&mut Vmspace>,
    start: u64,
    len: u64,
    prot: u64,
    freed: VmspaceTake,
    context: *mut c_void,
) -> c_int {
    answer(|| {
        let (space, report) = (space.given()?, Report::new(freed, context));
        let (start, prot) = (VirtAddr::new(start), linux::prot(prot));
        Ok(space
            .0
            .protect(start, len, prot, |item| report.take(item))?)
    })
}

/// Sets the treatment by forks of len bytes from start on, as madvise does with
/// FURLONG_VMSPACE_MADV_DONTFORK and the other advices of that kind. Otherwise as
/// furlong_vmspace_protect.
///
/// Returns 0, -EINVAL (space is NULL, start is not at a page, the end is no address, the advice is
/// unknown or does not apply to an area), -ENOMEM (part of the range is not mapped) or -EAGAIN (the
/// limit of areas is reached, or out of memory): nothing has changed.
/// Threads: exclusive, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_vmspace_advise(
    space: Option<&mut Vmspace>,
    start: u64,
    len: u64,
    advice: u32,
    freed: VmspaceTake,
    context: *mut c_void,
) -> c_int {
    answer(|| {
        let (space, report) = (space.given()?, Report::new(freed, context));
        let advice = match advice {
            FURLONG_VMSPACE_MADV_DONTFORK => Advice::DontFork,
            FURLONG_VMSPACE_MADV_DOFORK => Advice::DoFork,
            FURLONG_VMSPACE_MADV_WIPEONFORK => Advice::WipeOnFork,
            FURLONG_VMSPACE_MADV_KEEPONFORK => Advice::KeepOnFork,
            _ => return Err(Errno::INVALID),
        };
        let start = VirtAddr::new(start);
        Ok(space
            .0
            .advise(start, len, advice, |item| report.take(item))?)
    })
}

/// Clears and then sets flags of the caller's own in len bytes from start on: locked, huge pages.
/// Both are within FURLONG_VMSPACE_AREA_CALLER. Otherwise as furlong_vmspace_protect.
///
/// Returns 0, -EINVAL (space is NULL, start is not at a page, the end is no address, a flag is not
/// the caller's), -ENOMEM (part of the range is not mapped) or -EAGAIN (the limit of areas is
/// reached, or out of memory): nothing has changed.
/// Threads: exclusive, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_vmspace_update(
    space: Option<&mut Vmspace>,
    start: u64,
    len: u64,
    clear: u32,
    set: u32,
    freed: VmspaceTake,
    context: *mut c_void,
) -> c_int {
    answer(|| {
        let (space, report) = (space.given()?, Report::new(freed, context));
        let (clear, set) = (flags(clear, Flags::CALLER)?, flags(set, Flags::CALLER)?);
        let new = |old: Flags| old.without(clear) | set;
        let start = VirtAddr::new(start);
        Ok(space.0.update(start, len, new, |item| report.take(item))?)
    })
}

/// Moves or resizes a part of an area, as mremap, and writes its new first address to moved. Ranges
/// that are replaced or cut off are passed to freed, unless that is NULL. So is the moved range,
/// with its old address. new_start counts with FURLONG_VMSPACE_MREMAP_FIXED, and is a hint with
/// _DONTUNMAP alone. Moved memory keeps its offsets, anonymous memory too.
///
/// Returns 0, -EINVAL (space or moved is NULL, an address is not at a page, the flags exclude each
/// other, the new length is 0, the old and the new range overlap, a range is not in the space, an
/// old length of 0 for memory that is not shared, the object would end beyond the last offset),
/// -EFAULT (start is not mapped, the range has more than one area, or must not grow), -EPERM (the
/// new place is below the lowest address) or -ENOMEM (no room, a limit is reached, or out of
/// memory): nothing has changed.
/// Threads: exclusive, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_vmspace_remap(
    space: Option<&mut Vmspace>,
    start: u64,
    old_len: u64,
    new_len: u64,
    flags: u64,
    new_start: u64,
    moved: Option<&mut MaybeUninit<u64>>,
    freed: VmspaceTake,
    context: *mut c_void,
) -> c_int {
    answer_in(moved, || {
        let space = space.given()?;
        // Flags beyond 32 bits are as unknown as all of them at once.
        let flags = RemapFlags::from_bits(u32::try_from(flags).unwrap_or(u32::MAX));
        let remap = Remap {
            start: VirtAddr::new(start),
            old_len,
            new_len,
            flags,
            new_start: VirtAddr::new(new_start),
        };
        let page = space.0.layout().page;
        let tail = new_len.checked_next_multiple_of(page).unwrap_or(new_len);
        let ends = [
            start,
            start.saturating_add(tail),
            last(start, old_len),
            new_start,
            last(new_start, new_len),
        ];
        let report = Report::cutting(space, freed, context, ends);
        let place = space.0.remap(&remap, |item| report.take(item))?;
        Ok(place.raw())
    })
}
