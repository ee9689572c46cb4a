//! Reports of the ranges and the values that a call frees.
#![forbid(unsafe_code)]

use core::ffi::c_void;

use furlong::addr::{self, VirtAddr};
use furlong::vmspace::{Area, Freed, Unmapped};

use super::Vmspace;
use super::word::Word;
use crate::extent::Extent;

/// A range was unmapped.
pub const FURLONG_VMSPACE_UNMAPPED: u32 = 0;
/// A value is no longer used, because an area with an equal one stands for it. No range was
/// unmapped, and the fields other than value and kind are 0.
pub const FURLONG_VMSPACE_MERGED: u32 = 1;

/// An item that a call has freed.
#[repr(C)]
pub struct VmspaceFreed {
    /// The first address of the range.
    pub start: u64,
    /// The last address.
    pub last: u64,
    /// The offset of its start in its object, in bytes; for anonymous memory its own address.
    pub offset: u64,
    /// The value of the area.
    pub value: u64,
    /// The accesses that were allowed: FURLONG_VMSPACE_PROT_READ and others.
    pub prot: u32,
    /// Its further properties: FURLONG_VMSPACE_AREA_SHARED and others.
    pub flags: u32,
    /// FURLONG_VMSPACE_UNMAPPED or FURLONG_VMSPACE_MERGED.
    pub kind: u32,
    /// 1: the whole area is gone, or the last of it; 0: another part of it is still mapped.
    pub is_last: u32,
}

/// Takes an item that a call frees, with the context of the call. It must return, and must not call
/// a function with the same space. A call that fails reports nothing, except furlong_vmspace_fork.
///
/// If an area is cut, each part keeps its value. To know when an object is no longer mapped, count
/// its pages: those that are mapped less those that are reported as unmapped.
pub type VmspaceTake = Option<extern "C" fn(context: *mut c_void, freed: &VmspaceFreed)>;

/// The receiver of what a call frees.
pub(super) struct Report<const N: usize> {
    take: VmspaceTake,
    context: *mut c_void,
    /// The areas that the call may cut. The library hands no value out while a part is left, but C
    /// gets it with each part.
    cut: [Option<(addr::Extent<VirtAddr>, u64)>; N],
}

impl Report<0> {
    /// A receiver for a call that cuts no mapped range off an area.
    pub(super) fn new(take: VmspaceTake, context: *mut c_void) -> Self {
        let cut = [];
        Self { take, context, cut }
    }
}

impl<const N: usize> Report<N> {
    /// A receiver for a call that may unmap parts of the areas at these addresses.
    pub(super) fn cutting(
        space: &Vmspace,
        take: VmspaceTake,
        context: *mut c_void,
        at: [u64; N],
    ) -> Self {
        let area = |at| {
            // Without a receiver nobody asks for the values.
            let _ = take?;
            let area = space.0.find(VirtAddr::new(at))?;
            Some((area.extent, area.value.get()))
        };
        let cut = at.map(area);
        Self { take, context, cut }
    }

    /// Hands an item to the caller.
    pub(super) fn take(&self, freed: Freed<Word>) {
        let Some(take) = self.take else {
            return;
        };
        let freed = match freed {
            Freed::Unmapped(range) => {
                let value = match &range.value {
                    Some(value) => value.get(),
                    None => self.value_of(range.extent),
                };
                unmapped(&range, value)
            }
            Freed::Merged(value) => VmspaceFreed {
                start: 0,
                last: 0,
                offset: 0,
                value: value.get(),
                prot: 0,
                flags: 0,
                kind: FURLONG_VMSPACE_MERGED,
                is_last: 0,
            },
        };
        take(self.context, &freed);
    }

    /// The value of an area that was cut, before which it contained `part`.
    fn value_of(&self, part: addr::Extent<VirtAddr>) -> u64 {
        let mut areas = self.cut.iter().flatten();
        let owner = areas.find(|(area, _)| area.intersection(&part) == Some(part));
        let (_, value) = owner.expect("an area is cut only at an end of the range");
        *value
    }
}

fn unmapped(range: &Unmapped<Word>, value: u64) -> VmspaceFreed {
    let Extent { start, last } = range.extent.into();
    VmspaceFreed {
        start,
        last,
        offset: range.offset,
        value,
        prot: range.prot.bits(),
        flags: range.flags.bits().into(),
        kind: FURLONG_VMSPACE_UNMAPPED,
        is_last: range.value.is_some().into(),
    }
}

/// Hands the areas of a child that was not finished to the caller.
pub(super) fn take_back(take: VmspaceTake, context: *mut c_void, area: Area<'_, Word>) {
    let range = Unmapped {
        extent: area.extent,
        prot: area.prot,
        flags: area.flags,
        offset: area.offset,
        value: Some(area.value.clone()),
    };
    Report::new(take, context).take(Freed::Unmapped(range));
}
