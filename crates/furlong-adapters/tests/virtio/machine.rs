//! A simulated machine: memory that a device can access, a pool in it, and a bus. On the bus the
//! device can access only memory that is currently mapped, and only in the direction of the
//! mapping.
#![expect(unsafe_code, reason = "it has memory that a driver and a device share")]

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use furlong::addr::Iova;
use furlong::bounce::{
    AreaFirst, Custom, Device, Direction, Limits, LockFree, MapError, OneCpu, Plan, Pool,
    RegionMemory, SLOT, ZeroUnmapped,
};
use furlong::check::Check;
use furlong_adapters::virtio::Board;

/// Slots of the pool.
pub(crate) const SLOTS: usize = 512;

const LEN: usize = SLOTS * SLOT as usize;

/// Bytes on both sides of the pool that must not be touched.
const MARGIN: usize = 4096;
const CANARY: u8 = 0xc5;

/// The device address of the pool, which differs from its CPU address.
const BASE: u64 = 0x5_0000_0000;

#[repr(C, align(4096))]
struct Memory(UnsafeCell<[u8; MARGIN + LEN + MARGIN]>);

// SAFETY: the CPU and the device reach it through raw copies, which each test keeps apart.
unsafe impl Sync for Memory {}

impl Memory {
    const fn new() -> Self {
        Self(UnsafeCell::new([0; MARGIN + LEN + MARGIN]))
    }

    fn byte(&self, at: usize) -> NonNull<u8> {
        assert!(at < MARGIN + LEN + MARGIN);
        let start = NonNull::new(self.0.get().cast::<u8>()).expect("a static lies somewhere");
        // SAFETY: in the memory, as just checked.
        unsafe { start.add(at) }
    }

    fn margins() -> impl Iterator<Item = usize> {
        (0..MARGIN).chain(MARGIN + LEN..MARGIN + LEN + MARGIN)
    }
}

/// Bytes for the tables of a pool.
const TABLES: usize = 1 << 15;

struct Tables(UnsafeCell<[MaybeUninit<u8>; TABLES]>);

// SAFETY: one test makes one pool from it, which keeps it for good.
unsafe impl Sync for Tables {}

struct Booted {
    pool: Pool<RegionMemory, Guest>,
    disk: Device,
}

/// As in a confidential guest, no data of a transfer stays visible to the host.
type Guest = Custom<AreaFirst, LockFree, ZeroUnmapped>;

/// One machine for each test: `Machine<N>` has the memory and the pool with number `N`.
const MACHINES: usize = 8;
static MEMORY: [Memory; MACHINES] = [const { Memory::new() }; MACHINES];
static TABLE: [Tables; MACHINES] =
    [const { Tables(UnsafeCell::new([MaybeUninit::uninit(); TABLES])) }; MACHINES];
static BOOTED: [OnceLock<Booted>; MACHINES] = [const { OnceLock::new() }; MACHINES];
static REFUSED: [AtomicUsize; MACHINES] = [const { AtomicUsize::new(0) }; MACHINES];

/// The machine of this number.
pub(crate) struct Machine<const N: usize>;

impl<const N: usize> Machine<N> {
    /// Makes its pool in its static memory, for a disk with these limits.
    pub(crate) fn boot(limits: Limits) {
        let memory = &MEMORY[N];
        for at in Memory::margins() {
            // SAFETY: in the memory, which nobody else uses yet.
            unsafe { memory.byte(at).write(CANARY) };
        }
        // SAFETY: behind the margin. Only the pool and the device of this test use this memory.
        let region = unsafe { RegionMemory::from_raw(memory.byte(MARGIN), LEN, Iova::new(BASE)) };
        let plan = Plan::new(region.slots(), 2);
        // SAFETY: a machine is booted once, or `set` below fails; nobody else uses the tables.
        let tables = unsafe { &mut *TABLE[N].0.get() };
        let booted = Booted {
            pool: Pool::with_config_in(tables, region, OneCpu, &plan).expect("there is memory"),
            disk: Device::new(1, limits).expect("good limits"),
        };
        assert!(
            BOOTED[N].set(booted).is_ok(),
            "each test has its own machine"
        );
    }

