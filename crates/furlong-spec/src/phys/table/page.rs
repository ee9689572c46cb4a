//! The descriptors of the specification's tables.

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, Ordering};

use furlong::addr::Pfn;
use furlong::phys::Descriptor;

thread_local! {
    /// The number of descriptors that this thread has made and not dropped.
    static ALIVE: Cell<usize> = const { Cell::new(0) };
}

/// The number of descriptors that this thread has made and not dropped.
pub(super) fn alive() -> usize {
    ALIVE.get()
}

/// A descriptor that records its frame, can be pinned, and is counted.
#[derive(Debug)]
pub struct Page {
    pub(super) frame: Pfn,
    pub(super) pinned: AtomicBool,
}

impl Descriptor for Page {
    fn of_frame(frame: Pfn) -> Self {
        ALIVE.set(ALIVE.get() + 1);
        Self {
            frame,
            pinned: AtomicBool::new(false),
        }
    }

    fn is_pinned(&self) -> bool {
        self.pinned.load(Ordering::SeqCst)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
    }
}
