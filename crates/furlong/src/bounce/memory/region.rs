//! Memory from the caller: one region, for a pool of one block.

use core::mem::MaybeUninit;
use core::ptr::NonNull;

use crate::addr::{Address, Iova, PhysAddr};
use crate::bounce::{Backing, Memory, SLOT, Wanted};
use crate::sync::atomic::{AtomicBool, Ordering};

/// One region of memory from the caller: a static, or memory reserved by a boot loader.
///
/// It is lent as a whole, to one block at a time, and a pool over it does not grow. Physical
/// addresses of originals are those of pointers with exposed provenance, as for `HeapMemory`.
///
/// # Example
/// ```
/// use core::mem::MaybeUninit;
/// use furlong::addr::Iova;
/// use furlong::bounce::{Device, Limits, OneCpu, Plan, Pool, RegionMemory, ToDevice};
///
/// fn set_aside(bytes: usize) -> &'static mut [MaybeUninit<u8>] {
///     // .. by the boot loader, or in a static ..
/// #   Box::leak(vec![MaybeUninit::uninit(); bytes].into())
/// }
///
/// // The bus sees it at 16 MiB.
/// let region = RegionMemory::new(set_aside(128 * 2048), Iova::new(16 << 20));
/// let plan = Plan::new(region.slots(), 1);
/// let tables = set_aside(Pool::<RegionMemory>::table_bytes(&plan)?);
/// let pool = Pool::new_in(tables, region, OneCpu, &plan)?; // no heap anywhere
/// let disk = Device::new(1, Limits::new())?;
/// let mapped = pool.map(&disk, ToDevice(b"sector"))?;
/// assert_eq!(mapped.address(), Iova::new(16 << 20));
/// # drop(mapped);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RegionMemory {
    start: NonNull<u8>,
    device: Iova,
    slots: usize,
    lent: AtomicBool,
}

// SAFETY: it names memory that is valid in every thread, by the contracts of `new` and `from_raw`.
unsafe impl Send for RegionMemory {}
// SAFETY: as above; one exchange decides who gets the memory.
unsafe impl Sync for RegionMemory {}

impl RegionMemory {
    /// The whole slots of `memory`, which has device addresses from `device` on.
    ///
    /// Alignment of mappings is that of device addresses. So `device` should be a multiple of a
    /// segment's bytes, or at least of a page's.
    pub fn new(memory: &'static mut [MaybeUninit<u8>], device: Iova) -> Self {
        let len = memory.len();
        let start = NonNull::from(memory).cast();
        // SAFETY: it is borrowed for ever, and its bytes need no value.
        unsafe { Self::from_raw(start, len, device) }
    }

    /// The whole slots of `len` bytes from `start` on, which have device addresses from `device`
    /// on.
    ///
    /// # Safety
    /// The bytes are valid for reads and writes, in every thread, for ever. Only devices and hosts
    /// use them otherwise.
    pub unsafe fn from_raw(start: NonNull<u8>, len: usize, device: Iova) -> Self {
        Self {
            start,
            device,
            slots: (len as u64 / SLOT) as usize,
            lent: AtomicBool::new(false),
        }
    }

    /// The number of its slots: the most that a pool over it can have.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Lends the first `len` bytes, if they are not lent.
    fn lend(&self, len: usize) -> Option<Backing> {
        let fits = len as u64 <= self.slots as u64 * SLOT;
        // AcqRel: pairs with itself and with `region-free`; the previous user is done with the
        // region.
        let lent = fits && !self.lent.swap(true, Ordering::AcqRel);
        lent.then_some(Backing {
            start: self.start,
            device: self.device,
            len,
        })
    }
}

// SAFETY: the region is valid by the contracts of `new` and `from_raw`, and is lent to one block at
// a time; `read` and `write` are one copy each.
unsafe impl Memory for RegionMemory {
    fn obtain(&self, wanted: &Wanted) -> Option<Backing> {
        let last = self.device.checked_add(wanted.len.max(1) as u64 - 1)?;
        (last <= wanted.reach).then(|| self.lend(wanted.len))?
    }

    fn adopt(&self, device: Iova, len: usize) -> Option<Backing> {
        (device == self.device).then(|| self.lend(len))?
    }

    unsafe fn free(&self, _: Backing) {
        // Release, `region-free`: pairs with the exchange that lends it next.
        self.lent.store(false, Ordering::Release);
    }

    unsafe fn read(&self, from: PhysAddr, to: NonNull<u8>, len: usize) {
        let from = core::ptr::with_exposed_provenance::<u8>(from.raw() as usize);
        // SAFETY: the caller guarantees both; bounce memory is no original, so they do not overlap.
        unsafe { from.copy_to_nonoverlapping(to.as_ptr(), len) };
    }

    unsafe fn write(&self, to: PhysAddr, from: NonNull<u8>, len: usize) {
        let to = core::ptr::with_exposed_provenance_mut::<u8>(to.raw() as usize);
        // SAFETY: as in `read`.
        unsafe { to.copy_from_nonoverlapping(from.as_ptr(), len) };
    }
}
