//! A simulated machine: memory that a device reaches, the pool that lies there, and a bus on which
//! the device finds nothing but what is mapped at the moment, and in its direction.
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

/// Bytes on both sides of the pool that nobody may touch.
const MARGIN: usize = 4096;
const CANARY: u8 = 0xc5;

/// Where the device sees the pool: nowhere near where the CPU has it.
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
        // SAFETY: in the memory, as just seen.
        unsafe { start.add(at) }
    }

    fn margins() -> impl Iterator<Item = usize> {
        (0..MARGIN).chain(MARGIN + LEN..MARGIN + LEN + MARGIN)
    }
}

/// Bytes for what a pool knows about itself.
const TABLES: usize = 1 << 15;

struct Tables(UnsafeCell<[MaybeUninit<u8>; TABLES]>);

// SAFETY: one test makes one pool of it, which has it for good.
unsafe impl Sync for Tables {}

struct Booted {
    pool: Pool<RegionMemory, Guest>,
    disk: Device,
}

/// In a confidential guest nothing of a transfer stays where the host can read it.
type Guest = Custom<AreaFirst, LockFree, ZeroUnmapped>;

/// One a test: `Machine<N>` has the memory and the pool of the number `N`.
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
        // SAFETY: behind the margin; this test's memory, which only its pool and its device use.
        let region = unsafe { RegionMemory::from_raw(memory.byte(MARGIN), LEN, Iova::new(BASE)) };
        let plan = Plan::new(region.slots(), 2);
        // SAFETY: a machine is booted once, or `set` below fails; nobody else knows of it.
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

    /// How many buffers were refused.
    pub(crate) fn refused() -> usize {
        REFUSED[N].load(Ordering::SeqCst)
    }

    /// Nothing is mapped any more, every slot is back, nobody has left the pool's memory.
    pub(crate) fn is_drained() {
        let pool = Self::pool();
        pool.check().expect("no invariant is broken");
        assert_eq!((pool.used_slots(), pool.free_slots()), (0, SLOTS));
        for at in Memory::margins() {
            // SAFETY: in the memory, and written when it was booted.
            let found = unsafe { MEMORY[N].byte(at).read() };
            assert_eq!(found, CANARY, "a byte beside the pool was written");
        }
    }

    /// All that a host can see.
    pub(crate) fn visible() -> Vec<u8> {
        let mut bytes = vec![0; LEN];
        let to = NonNull::from(bytes.as_mut_slice()).cast();
        // SAFETY: behind the margin, of this length; the vector is another memory.
        unsafe { MEMORY[N].byte(MARGIN).copy_to_nonoverlapping(to, LEN) };
        bytes
    }
}

// SAFETY: nobody asks for registers.
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

/// The device asked for memory that is not mapped for it, or not in this direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BusError;

/// What the device of a machine reaches.
pub(crate) struct Bus<B>(PhantomData<B>);

impl<const N: usize> Bus<Machine<N>> {
    /// Of this machine.
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }

    /// The memory at an address, if all of it is part of one mapping that goes this way.
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

    /// The device reads.
    pub(crate) fn read(&self, at: u64, to: &mut [u8]) -> Result<(), BusError> {
        let len = to.len();
        let from = Self::mapped(at, len, Direction::reaches_device)?;
        // SAFETY: `len` bytes of a mapping, as just seen; no reference to them exists.
        unsafe { from.copy_to_nonoverlapping(NonNull::from(to).cast(), len) };
        Ok(())
    }

    /// The device writes.
    pub(crate) fn write(&self, at: u64, from: &[u8]) -> Result<(), BusError> {
        let to = Self::mapped(at, from.len(), Direction::reaches_cpu)?;
        // SAFETY: as in `read`.
        unsafe { to.copy_from_nonoverlapping(NonNull::from(from).cast(), from.len()) };
        Ok(())
    }
}
