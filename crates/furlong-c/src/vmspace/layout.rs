//! The bounds and the limits of address spaces.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use furlong::addr::{Address, VirtAddr};
use furlong::vmspace::{Direction, Layout};

use crate::answer::answer_in;
use crate::errno::Errno;

/// A place is searched from top downwards and, if there is none, from bottom upwards.
pub const FURLONG_VMSPACE_TOP_DOWN: u32 = 0;
/// A place is searched from bottom upwards.
pub const FURLONG_VMSPACE_BOTTOM_UP: u32 = 1;

/// The bounds and the limits of a space. Initialise it with furlong_vmspace_layout, then change
/// single fields.
#[repr(C)]
pub struct VmspaceLayout {
    /// The page size in bytes: a power of two, at least 2.
    pub page: u64,
    /// The last byte of the space.
    pub last: u64,
    /// The lowest address that may be mapped.
    pub low: u64,
    /// The start of an upward search for a place.
    pub bottom: u64,
    /// The last byte that a downward search may take.
    pub top: u64,
    /// The number of pages that must stay free below the lower end of an area that grows.
    pub guard: u64,
    /// The number of areas at which none is cut any more. A mapping may make one more.
    pub areas_max: usize,
    /// The largest number of mapped pages.
    pub pages_max: u64,
    /// The largest number of pages that an area may reach by growing.
    pub stack_max: u64,
    /// FURLONG_VMSPACE_TOP_DOWN or FURLONG_VMSPACE_BOTTOM_UP.
    pub direction: u32,
}

impl VmspaceLayout {
    /// Converts the layout, if its direction is valid. A space checks the rest.
    pub(crate) fn read(&self) -> Result<Layout, Errno> {
        let direction = match self.direction {
            FURLONG_VMSPACE_TOP_DOWN => Direction::TopDown,
            FURLONG_VMSPACE_BOTTOM_UP => Direction::BottomUp,
            _ => return Err(Errno::INVALID),
        };
        Ok(Layout {
            page: self.page,
            last: VirtAddr::new(self.last),
            low: VirtAddr::new(self.low),
            bottom: VirtAddr::new(self.bottom),
            top: VirtAddr::new(self.top),
            direction,
            guard: self.guard,
            areas_max: self.areas_max,
            pages_max: self.pages_max,
            stack_max: self.stack_max,
        })
    }
}

/// Initialises layout to that of a process on x86-64 under Linux, without randomisation. Its only
/// limits are 65,530 areas and a stack of 8 MiB.
///
/// Returns 0, or -EINVAL (layout is NULL).
/// Threads: any thread.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_vmspace_layout(layout: Option<&mut MaybeUninit<VmspaceLayout>>) -> c_int {
    answer_in(layout, || {
        let usual = Layout::LINUX_X86_64;
        Ok(VmspaceLayout {
            page: usual.page,
            last: usual.last.raw(),
            low: usual.low.raw(),
            bottom: usual.bottom.raw(),
            top: usual.top.raw(),
            guard: usual.guard,
            areas_max: usual.areas_max,
            pages_max: usual.pages_max,
            stack_max: usual.stack_max,
            direction: FURLONG_VMSPACE_TOP_DOWN,
        })
    })
}
