//! A simulated machine: memory for originals, memory for blocks, a device, and planned failures.
#![expect(
    unsafe_code,
    reason = "it implements the contract of whoever brings memory"
)]

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use furlong::addr::{Address, Iova, PhysAddr};
use furlong::bounce::{Backing, Haste, Memory, NotConverted, SLOT, Wanted};

use super::addresses::Addresses;

/// Physical address of the first byte of the originals' memory. Its low bits are zero.
pub const RAM: u64 = 1 << 40;

/// Guard bytes before and after every block. Nothing may write them.
const MARGIN: usize = 4096;
const CANARY: u8 = 0xc5;

/// A failure that the machine can be told to produce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No memory for a block.
    Obtain,
    /// A block cannot be shared with the device.
    Share,
    /// A block cannot be made private again.
    Unshare,
    /// A block is not aligned to a slot.
    Align,
    /// A block is shorter than requested.
    Length,
}

#[derive(Debug)]
struct Owned {
    device: u64,
    /// The memory of guard bytes, block, guard bytes, in this order.
    all: NonNull<u8>,
    len: usize,
    shared: bool,
}

// SAFETY: it owns the memory that it points to.
unsafe impl Send for Owned {}

#[derive(Debug)]
struct Blocks {
    owned: Vec<Owned>,
    addresses: Addresses,
    /// Planned failures, each with the number of successes before it.
    refusals: Vec<(Refusal, u64)>,
}

/// A machine with memory for originals, and blocks at the addresses that `Addresses` gives.
#[derive(Debug)]
pub struct Machine {
    ram: NonNull<u8>,
    ram_len: usize,
    blocks: Mutex<Blocks>,
    tendings: AtomicU64,
    /// Requests for memory that were allowed to sleep.
    patient: AtomicU64,
}

// SAFETY: originals are accessed through raw copies only, whose callers keep them apart.
unsafe impl Send for Machine {}
// SAFETY: as above; everything else is under a lock.
unsafe impl Sync for Machine {}

fn layout(len: usize) -> Layout {
    Layout::from_size_align(len.max(1), 4096).expect("it is small")
}

impl Machine {
    /// A machine with `ram_len` bytes for originals, all zero.
    ///
    /// # Panics
    /// If memory is short.
    #[must_use]
    pub fn new(ram_len: usize, addresses: Addresses) -> Self {
        // SAFETY: the size is not 0.
        let ram = unsafe { alloc(layout(ram_len)) };
        let ram = NonNull::new(ram).expect("there is memory");
        // SAFETY: just allocated, with this length.
        unsafe { ram.write_bytes(0, ram_len) };
        Self {
            ram,
            ram_len,
            blocks: Mutex::new(Blocks {
                owned: Vec::new(),
                addresses,
                refusals: Vec::new(),
            }),
            tendings: AtomicU64::new(0),
            patient: AtomicU64::new(0),
        }
    }

    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes `what` fail once, after `after` successes.
    pub fn refuse(&self, what: Refusal, after: u64) {
        self.blocks().refusals.push((what, after));
    }

    /// Cancels all planned failures.
    pub fn refuse_nothing(&self) {
        self.blocks().refusals.clear();
    }

    /// The number of blocks allocated and not freed.
    pub fn owned(&self) -> usize {
        self.blocks().owned.len()
    }

    /// The number of blocks shared and not made private again.
    pub fn shared(&self) -> usize {
        let blocks = self.blocks();
        blocks.owned.iter().filter(|owned| owned.shared).count()
    }

    /// The number of requests to tend the pool.
    pub fn tendings(&self) -> u64 {
        self.tendings.load(Ordering::SeqCst)
    }

    /// The number of requests for memory that were allowed to sleep.
    pub fn patient(&self) -> u64 {
        self.patient.load(Ordering::SeqCst)
    }

    fn ram_at(&self, at: u64, len: usize) -> NonNull<u8> {
        let at = usize::try_from(at - RAM).expect("it is small");
        assert!(at <= self.ram_len && len <= self.ram_len - at, "beyond RAM");
        // SAFETY: within the memory, as checked above.
        unsafe { self.ram.add(at) }
    }

