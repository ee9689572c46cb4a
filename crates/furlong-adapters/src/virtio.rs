//! The drivers of the crate `virtio-drivers` over a pool of bounce buffers.
//!
//! Their trait `Hal` has no `self`: a driver knows its hardware by a type. Here that is a
//! [`Board`], which names the pool, and [`PoolHal`] is the `Hal` of a board:
//!
//! - queues and rings are allocated in the pool, zeroed;
//! - a request's buffers are copied there when it is added to a queue, and back when it is taken
//!   out; the device sees nothing of the driver's own memory.

use core::marker::PhantomData;
use core::ptr::NonNull;

use furlong::addr::{Address, Iova};
use furlong::bounce::{Back, Config, Device, Direction, MapError, Memory, Misuse, Pool};
use virtio_drivers::{BufferDirection, Hal, PAGE_SIZE, PhysAddr};

/// Where the device finds nothing: what it gets in place of a buffer that could not be mapped.
pub const NOWHERE: PhysAddr = PhysAddr::MAX;

/// What a driver's `Hal` is made of: a pool that lives as long as the program, and a device that
/// maps through it.
///
/// The device should ask for nothing beside its reach and a quota: what is as long as a page is
/// aligned to one, which is all that queues need, and the buffers of requests are short.
///
/// # Safety
/// Whoever implements the trait promises that the pointer which [`mmio`](Self::mmio) answers is
/// good for the registers that it was asked for, and aliases nothing else of the program.
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
    /// Where the pool's memory comes from.
    type Memory: Memory + 'static;
    /// The pool's configuration.
    type Config: Config;

    /// The pool.
    fn pool() -> &'static Pool<Self::Memory, Self::Config>;

    /// The device for which is mapped.
    fn device() -> &'static Device;

    /// Where the CPU finds `len` bytes of device registers; asked by the transport over PCI only.
    ///
    /// # Safety
    /// The registers are those of a device, as its bus has told.
    unsafe fn mmio(start: PhysAddr, len: usize) -> NonNull<u8>;

    /// Called where a buffer of a request cannot be mapped, which a driver has no way to be told.
    ///
    /// What returns from here sends the device to [`NOWHERE`], so that it fails the request, if it
    /// is a kind one. A pool with room for all requests of its queues, none of them with a buffer
    /// of more than [`Pool::longest`], never gets here.
    ///
    /// # Panics
    /// Unless the board has something better to do.
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
    /// Pages in the pool for as long as the driver likes; `None` if there are none.
    fn allocate(pages: usize) -> Option<(Iova, NonNull<u8>)> {
        let len = pages.checked_mul(PAGE_SIZE)?;
        let (at, start) = B::pool().allocate_raw(B::device(), len).ok()?;
        // A driver takes address 0 for a failure, and wants pages of the CPU's as well.
        let page = PAGE_SIZE as u64;
        let aligned = at.is_aligned(page) && start.as_ptr().addr().is_multiple_of(PAGE_SIZE);
        if at.raw() == 0 || !aligned {
            // SAFETY: nobody has it yet.
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

// SAFETY: pages are good for the CPU by the contract of the pool's memory, aligned as was just
// seen, zeroed, and nobody else's until they are deallocated; registers are the board's promise.
unsafe impl<B: Board> Hal for PoolHal<B> {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        Self::allocate(pages).map_or((0, NonNull::dangling()), |(at, start)| (at.raw(), start))
    }

    unsafe fn dma_dealloc(paddr: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        // SAFETY: the caller has the pages from `dma_alloc`, and is done with them.
        let ended = unsafe { B::pool().deallocate_raw(B::device(), Iova::new(paddr)) };
        // The driver's word for a failure, on which it panics.
        if ended.is_ok() { 0 } else { -1 }
    }

    unsafe fn mmio_phys_to_virt(paddr: PhysAddr, size: usize) -> NonNull<u8> {
        // SAFETY: the caller keeps the contract of this same method.
        unsafe { B::mmio(paddr, size) }
    }

    unsafe fn share(buffer: NonNull<[u8]>, towards: BufferDirection) -> PhysAddr {
        // SAFETY: the buffer is good and nobody else's during the call, by the caller's contract;
        // drivers make it of slices, whose bytes have values.
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
