//! Mappings, and their end.

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;

use furlong::addr::{Address, VirtAddr};
use furlong::vmspace::linux::{self, Mmap};
use furlong::vmspace::{Flags, Prot, Request};

use super::Vmspace;
use super::area::flags;
use super::freed::{Report, VmspaceTake};
use super::word::Word;
use crate::answer::{Given, answer, answer_in};
use crate::errno::Errno;

/// The mapping is shared. This and the other flags have Linux's numbers, as in <sys/mman.h>.
pub const FURLONG_VMSPACE_MAP_SHARED: u64 = 1;
/// The mapping is private.
pub const FURLONG_VMSPACE_MAP_PRIVATE: u64 = 2;
/// The mapping is shared, and unknown flags are refused.
pub const FURLONG_VMSPACE_MAP_SHARED_VALIDATE: u64 = 3;
/// The mapping is private, and the system may drop its pages.
pub const FURLONG_VMSPACE_MAP_DROPPABLE: u64 = 8;
/// The address is fixed; existing mappings there are replaced.
pub const FURLONG_VMSPACE_MAP_FIXED: u64 = 0x10;
/// The mapping has no object.
pub const FURLONG_VMSPACE_MAP_ANONYMOUS: u64 = 0x20;
/// The address lies below 2 GiB.
pub const FURLONG_VMSPACE_MAP_32BIT: u64 = 0x40;
/// The mapping is a stack.
pub const FURLONG_VMSPACE_MAP_GROWSDOWN: u64 = 0x100;
/// The address is fixed; existing mappings there are not replaced.
pub const FURLONG_VMSPACE_MAP_FIXED_NOREPLACE: u64 = 0x10_0000;

// cbindgen needs literals; they are the numbers of the library.
const _: () = {
    assert!(FURLONG_VMSPACE_MAP_SHARED == linux::MAP_SHARED);
    assert!(FURLONG_VMSPACE_MAP_PRIVATE == linux::MAP_PRIVATE);
    assert!(FURLONG_VMSPACE_MAP_SHARED_VALIDATE == linux::MAP_SHARED_VALIDATE);
    assert!(FURLONG_VMSPACE_MAP_DROPPABLE == linux::MAP_DROPPABLE);
    assert!(FURLONG_VMSPACE_MAP_FIXED == linux::MAP_FIXED);
    assert!(FURLONG_VMSPACE_MAP_ANONYMOUS == linux::MAP_ANONYMOUS);
    assert!(FURLONG_VMSPACE_MAP_32BIT == linux::MAP_32BIT);
    assert!(FURLONG_VMSPACE_MAP_GROWSDOWN == linux::MAP_GROWSDOWN);
    assert!(FURLONG_VMSPACE_MAP_FIXED_NOREPLACE == linux::MAP_FIXED_NOREPLACE);
};

/// The flags of an area that a request may set, beside those that follow from its mmap flags.
const OWN_FLAGS: Flags = Flags::DONT_COPY
    .or(Flags::WIPE_ON_FORK)
    .or(Flags::DONT_EXPAND)
    .or(Flags::CALLER);

/// A request for a mapping. Initialise it with furlong_vmspace_request, then change single fields.
#[repr(C)]
pub struct VmspaceRequest {
    /// The fixed address or, without a flag for that, a hint. 0 is no hint.
    pub address: u64,
    /// The length in bytes, rounded up to whole pages.
    pub len: u64,
    /// The allowed accesses: FURLONG_VMSPACE_PROT_READ and others. Unknown ones are ignored.
    pub prot: u64,
    /// The flags of mmap: FURLONG_VMSPACE_MAP_PRIVATE and others.
    pub flags: u64,
    /// The offset in the object, in bytes, at a page. For anonymous memory a multiple of 4096,
    /// which has no effect.
    pub offset: u64,
    /// The value of the area.
    pub value: u64,
    /// The alignment of the start in bytes, if the space chooses the place: a power of two. Less
    /// than a page counts as a page.
    pub align: u64,
    /// The first address of an upward search for a place.
    pub window_start: u64,
    /// The last address of that search. 0: the layout selects the search.
    pub window_last: u64,
    /// The accesses that furlong_vmspace_protect may allow later.
    pub may: u32,
    /// Further flags of the area: FURLONG_VMSPACE_AREA_DONTCOPY, _WIPEONFORK, _DONTEXPAND, _CALLER.
    pub area_flags: u32,
}

impl VmspaceRequest {
    /// Private anonymous memory anywhere.
    fn anonymous(len: u64, prot: u64, value: u64) -> Self {
        Self {
            address: 0,
            len,
            prot,
            flags: FURLONG_VMSPACE_MAP_PRIVATE | FURLONG_VMSPACE_MAP_ANONYMOUS,
            offset: 0,
            value,
            align: 0,
            window_start: 0,
            window_last: 0,
            may: Prot::ALL.bits(),
            area_flags: 0,
        }
    }