    /// Writes to an original, as the CPU.
    pub fn write_ram(&self, at: u64, bytes: &[u8]) {
        let to = self.ram_at(at, bytes.len());
        // SAFETY: within the memory, and no reference to it exists.
        unsafe { to.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
    }

    /// Reads from an original, as the CPU.
    pub fn read_ram(&self, at: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        let to = NonNull::from(bytes.as_mut_slice()).cast();
        // SAFETY: as in `write_ram`.
        unsafe { self.ram_at(at, len).copy_to_nonoverlapping(to, len) };
        bytes
    }

    /// The memory of `len` bytes at a device address.
    fn bus(&self, at: u64, len: usize) -> NonNull<u8> {
        let blocks = self.blocks();
        let end = at + len as u64;
        let holds = |owned: &&Owned| owned.device <= at && end <= owned.device + owned.len as u64;
        let owned = blocks.owned.iter().find(holds);
        let owned = owned.unwrap_or_else(|| panic!("no memory at {at:#x}"));
        let offset = MARGIN + usize::try_from(at - owned.device).expect("it is small");
        // SAFETY: within the block, as checked above.
        unsafe { owned.all.add(offset) }
    }

    /// Writes at a bus address, as the device.
    pub fn write_bus(&self, at: u64, bytes: &[u8]) {
        let to = self.bus(at, bytes.len());
        // SAFETY: within the block, and no reference to it exists.
        unsafe { to.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
    }

    /// Reads at a bus address, as the device.
    pub fn read_bus(&self, at: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        let to = NonNull::from(bytes.as_mut_slice()).cast();
        // SAFETY: as in `write_bus`.
        unsafe { self.bus(at, len).copy_to_nonoverlapping(to, len) };
        bytes
    }

    /// True if `what` has to fail now. Counts down the planned failures.
    fn refuses(&self, what: Refusal) -> bool {
        let mut blocks = self.blocks();
        let next = blocks.refusals.iter().position(|(of, _)| *of == what);
        let Some(next) = next else {
            return false;
        };
        let (_, after) = &mut blocks.refusals[next];
        let now = *after == 0;
        if now {
            blocks.refusals.remove(next);
        } else {
            *after -= 1;
        }
        now
    }

    fn convert(&self, backing: &Backing, what: Refusal, to: bool) -> Result<(), NotConverted> {
        if self.refuses(what) {
            return Err(NotConverted);
        }
        let mut blocks = self.blocks();
        let same = |owned: &&mut Owned| owned.device == backing.device.raw();
        let owned = blocks.owned.iter_mut().find(same).expect("it is of here");
        assert_ne!(owned.shared, to, "it was converted twice");
        owned.shared = to;
        Ok(())
    }

    /// Checks that the guard bytes around a block are unchanged, and frees it.
    fn release(owned: &Owned) {
        for at in [0, MARGIN + owned.len] {
            for byte in at..at + MARGIN {
                // SAFETY: within the block's memory, guard bytes included.
                let found = unsafe { owned.all.add(byte) };
                // SAFETY: initialised at allocation.
                let found = unsafe { found.read() };
                assert_eq!(found, CANARY, "a byte around a block was written");
            }
        }
        // SAFETY: allocated with this layout.
        unsafe { dealloc(owned.all.as_ptr(), layout(owned.len + 2 * MARGIN)) };
    }
}

// SAFETY: blocks come from the global allocator and are freed once; `read` and `write` are one copy
// each, of the requested length.
unsafe impl Memory for Machine {
    fn obtain(&self, wanted: &Wanted) -> Option<Backing> {
        if wanted.haste == Haste::MayWait {
            self.patient.fetch_add(1, Ordering::SeqCst);
        }
        if self.refuses(Refusal::Obtain) {
            return None;
        }
        let beside = if self.refuses(Refusal::Align) { 512 } else { 0 };
        let short = if self.refuses(Refusal::Length) {
            2048
        } else {
            0
        };
        let mut blocks = self.blocks();
        blocks.owned.try_reserve(1).ok()?;
        let reach = wanted.reach.raw();
        let device = beside + blocks.addresses.place(wanted.len, wanted.align, reach)?;
        // SAFETY: the size is not 0.
        let all = unsafe { alloc(layout(wanted.len + 2 * MARGIN)) };
        let all = NonNull::new(all)?;
        // SAFETY: just allocated, with this length.
        unsafe { all.write_bytes(CANARY, wanted.len + 2 * MARGIN) };
        blocks.owned.push(Owned {
            device,
            all,
            len: wanted.len,
            shared: false,
        });
        Some(Backing {
            // SAFETY: within the allocation: the block follows the guard bytes.
            start: unsafe { all.add(MARGIN) },
            device: Iova::new(device),
            len: wanted.len - short,
        })
    }

    fn adopt(&self, device: Iova, len: usize) -> Option<Backing> {
        let blocks = self.blocks();
        let same = |owned: &&Owned| owned.device == device.raw() && owned.len == len;
        let owned = blocks.owned.iter().find(same)?;
        Some(Backing {
            // SAFETY: within the allocation: the block follows the guard bytes.
            start: unsafe { owned.all.add(MARGIN) },
            device,
            len,
        })
    }

    unsafe fn free(&self, backing: Backing) {
        let mut blocks = self.blocks();
        let same = |owned: &Owned| owned.device == backing.device.raw();
        let at = blocks.owned.iter().position(same).expect("it is of here");
        let owned = blocks.owned.swap_remove(at);
        assert!(!owned.shared, "shared memory was freed");
        Self::release(&owned);
    }

    fn share(&self, backing: &Backing) -> Result<(), NotConverted> {
        self.convert(backing, Refusal::Share, true)
    }

    fn unshare(&self, backing: &Backing) -> Result<(), NotConverted> {
        self.convert(backing, Refusal::Unshare, false)
    }

    unsafe fn read(&self, from: PhysAddr, to: NonNull<u8>, len: usize) {
        // SAFETY: within RAM, as `ram_at` has checked; the caller vouches for the other side.
        unsafe { self.ram_at(from.raw(), len).copy_to_nonoverlapping(to, len) };
    }

    unsafe fn write(&self, to: PhysAddr, from: NonNull<u8>, len: usize) {
        // SAFETY: as in `read`.
        unsafe {
            self.ram_at(to.raw(), len)
                .copy_from_nonoverlapping(from, len);
        };
    }

    fn wants_tending(&self) {
        self.tendings.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        for owned in &self.blocks().owned {
            Self::release(owned);
        }
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.ram.as_ptr(), layout(self.ram_len)) };
    }
}

const _: () = assert!(RAM.is_multiple_of(SLOT));
