//! Areas and their look-up, and faults.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use furlong::addr::VirtAddr;
use furlong::vmspace::{Access, Area, Flags, Prot};

use super::Vmspace;
use super::word::Word;
use crate::answer::{Given, answer_in};
use crate::errno::Errno;
use crate::extent::Extent;

/// Memory may be read. This and the other protections have Linux's numbers, as in <sys/mman.h>.
pub const FURLONG_VMSPACE_PROT_READ: u32 = 1;
/// Memory may be written.
pub const FURLONG_VMSPACE_PROT_WRITE: u32 = 2;
/// Memory may be executed.
pub const FURLONG_VMSPACE_PROT_EXEC: u32 = 4;
/// For furlong_vmspace_protect: extends the range down to the start of an area that grows.
pub const FURLONG_VMSPACE_PROT_GROWSDOWN: u32 = 0x0100_0000;

/// Writes are visible to all mappings of the object.
pub const FURLONG_VMSPACE_AREA_SHARED: u32 = 1;
/// A stack: it grows towards lower addresses on a fault below it.
pub const FURLONG_VMSPACE_AREA_GROWSDOWN: u32 = 2;
/// A fork does not copy it to the child.
pub const FURLONG_VMSPACE_AREA_DONTCOPY: u32 = 4;
/// A fork gives the child an empty copy.
pub const FURLONG_VMSPACE_AREA_WIPEONFORK: u32 = 8;
/// furlong_vmspace_remap must not enlarge it.
pub const FURLONG_VMSPACE_AREA_DONTEXPAND: u32 = 16;
/// It maps a part of an object: it is not private anonymous memory.
pub const FURLONG_VMSPACE_AREA_OBJECT: u32 = 32;
/// Its pages may be dropped when memory is short: it was mapped with FURLONG_VMSPACE_MAP_DROPPABLE.
pub const FURLONG_VMSPACE_AREA_DROPPABLE: u32 = 64;
/// The caller's own eight flags. They have no effect, but neighbours with different ones do not
/// merge.
pub const FURLONG_VMSPACE_AREA_CALLER: u32 = 0xff00;

// cbindgen needs literals; they are the numbers of the library.
const _: () = {
    assert!(FURLONG_VMSPACE_PROT_READ == Prot::READ.bits());
    assert!(FURLONG_VMSPACE_PROT_WRITE == Prot::WRITE.bits());
    assert!(FURLONG_VMSPACE_PROT_EXEC == Prot::EXEC.bits());
    assert!(FURLONG_VMSPACE_PROT_GROWSDOWN == Prot::GROWS_DOWN.bits());
    assert!(FURLONG_VMSPACE_AREA_SHARED == Flags::SHARED.bits() as u32);
    assert!(FURLONG_VMSPACE_AREA_GROWSDOWN == Flags::GROWS_DOWN.bits() as u32);
    assert!(FURLONG_VMSPACE_AREA_DONTCOPY == Flags::DONT_COPY.bits() as u32);
    assert!(FURLONG_VMSPACE_AREA_WIPEONFORK == Flags::WIPE_ON_FORK.bits() as u32);
    assert!(FURLONG_VMSPACE_AREA_DONTEXPAND == Flags::DONT_EXPAND.bits() as u32);
    assert!(FURLONG_VMSPACE_AREA_OBJECT == Flags::OBJECT.bits() as u32);
    assert!(FURLONG_VMSPACE_AREA_DROPPABLE == Flags::DROPPABLE.bits() as u32);
    assert!(FURLONG_VMSPACE_AREA_CALLER == Flags::CALLER.bits() as u32);
};

/// Converts flags of an area, all of which must be in `allowed`.
pub(super) fn flags(bits: u32, allowed: Flags) -> Result<Flags, Errno> {
    let flags = u16::try_from(bits).map(Flags::from_bits);
    flags.ok().filter(|flags| allowed.contains(*flags)).given()
}

/// A mapped range.
#[repr(C)]
pub struct VmspaceArea {
    /// The first address.
    pub start: u64,
    /// The last address.
    pub last: u64,
    /// The offset of its start in its object, in bytes; for anonymous memory its own address.
    pub offset: u64,
    /// The caller's value.
    pub value: u64,
    /// The allowed accesses: FURLONG_VMSPACE_PROT_READ and others.
    pub prot: u32,
    /// The accesses that furlong_vmspace_protect may allow.
    pub may: u32,
    /// Further properties: FURLONG_VMSPACE_AREA_SHARED and others.
    pub flags: u32,
}

impl From<Area<'_, Word>> for VmspaceArea {
    fn from(area: Area<'_, Word>) -> Self {
        let Extent { start, last } = area.extent.into();
        Self {
            start,
            last,
            offset: area.offset,
            value: area.value.get(),
            prot: area.prot.bits(),
            may: area.may.bits(),
            flags: area.flags.bits().into(),
        }
    }
}

/// Writes the area that contains address to area.
///
/// Returns 0, -EINVAL (an argument is NULL) or -ENOENT (nothing is mapped there).
/// Threads: read-only.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_vmspace_find(
    space: Option<&Vmspace>,
    address: u64,
    area: Option<&mut MaybeUninit<VmspaceArea>>,
) -> c_int {
    answer_in(area, || {
        let found = space.given()?.0.find(VirtAddr::new(address));
        Ok(found.ok_or(Errno::NOT_FOUND)?.into())
    })
}

/// Writes the first area that contains address or lies behind it to area, as Linux's find_vma. To
/// iterate, begin with 0 and continue with last + 1. The end is -ENOENT, or a last of UINT64_MAX.
///
/// Returns 0, -EINVAL (an argument is NULL) or -ENOENT (there is none).
/// Threads: read-only.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_vmspace_next(
    space: Option<&Vmspace>,
    address: u64,
    area: Option<&mut MaybeUninit<VmspaceArea>>,
) -> c_int {
    answer_in(area, || {
        let found = space.given()?.0.next(VirtAddr::new(address));
        Ok(found.ok_or(Errno::NOT_FOUND)?.into())
    })
}

/// Handles a fault at address: writes the area there to area, if it allows the access. A stack
/// above the address grows down to it. access is one of FURLONG_VMSPACE_PROT_READ, _WRITE and
/// _EXEC.
///
/// Returns 0, -EINVAL (space or area is NULL, access is none of the three), -EFAULT (nothing is
/// mapped there, and no stack can grow down to it), -EACCES (the area does not allow the access),
/// -EPERM (the stack would grow below the lowest address) or -ENOMEM (the stack would exceed a
/// limit or come too close to another area, or out of memory): nothing has changed.
/// Threads: exclusive, under the caller's lock.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_vmspace_fault(
    space: Option<&mut Vmspace>,
    address: u64,
    access: u32,
    area: Option<&mut MaybeUninit<VmspaceArea>>,
) -> c_int {
    answer_in(area, || {
        let access = match access {
            FURLONG_VMSPACE_PROT_READ => Access::Read,
            FURLONG_VMSPACE_PROT_WRITE => Access::Write,
            FURLONG_VMSPACE_PROT_EXEC => Access::Execute,
            _ => return Err(Errno::INVALID),
        };
        let space = &mut space.given()?.0;
        Ok(space.fault(VirtAddr::new(address), access)?.into())
    })
}
