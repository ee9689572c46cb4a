//! The heap and its break.

use core::ffi::{c_int, c_void};

use furlong::addr::{Address, VirtAddr};

use super::Vmspace;
use super::freed::{Report, VmspaceTake};
use super::word::Word;
use crate::answer::{Given, answer};

/// Sets the start of the heap, as a loader does; the heap is empty. Nothing is unmapped.
///
/// Returns 0, or -EINVAL (space is NULL).
/// Threads: exclusive, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_vmspace_start_brk(space: Option<&mut Vmspace>, start: u64) -> c_int {
    answer(|| {
        space.given()?.0.start_brk(VirtAddr::new(start));
        Ok(())
    })
}

/// The end of the heap; 0 for NULL. Linux's brk returns it, after success and after failure.
///
/// Threads: read-only.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_vmspace_brk(space: Option<&Vmspace>) -> u64 {
    space.map_or(0, |space| space.0.brk().raw())
}

/// Moves the end of the heap to end. New memory may be read and written, and has the value. A range
/// that the heap loses is passed to freed, unless that is NULL, and so is the value, if no new area
/// has it.
///
/// Returns 0, -EINVAL (space is NULL) or -ENOMEM (end is below the start of the heap or not in the
/// space, something else is mapped there or on the page behind, the range that the heap would lose
/// is not mapped, a limit is reached, or out of memory): nothing has changed.
/// Threads: exclusive, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_vmspace_set_brk(
    space: Option<&mut Vmspace>,
    end: u64,
    value: u64,
    freed: VmspaceTake,
    context: *mut c_void,
) -> c_int {
    answer(|| {
        let space = space.given()?;
        // The heap loses whole pages behind its new end, up to its old one.
        let page = space.0.layout().page;
        let first = end.checked_next_multiple_of(page).unwrap_or(end);
        let old = space.0.brk().raw().saturating_sub(1);
        let report = Report::cutting(space, freed, context, [first, old]);
        let (end, value) = (VirtAddr::new(end), Word::new(value));
        Ok(space.0.set_brk(end, value, |item| report.take(item))?)
    })
}
