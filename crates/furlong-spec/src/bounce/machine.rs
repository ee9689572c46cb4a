//! A simulated machine: memory for originals, memory for blocks, a device, and everything that can
//! fail.
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

/// Physical address of the first byte of the originals' memory: its low bits are zero.
pub const RAM: u64 = 1 << 40;

/// Bytes on both sides of every block that nobody may touch.
const MARGIN: usize = 4096;
const CANARY: u8 = 0xc5;

/// Something that the machine can be told to refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// To give memory for a block.
    Obtain,
    /// To share it.
    Share,
    /// To make it private again.
    Unshare,
    /// To give it at a multiple of a slot.
    Align,
    /// To give as much as was asked for.
    Length,
}

#[derive(Debug)]
struct Owned {
    device: u64,
    /// The margin, the block, the margin.
    all: NonNull<u8>,
    len: usize,
    shared: bool,
}

// SAFETY: it owns the memory that it names.
unsafe impl Send for Owned {}

#[derive(Debug)]
struct Blocks {
    owned: Vec<Owned>,
    addresses: Addresses,
    /// What is refused next, and how many times it goes well before.
    refusals: Vec<(Refusal, u64)>,
}

/// A machine with memory for originals, and blocks where `Addresses` says.
#[derive(Debug)]
pub struct Machine {
    ram: NonNull<u8>,
    ram_len: usize,
    blocks: Mutex<Blocks>,
    tendings: AtomicU64,
    /// Requests for memory that may wait.
    patient: AtomicU64,
}

// SAFETY: memory for originals is reached through raw copies, which its users keep apart.
unsafe impl Send for Machine {}
// SAFETY: as above; the rest is under a lock.
unsafe impl Sync for Machine {}

fn layout(len: usize) -> Layout {
    Layout::from_size_align(len.max(1), 4096).expect("it is small")
}

impl Machine {
    /// A machine with so many bytes for originals, all zero.
    ///
    /// # Panics
    /// If there is no memory.
    #[must_use]
    pub fn new(ram_len: usize, addresses: Addresses) -> Self {
        // SAFETY: the size is not 0.
        let ram = unsafe { alloc(layout(ram_len)) };
        let ram = NonNull::new(ram).expect("there is memory");
        // SAFETY: just obtained, of this length.
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

    /// Refuses this after it went well `after` times.
    pub fn refuse(&self, what: Refusal, after: u64) {
        self.blocks().refusals.push((what, after));
    }

    /// Refuses nothing any more.
    pub fn refuse_nothing(&self) {
        self.blocks().refusals.clear();
    }

    /// Blocks that were obtained and not freed.
    pub fn owned(&self) -> usize {
        self.blocks().owned.len()
    }

    /// Blocks that were shared and not made private.
    pub fn shared(&self) -> usize {
        let blocks = self.blocks();
        blocks.owned.iter().filter(|owned| owned.shared).count()
    }

    /// How often somebody asked for the pool to be tended.
    pub fn tendings(&self) -> u64 {
        self.tendings.load(Ordering::SeqCst)
    }

    /// How often memory was asked for that may wait.
    pub fn patient(&self) -> u64 {
        self.patient.load(Ordering::SeqCst)
    }

    fn ram_at(&self, at: u64, len: usize) -> NonNull<u8> {
        let at = usize::try_from(at - RAM).expect("it is small");
        assert!(at <= self.ram_len && len <= self.ram_len - at, "beyond RAM");
        // SAFETY: in the memory, as just seen.
        unsafe { self.ram.add(at) }
    }

    /// The CPU writes an original.
    pub fn write_ram(&self, at: u64, bytes: &[u8]) {
        let to = self.ram_at(at, bytes.len());
        // SAFETY: in the memory, and no reference to it exists.
        unsafe { to.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
    }

    /// The CPU reads an original.
    pub fn read_ram(&self, at: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        let to = NonNull::from(bytes.as_mut_slice()).cast();
        // SAFETY: as in `write_ram`.
        unsafe { self.ram_at(at, len).copy_to_nonoverlapping(to, len) };
        bytes
    }

    /// Where `len` bytes at a device address are.
    fn bus(&self, at: u64, len: usize) -> NonNull<u8> {
        let blocks = self.blocks();
        let end = at + len as u64;
        let holds = |owned: &&Owned| owned.device <= at && end <= owned.device + owned.len as u64;
        let owned = blocks.owned.iter().find(holds);
        let owned = owned.unwrap_or_else(|| panic!("no memory at {at:#x}"));
        let offset = MARGIN + usize::try_from(at - owned.device).expect("it is small");
        // SAFETY: in the block, as just seen.
        unsafe { owned.all.add(offset) }
    }

    /// The device writes to its bus.
    pub fn write_bus(&self, at: u64, bytes: &[u8]) {
        let to = self.bus(at, bytes.len());
        // SAFETY: in the block, and no reference to it exists.
        unsafe { to.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
    }

    /// The device reads from its bus.
    pub fn read_bus(&self, at: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        let to = NonNull::from(bytes.as_mut_slice()).cast();
        // SAFETY: as in `write_bus`.
        unsafe { self.bus(at, len).copy_to_nonoverlapping(to, len) };
        bytes
    }

    /// Whether this is to be refused now.
    fn refuses(&self, what: Refusal) -> bool {
        let mut blocks = self.blocks();
        let mut of_it = blocks.refusals.iter_mut().filter(|(of, _)| *of == what);
        let Some((_, after)) = of_it.next() else {
            return false;
        };
        let now = *after == 0;
        *after = after.saturating_sub(1);
        if now {
            let at = blocks
                .refusals
                .iter()
                .position(|refusal| *refusal == (what, 0));
            at.map(|at| blocks.refusals.remove(at));
        }
        now
    }

    /// Sees to it that nobody touched what is around a block, and frees it.
    fn release(owned: &Owned) {
        for at in [0, MARGIN + owned.len] {
            for byte in at..at + MARGIN {
                // SAFETY: in the block's memory, margins included.
                let found = unsafe { owned.all.add(byte) };
                // SAFETY: initialised when it was obtained.
                let found = unsafe { found.read() };
                assert_eq!(found, CANARY, "a byte around a block was written");
            }
        }
        // SAFETY: obtained with this layout.
        unsafe { dealloc(owned.all.as_ptr(), layout(owned.len + 2 * MARGIN)) };
    }
}

// SAFETY: what is obtained comes from the global allocator, and is freed once; `read` and `write`
// are one copy each, of the length asked for.
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
        // SAFETY: just obtained, of this length.
        unsafe { all.write_bytes(CANARY, wanted.len + 2 * MARGIN) };
        blocks.owned.push(Owned {
            device,
            all,
            len: wanted.len,
            shared: false,
        });
        Some(Backing {
            // SAFETY: behind the margin.
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
            // SAFETY: behind the margin.
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
        // SAFETY: in RAM, as `ram_at` has seen; the caller vouches for the other side.
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

impl Machine {
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
}

impl Drop for Machine {
    fn drop(&mut self) {
        for owned in &self.blocks().owned {
            Self::release(owned);
        }
        // SAFETY: obtained with this layout.
        unsafe { dealloc(self.ram.as_ptr(), layout(self.ram_len)) };
    }
}

const _: () = assert!(RAM.is_multiple_of(SLOT));
