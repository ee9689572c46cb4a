//! Memory with hostile methods. They panic when told to, refuse, and lie about the device addresses
//! of blocks.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use furlong::addr::{Address, Iova, PhysAddr};
use furlong::bounce::{Backing, Memory, NotConverted, SLOT, Wanted};
use furlong_spec::hostile::user_code;

/// The lie about the device addresses of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lie {
    None,
    /// All memory is at the same address.
    Same,
    /// Every block is off by half a slot.
    Askew,
    /// Every block is at the end of the address space.
    Last,
    /// Blocks are longer than requested.
    Longer,
    Shorter,
}

pub(crate) const LIES: [Lie; 6] = [
    Lie::None,
    Lie::Same,
    Lie::Askew,
    Lie::Last,
    Lie::Longer,
    Lie::Shorter,
];

/// Memory from the heap. Each block is a separate allocation.
#[derive(Debug)]
pub(crate) struct Hostile {
    next: AtomicU64,
    lie: Lie,
    /// Number of the call that is refused, counted from 1; 0 is none.
    refused: AtomicUsize,
    calls: AtomicUsize,
    /// The number of blocks not freed, and the number among them that will never be freed because
    /// their conversion failed or panicked.
    out: AtomicI64,
    lost: AtomicI64,
    /// The blocks not freed, for adoption.
    blocks: Mutex<Vec<Backing>>,
    /// The originals of mappings by address. The first one is at address 0.
    originals: Box<[AtomicU8]>,
}

/// Bytes of memory for originals.
pub(crate) const ORIGINALS: usize = 1 << 14;

fn again(backing: &Backing) -> Backing {
    Backing { ..*backing }
}

impl Hostile {
    pub(crate) fn new(lie: Lie, refused: usize) -> Self {
        Self {
            next: AtomicU64::new(1 << 20),
            lie,
            refused: AtomicUsize::new(refused),
            calls: AtomicUsize::new(0),
            out: AtomicI64::new(0),
            lost: AtomicI64::new(0),
            blocks: Mutex::new(Vec::new()),
            originals: (0..ORIGINALS).map(|at| AtomicU8::new(at as u8)).collect(),
        }
    }

    /// The originals at this address.
    fn originals(&self, at: PhysAddr, len: usize) -> &[AtomicU8] {
        let start = usize::try_from(at.raw()).expect("it is an original's");
        &self.originals[start..start + len]
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Backing>> {
        self.blocks.lock().expect("nothing panics under it")
    }

    pub(crate) fn out(&self) -> i64 {
        self.out.load(Ordering::SeqCst)
    }

    pub(crate) fn lost(&self) -> i64 {
        self.lost.load(Ordering::SeqCst)
    }

    fn refuses(&self) -> bool {
        self.calls.fetch_add(1, Ordering::SeqCst) + 1 == self.refused.load(Ordering::SeqCst)
    }

    /// Refuses the call of this number, counted from now on; 0 is none.
    pub(crate) fn refuse(&self, call: usize) {
        self.calls.store(0, Ordering::SeqCst);
        self.refused.store(call, Ordering::SeqCst);
    }

    /// The address and length to report. They are true for the first block, without which there is
    /// no pool.
    fn place(&self, len: usize) -> (u64, usize) {
        let at = self.next.fetch_add(1 << 20, Ordering::SeqCst);
        let slot = SLOT as usize;
        match self.lie {
            _ if at == 1 << 20 => (at, len),
            Lie::None => (at, len),
            Lie::Same => (1 << 20, len),
            Lie::Askew => (at + SLOT / 2, len),
            Lie::Last => (0_u64.wrapping_sub(len as u64), len),
            Lie::Longer => (at, len + slot),
            Lie::Shorter => (at, len - slot),
        }
    }
}

// SAFETY: each block is a separate allocation of at least its reported length until it is freed;
// `read` and `write` copy the requested number of bytes, one by one.
unsafe impl Memory for Hostile {
    fn obtain(&self, wanted: &Wanted) -> Option<Backing> {
        user_code("Memory::obtain");
        if self.refuses() {
            return None;
        }
        let (device, len) = self.place(wanted.len);
        let memory: Box<[u8]> = vec![0xa5; len].into();
        let start = NonNull::from(Box::leak(memory)).cast();
        self.out.fetch_add(1, Ordering::SeqCst);
        let device = Iova::from_raw(device);
        let backing = Backing { start, device, len };
        self.kept().push(again(&backing));
        Some(backing)
    }

    fn adopt(&self, device: Iova, len: usize) -> Option<Backing> {
        user_code("Memory::adopt");
        if self.refuses() {
            return None;
        }
        let kept = self.kept();
        let mut own = kept.iter().filter(|kept| kept.device == device);
        own.find(|kept| kept.len == len).map(again)
    }

    unsafe fn free(&self, backing: Backing) {
        self.out.fetch_sub(1, Ordering::SeqCst);
        self.kept().retain(|kept| kept.start != backing.start);
        let memory = NonNull::slice_from_raw_parts(backing.start, backing.len);
        // SAFETY: the caller returns the box that `obtain` leaked.
        drop(unsafe { Box::from_raw(memory.as_ptr()) });
        user_code("Memory::free");
    }

    fn share(&self, _: &Backing) -> Result<(), NotConverted> {
        self.lost.fetch_add(1, Ordering::SeqCst);
        user_code("Memory::share");
        // No panic: the block is either shared, or as private as before.
        self.lost.fetch_sub(1, Ordering::SeqCst);
        if self.refuses() {
            Err(NotConverted)
        } else {
            Ok(())
        }
    }

    fn unshare(&self, _: &Backing) -> Result<(), NotConverted> {
        self.lost.fetch_add(1, Ordering::SeqCst);
        user_code("Memory::unshare");
        if self.refuses() {
            return Err(NotConverted);
        }
        self.lost.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }

    unsafe fn read(&self, from: PhysAddr, to: NonNull<u8>, len: usize) {
        user_code("Memory::read, before");
        for (at, byte) in self.originals(from, len).iter().enumerate() {
            // SAFETY: `to` is valid for writes of `len` bytes, and this is one of them.
            let place = unsafe { to.add(at) };
            // SAFETY: as above.
            unsafe { place.write(byte.load(Ordering::SeqCst)) };
        }
        user_code("Memory::read, after");
    }

    unsafe fn write(&self, to: PhysAddr, from: NonNull<u8>, len: usize) {
        user_code("Memory::write, before");
        for (at, byte) in self.originals(to, len).iter().enumerate() {
            // SAFETY: `from` is valid for reads of `len` bytes, and this is one of them.
            let place = unsafe { from.add(at) };
            // SAFETY: as above.
            byte.store(unsafe { place.read() }, Ordering::SeqCst);
        }
        user_code("Memory::write, after");
    }

    fn wants_tending(&self) {
        user_code("Memory::wants_tending");
    }
}
