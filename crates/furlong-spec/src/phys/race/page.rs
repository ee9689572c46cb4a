//! Descriptors that record their frame and their plug, and are poisoned on drop.

use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use furlong::addr::{Address, Pfn};
use furlong::phys::Descriptor;

thread_local! {
    /// The plug that this thread's new descriptors belong to.
    static EPOCH: Cell<u64> = const { Cell::new(0) };
    /// The number of descriptors that this thread has made and dropped.
    static TURNS: Cell<u64> = const { Cell::new(0) };
}

/// Descriptors between two yields of the processor within a change. The yields let threads
/// interleave on a single core too.
const PAUSE: u64 = 509;

fn pause_at_times() {
    TURNS.set(TURNS.get() + 1);
    if TURNS.get().is_multiple_of(PAUSE) {
        thread::yield_now();
    }
}

/// The contents of a dropped descriptor: neither a frame nor an epoch.
const POISON: u64 = u64::MAX;

/// A descriptor of a frame, made by one plug.
pub(super) struct Page {
    frame: AtomicU64,
    epoch: AtomicU64,
}

impl Page {
    /// Assigns the descriptors that this thread makes from now on to this plug.
    pub(super) fn begin_epoch(epoch: u64) {
        EPOCH.set(epoch);
    }

    /// Its frame and its plug.
    pub(super) fn read(&self) -> (u64, u64) {
        let frame = self.frame.load(Ordering::SeqCst);
        (frame, self.epoch.load(Ordering::SeqCst))
    }
}

impl Descriptor for Page {
    fn of_frame(frame: Pfn) -> Self {
        pause_at_times();
        Self {
            frame: AtomicU64::new(frame.raw()),
            epoch: AtomicU64::new(EPOCH.get()),
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // Relaxed: it pairs with nothing. A reader that still uses it may see the poison late, but
        // never a torn word.
        self.frame.store(POISON, Ordering::Relaxed);
        self.epoch.store(POISON, Ordering::Relaxed);
        pause_at_times();
    }
}
