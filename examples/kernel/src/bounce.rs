//! Bounce buffers: low memory, for what a device with 32 address lines is to read or to write.
//!
//! The pool knows no heap: its slots lie in pages of the bus that the device reaches, and what the
//! pool knows in pages that it does not reach.

use core::ptr::NonNull;

use alloc::vec;
use alloc::vec::Vec;
use furlong::addr::{Address, Iova, PhysAddr};
use furlong::bounce::{
    AreaFirst, Config, Custom, Device, FromDevice, Limits, LockFree, OneCpu, Plan, Pool,
    RegionMemory, SEGMENT, SLOT, ToDevice, ZeroPads,
};
use furlong::check::Check;
use furlong_adapters::virtio::Board;

use crate::direct::{self, PAGE};
use crate::once::Once;
use crate::serial::say;
use crate::{iova, malloc};

/// Slots: 1 MiB.
const SLOTS: usize = 512;
const LEN: u64 = SLOTS as u64 * SLOT;

/// Zeroed beside the data, lock-free, for one CPU.
type Kernel = Custom<AreaFirst, LockFree, ZeroPads>;
type Buffers = Pool<RegionMemory, Kernel>;

static POOL: Once<Buffers> = Once::new();
static DISK: Once<Device> = Once::new();

/// The machine, as drivers know it.
pub(crate) struct Machine;

// SAFETY: the transport here is no PCI bus, and nobody asks for registers.
unsafe impl Board for Machine {
    type Memory = RegionMemory;
    type Config = Kernel;

    fn pool() -> &'static Buffers {
        POOL.get()
    }

    fn device() -> &'static Device {
        DISK.get()
    }

    unsafe fn mmio(at: u64, _: usize) -> NonNull<u8> {
        unreachable!("there is no PCI bus, and so no registers at {at:#x}")
    }
}

/// Makes the pool, and the device that maps through it. Returns where the pool is.
fn open() -> Iova {
    let align = SEGMENT as u64 * SLOT;
    let at = iova::take(LEN, align, iova::LOW).expect("there is low memory");
    let start = direct::pointer(PhysAddr::new(at.raw()));
    // SAFETY: the pages are the pool's for good, and mapped.
    let region = unsafe { RegionMemory::from_raw(start, LEN as usize, at) };
    let plan = Plan::new(region.slots(), 1);
    let bytes = Buffers::table_bytes(&plan).expect("there can be such a pool");
    let len = (bytes as u64).next_multiple_of(PAGE);
    let tables = iova::take(len, PAGE, iova::HIGH).expect("there is memory");
    // SAFETY: the pages are mapped, and the pool's for good.
    let tables = unsafe { direct::slice(PhysAddr::new(tables.raw()), bytes) };
    let pool = Pool::with_config_in(tables, region, OneCpu, &plan);
    POOL.set(pool.expect("there is room for its tables"));
    let limits = Limits::new().reach(iova::LOW.1);
    DISK.set(Device::new(1, limits).expect("a device may have this reach"));
    at
}

/// The bytes that a device finds at an address of the bus.
fn on_the_bus(at: Iova, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    // SAFETY: the bytes of a mapping, in which nobody writes now.
    unsafe { direct::read(PhysAddr::new(at.raw()), &mut bytes) };
    bytes
}

/// Nothing is mapped, and no invariant is broken.
pub(crate) fn is_idle() {
    POOL.get().check().expect("every invariant holds");
    assert_eq!(
        (POOL.get().used_slots(), POOL.get().free_slots()),
        (0, SLOTS),
        "all slots are free"
    );
    POOL.get().reset_high_water();
}

/// The slots that were in use at a time, at most, since it was last idle.
pub(crate) fn high_water() -> usize {
    POOL.get().high_water()
}

/// Maps blocks of the heap, which the device does not reach, both ways. Here nobody plays the
/// device: what it would find is looked at, and what it would write was there before.
pub(crate) fn run() {
    let at = malloc::unused(open);
    let (pool, device) = (POOL.get(), DISK.get());
    let (mut mapped, mut bytes) = (0, 0);
    for number in 0..100_usize {
        let len = 1 + number * 2621 % pool.longest(device.limits()) as usize;
        let mut block: Vec<u8> = (0..len).map(|at| (at * 31 + number) as u8).collect();
        let original = Iova::new(block.as_ptr().addr() as u64);
        assert!(
            !device.reaches(original, len as u64),
            "the heap is above 4 GiB"
        );

        let sent = malloc::unused(|| pool.map(device, ToDevice(&block)));
        let sent = sent.expect("there is room");
        let place = sent.address();
        assert!(
            device.reaches(place, len as u64),
            "the device reaches {place}"
        );
        assert!(place.raw() + len as u64 <= 1 << 32);
        assert_eq!(
            on_the_bus(place, len),
            block,
            "it finds what was to be sent"
        );
        drop(sent);

        // What it has not written comes back as it was, and not as an earlier owner has left it.
        let before = block.clone();
        let received = pool
            .map(device, FromDevice(&mut block))
            .expect("there is room");
        assert_eq!(on_the_bus(received.address(), len), before);
        received.finish(len);
        assert_eq!(block, before);
        (mapped, bytes) = (mapped + 2, bytes + 2 * len);
    }
    is_idle();
    say!(
        "bounce",
        "{SLOTS} slots at {:#x}; {mapped} mappings of blocks above 4 GiB, {bytes} bytes, seen on \
         the bus below; all slots free again",
        at.raw(),
    );
}

/// The page that queues want, as the pool is configured.
const _: () = assert!(<Kernel as Config>::PAGE == PAGE);
