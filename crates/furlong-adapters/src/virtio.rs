//! The drivers of the crate `virtio-drivers` over a pool of bounce buffers.
//!
//! Their trait `Hal` has no `self`: a driver selects its hardware by a type. Here this type is a
//! [`Board`], which names the pool. [`PoolHal`] is the `Hal` of a board:
//!
//! - Queues and rings are allocated in the pool, zeroed.
//! - The buffers of a request are copied to the pool when it is added to a queue, and back when it
//!   is removed. The device sees none of the driver's own memory.

use core::marker::PhantomData;
use core::ptr::NonNull;

use furlong::addr::{Address, Iova};
use furlong::bounce::{Back, Config, Device, Direction, MapError, Memory, Misuse, Pool};
use virtio_drivers::{BufferDirection, Hal, PAGE_SIZE, PhysAddr};

/// An address without memory: the device gets it in place of a buffer that could not be mapped.
pub const NOWHERE: PhysAddr = PhysAddr::MAX;

/// The hardware of a `Hal`: a pool that lives as long as the program, and a device that maps
/// through it.
///
/// The device should have no limits except its reach and a quota. Memory of a page or more is
/// page-aligned, which is enough for queues, and the buffers of requests are short.
///
/// # Safety
/// The implementor promises that the pointer returned by [`mmio`](Self::mmio) is valid for the
/// requested registers, and aliases nothing else in the program.
///
/// # Example
/// ```
/// # use core::{mem::MaybeUninit, ptr::NonNull};
/// # use std::sync::OnceLock;
/// use furlong::addr::Iova;
/// use furlong::bounce::{Device, Limits, OneCpu, Plan, Pool, RegionMemory, Standard};
/// use furlong_adapters::virtio::{Board, PoolHal};
/// use virtio_drivers::{device::blk::VirtIOBlk, transport::Transport};
///
/// static POOL: OnceLock<(Pool<RegionMemory>, Device)> = OnceLock::new();
///
/// /// What the boot loader has set aside below 4 GiB.
/// fn low_memory() -> (&'static mut [MaybeUninit<u8>], Iova) {
///     // ..
/// #   (Box::leak(Box::new([MaybeUninit::uninit(); 256 * 2048])), Iova::new(1 << 24))
/// }
///
/// struct Machine;
///
/// // SAFETY: there is no device behind a PCI bus here, and nobody asks.
/// unsafe impl Board for Machine {
///     type Memory = RegionMemory;
///     type Config = Standard;
///
///     fn pool() -> &'static Pool<RegionMemory> {
///         &POOL.get().expect("booted").0
///     }
///
///     fn device() -> &'static Device {
///         &POOL.get().expect("booted").1
///     }
///
///     unsafe fn mmio(_: u64, _: usize) -> NonNull<u8> {
///         unreachable!("this machine has no PCI bus")
///     }
/// }
///
/// fn boot() -> Result<(), Box<dyn core::error::Error>> {
///     let (memory, device) = low_memory();
///     let region = RegionMemory::new(memory, device);
///     let plan = Plan::new(region.slots(), 1);
///     let pool = Pool::new(region, OneCpu, &plan)?; // without a heap: `Pool::new_in`
///     let disk = Device::new(1, Limits::new())?;
///     POOL.set((pool, disk)).map_err(|_| "booted twice".into())
/// }
///
/// fn disk<T: Transport>(transport: T) -> virtio_drivers::Result<VirtIOBlk<PoolHal<Machine>, T>> {
///     VirtIOBlk::new(transport)
/// }
/// # boot().unwrap();
/// ```
pub unsafe trait Board {
    /// The memory of the pool.
    type Memory: Memory + 'static;
    /// The pool's configuration.
    type Config: Config;

    /// The pool.
    fn pool() -> &'static Pool<Self::Memory, Self::Config>;

    /// The device that the pool maps for.
    fn device() -> &'static Device;