    /// Converts the request, if its numbers are valid.
    fn read(&self) -> Result<Request<Word>, Errno> {
        let call = Mmap {
            address: self.address,
            len: self.len,
            prot: self.prot,
            flags: self.flags,
            offset: self.offset,
        };
        let may = Prot::from_bits(self.may);
        let own = flags(self.area_flags, OWN_FLAGS)?;
        if !Prot::ALL.contains(may) {
            return Err(Errno::INVALID);
        }
        let mut request = call.request(Word::new(self.value));
        request.flags |= own;
        request.may = may;
        request.align = self.align;
        if self.window_last != 0 {
            let window = [self.window_start, self.window_last].map(VirtAddr::new);
            request.window = Some(window.into());
        }
        Ok(request)
    }

    /// Maps a range in a space, and returns its start.
    fn carry_out(
        &self,
        space: Option<&mut Vmspace>,
        freed: VmspaceTake,
        context: *mut c_void,
    ) -> Result<u64, Errno> {
        let (space, request) = (space.given()?, self.read()?);
        let ends = [self.address, last(self.address, self.len)];
        let report = Report::cutting(space, freed, context, ends);
        let start = space.0.map(request, |item| report.take(item))?;
        Ok(start.raw())
    }
}

/// The last byte of a range; its first one if it is empty, and the last of all if it has no end.
pub(super) fn last(start: u64, len: u64) -> u64 {
    start.saturating_add(len.saturating_sub(1))
}

/// Initialises request to len bytes of private anonymous memory, anywhere. All accesses may be
/// allowed later.
///
/// Returns 0, or -EINVAL (request is NULL).
/// Threads: any thread.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_vmspace_request(
    request: Option<&mut MaybeUninit<VmspaceRequest>>,
    len: u64,
    prot: u64,
    value: u64,
) -> c_int {
    answer_in(request, || Ok(VmspaceRequest::anonymous(len, prot, value)))
}

/// Maps a range, and writes its first address to start. It is merged with neighbours that are
/// equal. Replaced ranges are passed to freed, unless that is NULL, and so is the value, if a
/// neighbour's stands for it.
///
/// Returns 0, -EINVAL (space, request or start is NULL, the length is 0, a fixed address or the
/// offset is not at a page, a number or the kind of mapping is invalid), -ENOMEM (no gap is large
/// enough, the range is not in the space, a limit is reached, or out of memory), -EEXIST (something
/// is mapped at an address that is not to be replaced), -EPERM (a fixed address is below the lowest
/// one), -EACCES (may does not contain prot), -EOVERFLOW (the object would end beyond the last
/// offset) or -EOPNOTSUPP (an unknown flag): nothing has changed.
/// Threads: exclusive, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_vmspace_map(
    space: Option<&mut Vmspace>,
    request: Option<&VmspaceRequest>,
    start: Option<&mut MaybeUninit<u64>>,
    freed: VmspaceTake,
    context: *mut c_void,
) -> c_int {
    answer_in(start, || request.given()?.carry_out(space, freed, context))
}

/// Maps a range by the arguments of Linux's mmap; otherwise as furlong_vmspace_map. value stands
/// for the file.
///
/// Returns 0, or an error of furlong_vmspace_map, except -EACCES: nothing has changed.
/// Threads: exclusive, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_vmspace_mmap(
    space: Option<&mut Vmspace>,
    address: u64,
    len: u64,
    prot: u64,
    flags: u64,
    offset: u64,
    value: u64,
    start: Option<&mut MaybeUninit<u64>>,
    freed: VmspaceTake,
    context: *mut c_void,
) -> c_int {
    answer_in(start, || {
        let request = VmspaceRequest {
            address,
            flags,
            offset,
            ..VmspaceRequest::anonymous(len, prot, value)
        };
        request.carry_out(space, freed, context)
    })
}

/// Unmaps all areas in len bytes from start on. Each removed range is passed to freed, in ascending
/// order, unless that is NULL.
///
/// Returns 0, -EINVAL (space is NULL, start is not at a page, the length is 0, the range is not in
/// the space) or -ENOMEM (an area would be cut in two, and the limit of areas is reached, or out of
/// memory): nothing has changed.
/// Threads: exclusive, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_vmspace_unmap(
    space: Option<&mut Vmspace>,
    start: u64,
    len: u64,
    freed: VmspaceTake,
    context: *mut c_void,
) -> c_int {
    answer(|| {
        let space = space.given()?;
        let report = Report::cutting(space, freed, context, [start, last(start, len)]);
        let unmapped = space
            .0
            .unmap(VirtAddr::new(start), len, |item| report.take(item));
        Ok(unmapped?)
    })
}