    fn booted() -> &'static Booted {
        BOOTED[N].get().expect("it was booted")
    }

    /// The number of buffers that were refused.
    pub(crate) fn refused() -> usize {
        REFUSED[N].load(Ordering::SeqCst)
    }

    /// Asserts that nothing is mapped, all slots are free, and no byte around the pool was written.
    pub(crate) fn is_drained() {
        let pool = Self::pool();
        pool.check().expect("no invariant is broken");
        assert_eq!((pool.used_slots(), pool.free_slots()), (0, SLOTS));
        for at in Memory::margins() {
            // SAFETY: in the memory, and initialised by `boot`.
            let found = unsafe { MEMORY[N].byte(at).read() };
            assert_eq!(found, CANARY, "a byte beside the pool was written");
        }
    }

    /// All memory that a host can see.
    pub(crate) fn visible() -> Vec<u8> {
        let mut bytes = vec![0; LEN];
        let to = NonNull::from(bytes.as_mut_slice()).cast();
        // SAFETY: behind the margin, with this length; the vector is separate memory.
        unsafe { MEMORY[N].byte(MARGIN).copy_to_nonoverlapping(to, LEN) };
        bytes
    }
}

// SAFETY: nobody calls `mmio`.
unsafe impl<const N: usize> Board for Machine<N> {
    type Memory = RegionMemory;
    type Config = Guest;

    fn pool() -> &'static Pool<RegionMemory, Guest> {
        &Self::booted().pool
    }

    fn device() -> &'static Device {
        &Self::booted().disk
    }

    unsafe fn mmio(_: u64, _: usize) -> NonNull<u8> {
        unreachable!("the transport is our own")
    }

    fn refused(_: MapError) {
        REFUSED[N].fetch_add(1, Ordering::SeqCst);
    }
}

/// The device accessed memory that is not mapped for it, or not in this direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BusError;

/// The memory that the device of a machine can access.
pub(crate) struct Bus<B>(PhantomData<B>);

impl<const N: usize> Bus<Machine<N>> {
    /// The bus of this machine.
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }

    /// The memory at an address, if all of it is part of one mapping in this direction.
    fn mapped(at: u64, len: usize, goes: fn(Direction) -> bool) -> Result<NonNull<u8>, BusError> {
        let state = Machine::<N>::pool().save().expect("there is memory");
        let mut mappings = state.mappings.iter();
        let holds = mappings.any(|mapping| {
            let block = state.blocks[mapping.block as usize].device;
            let start = block + u64::from(mapping.slot) * SLOT + u64::from(mapping.offset);
            let last = start + u64::from(mapping.len);
            let direction = Direction::from_number(mapping.direction);
            let end = at.checked_add(len as u64);
            start <= at && end.is_some_and(|end| end <= last) && direction.is_some_and(goes)
        });
        let offset = at.wrapping_sub(BASE) as usize;
        holds
            .then(|| MEMORY[N].byte(MARGIN + offset))
            .ok_or(BusError)
    }

    /// A read by the device.
    pub(crate) fn read(&self, at: u64, to: &mut [u8]) -> Result<(), BusError> {
        let len = to.len();
        let from = Self::mapped(at, len, Direction::reaches_device)?;
        // SAFETY: `len` bytes of a mapping, as just checked; no reference to them exists.
        unsafe { from.copy_to_nonoverlapping(NonNull::from(to).cast(), len) };
        Ok(())
    }

    /// A write by the device.
    pub(crate) fn write(&self, at: u64, from: &[u8]) -> Result<(), BusError> {
        let to = Self::mapped(at, from.len(), Direction::reaches_cpu)?;
        // SAFETY: as in `read`.
        unsafe { to.copy_from_nonoverlapping(NonNull::from(from).cast(), from.len()) };
        Ok(())
    }
}
