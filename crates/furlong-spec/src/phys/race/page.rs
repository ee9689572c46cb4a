//! Descriptors that say what they are of, and that they are gone.
#![forbid(unsafe_code)]

use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use furlong::addr::{Address, Pfn};
use furlong::phys::Descriptor;

thread_local! {
    /// Which plug of this thread descriptors are made by.
    static EPOCH: Cell<u64> = const { Cell::new(0) };
    /// Descriptors that this thread has made and dropped.
    static TURNS: Cell<u64> = const { Cell::new(0) };
}

/// Once in so many times the writer lets others run in the middle of a change, so that threads
/// meet on a single core too.
const PAUSE: u64 = 509;

fn pause_at_times() {
    TURNS.set(TURNS.get() + 1);
    if TURNS.get().is_multiple_of(PAUSE) {
        thread::yield_now();
    }
}

/// What a descriptor holds after its drop: neither a frame nor an epoch.
const POISON: u64 = u64::MAX;

/// A descriptor of a frame, made by one plug.
pub(super) struct Page {
    frame: AtomicU64,
    epoch: AtomicU64,
}

impl Page {
    /// Descriptors that this thread makes from now on are of this plug.
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
        // Relaxed: a reader that still has it may see this sooner or later, and not a torn word.
        self.frame.store(POISON, Ordering::Relaxed);
        self.epoch.store(POISON, Ordering::Relaxed);
        pause_at_times();
    }
}