    /// The address of `len` bytes of device registers; only the PCI transport calls this.
    ///
    /// # Safety
    /// The registers belong to a device, at the address that its bus reports.
    unsafe fn mmio(start: PhysAddr, len: usize) -> NonNull<u8>;

    /// Handles a buffer that cannot be mapped. The interface has no way to tell the driver.
    ///
    /// If this returns, the device gets [`NOWHERE`], and a well-behaved device fails the request.
    /// This is never called for a pool with room for all requests of its queues, if none of them
    /// has a buffer of more than [`Pool::longest`].
    ///
    /// # Panics
    /// By default, always.
    fn refused(error: MapError) {
        panic!("a buffer for a device was not mapped: {error}; make the pool larger");
    }
}

/// The `Hal` of a board.
#[derive(Debug)]
pub struct PoolHal<B>(PhantomData<B>);

fn direction(of: BufferDirection) -> Direction {
    match of {
        BufferDirection::DriverToDevice => Direction::ToDevice,
        BufferDirection::DeviceToDriver => Direction::FromDevice,
        BufferDirection::Both => Direction::Both,
    }
}

impl<B: Board> PoolHal<B> {
    /// Allocates pages in the pool, until the driver frees them; `None` if there are none.
    fn allocate(pages: usize) -> Option<(Iova, NonNull<u8>)> {
        let len = pages.checked_mul(PAGE_SIZE)?;
        let (at, start) = B::pool().allocate_raw(B::device(), len).ok()?;
        // A driver takes address 0 for a failure, and needs page alignment for the CPU as well.
        let page = PAGE_SIZE as u64;
        let aligned = at.is_aligned(page) && start.as_ptr().addr().is_multiple_of(PAGE_SIZE);
        if at.raw() == 0 || !aligned {
            // SAFETY: nobody else has it yet.
            let _ = unsafe { B::pool().deallocate_raw(B::device(), at) };
            return None;
        }
        Some((at, start))
    }

    fn ended(ended: Result<(), Misuse>) {
        if let Err(misuse) = ended {
            panic!("a driver gave back what it does not have: {misuse}");
        }
    }
}

// SAFETY: pages are valid for the CPU by the contract of the pool's memory. They are aligned, as
// checked above, zeroed, and nobody else's until they are freed. The board vouches for registers.
unsafe impl<B: Board> Hal for PoolHal<B> {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        Self::allocate(pages).map_or((0, NonNull::dangling()), |(at, start)| (at.raw(), start))
    }

    unsafe fn dma_dealloc(paddr: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        // SAFETY: the caller got the pages from `dma_alloc`, and no longer uses them.
        let ended = unsafe { B::pool().deallocate_raw(B::device(), Iova::new(paddr)) };
        // The driver's code for a failure, on which it panics.
        if ended.is_ok() { 0 } else { -1 }
    }

    unsafe fn mmio_phys_to_virt(paddr: PhysAddr, size: usize) -> NonNull<u8> {
        // SAFETY: the caller keeps the contract of this method, which is the same.
        unsafe { B::mmio(paddr, size) }
    }

    unsafe fn share(buffer: NonNull<[u8]>, towards: BufferDirection) -> PhysAddr {
        // SAFETY: the buffer is valid and nobody else's during the call, by the caller's contract.
        // Drivers make it from slices, so its bytes are initialised.
        let mapped = unsafe { B::pool().map_pointer(B::device(), buffer, direction(towards)) };
        match mapped {
            Ok(at) => at.raw(),
            Err(error) => {
                B::refused(error);
                NOWHERE
            }
        }
    }

    unsafe fn unshare(paddr: PhysAddr, buffer: NonNull<[u8]>, towards: BufferDirection) {
        if paddr == NOWHERE {
            return;
        }
        let (at, direction) = (Iova::new(paddr), direction(towards));
        // SAFETY: the buffer is the one that was shared, and nobody else's during the call.
        let ended =
            unsafe { B::pool().unmap_pointer(B::device(), at, buffer, direction, Back::All) };
        Self::ended(ended);
    }
}
