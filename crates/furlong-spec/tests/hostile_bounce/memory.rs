//! Memory whose every method is a hostile caller's: it panics when it is told to, refuses, and lies
//! about where devices see it.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

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
    refused: usize,
    calls: AtomicUsize,
    /// Blocks that are out, and of those the ones that nobody will bring back: their conversion
    /// failed or panicked.
    out: AtomicI64,
    lost: AtomicI64,
}

impl Hostile {
    pub(crate) fn new(lie: Lie, refused: usize) -> Self {
        Self {
            next: AtomicU64::new(1 << 20),
            lie,
            refused,
            calls: AtomicUsize::new(0),
            out: AtomicI64::new(0),
            lost: AtomicI64::new(0),
        }
    }

    pub(crate) fn out(&self) -> i64 {
        self.out.load(Ordering::SeqCst)
    }

    pub(crate) fn lost(&self) -> i64 {
        self.lost.load(Ordering::SeqCst)
    }

    fn refuses(&self) -> bool {
        self.calls.fetch_add(1, Ordering::SeqCst) + 1 == self.refused
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
// freed; `read` and `write` are never asked for, as no test maps by physical address.
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
        Some(Backing { start, device, len })
    }

    unsafe fn free(&self, backing: Backing) {
        self.out.fetch_sub(1, Ordering::SeqCst);
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

    unsafe fn read(&self, from: PhysAddr, _: NonNull<u8>, _: usize) {
        unreachable!("nothing is mapped by its address {from:?}");
    }

    unsafe fn write(&self, to: PhysAddr, _: NonNull<u8>, _: usize) {
        unreachable!("nothing is mapped by its address {to:?}");
    }

    fn wants_tending(&self) {
        user_code("Memory::wants_tending");
    }
}
