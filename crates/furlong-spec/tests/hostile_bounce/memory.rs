//! Memory whose every method is a hostile caller's: it panics when it is told to, refuses, and lies
//! about where devices see it.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use furlong::addr::{Address, Iova, PhysAddr};
use furlong::bounce::{Backing, Memory, NotConverted, SLOT, Wanted};
use furlong_spec::hostile::user_code;

/// What it says of the device addresses of what it hands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lie {
    None,
    /// All memory is at the same address.
    Same,
    /// Half a slot beside.
    Askew,
    /// At the end of the address space.
    Last,
    /// More than was wanted, or less.
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

/// Memory of the heap, each block in an allocation of its own.
#[derive(Debug)]
pub(crate) struct Hostile {
    next: AtomicU64,
    lie: Lie,
    /// The call of these that is refused, from 1; 0 is none.
    refused: AtomicUsize,
    calls: AtomicUsize,
    /// Blocks that are out, and of those the ones that nobody will bring back: their conversion
    /// failed or panicked.
    out: AtomicI64,
    lost: AtomicI64,
    /// What is out, to be adopted.
    blocks: Mutex<Vec<Backing>>,
    /// The originals of mappings by address, from address 0 on.
    originals: Box<[AtomicU8]>,
}

/// Bytes of originals.
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

    /// The originals that are mapped by this address.
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

    /// Refuses the call of this number from now on; 0 is none.
    pub(crate) fn refuse(&self, call: usize) {
        self.calls.store(0, Ordering::SeqCst);
        self.refused.store(call, Ordering::SeqCst);
    }

    /// The first block is told the truth about: without it there is no pool.
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

// SAFETY: each block is an allocation of its own, of at least the length that it says, until it is
// freed; `read` and `write` copy as many bytes as they are told, one by one.
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
        // SAFETY: the caller gives back what `obtain` leaked.
        drop(unsafe { Box::from_raw(memory.as_ptr()) });
        user_code("Memory::free");
    }

    fn share(&self, _: &Backing) -> Result<(), NotConverted> {
        self.lost.fetch_add(1, Ordering::SeqCst);
        user_code("Memory::share");
        // It did not panic, and was as private as before or is shared.
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
            // SAFETY: `to` is good for writing `len` bytes, of which this is one.
            let place = unsafe { to.add(at) };
            // SAFETY: as above.
            unsafe { place.write(byte.load(Ordering::SeqCst)) };
        }
        user_code("Memory::read, after");
    }

    unsafe fn write(&self, to: PhysAddr, from: NonNull<u8>, len: usize) {
        user_code("Memory::write, before");
        for (at, byte) in self.originals(to, len).iter().enumerate() {
            // SAFETY: `from` is good for reading `len` bytes, of which this is one.
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
