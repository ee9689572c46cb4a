//! The descriptor of a frame.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};

use furlong::addr::{Address, Pfn};
use furlong::phys::Descriptor;

use crate::answer::{Given, answer};

/// The descriptor of a frame. If a reader found it, it may be used until that reader leaves. If it
/// was pinned, it may be used until it is unpinned.
///
/// The caller may use the words, which are 0 at first. Readers share them, so C must change them by
/// atomic operations or under its own lock.
#[repr(C)]
pub struct PhysPage {
    /// The number of the frame; read-only.
    pub frame: u64,
    /// The number of pins; only furlong_phys_pin and furlong_phys_unpin write it.
    pub pins: AtomicU64,
    /// For the caller.
    pub words: [AtomicU64; 6],
}

impl Descriptor for PhysPage {
    fn of_frame(frame: Pfn) -> Self {
        Self {
            frame: frame.raw(),
            pins: AtomicU64::new(0),
            words: [const { AtomicU64::new(0) }; 6],
        }
    }

    fn is_pinned(&self) -> bool {
        // Acquire: pairs with the Release of `furlong_phys_unpin`, so that all accesses to the
        // frame while it was pinned happen before.
        self.pins.load(Ordering::Acquire) > 0
    }
}

/// Pins a frame: it cannot be unplugged until it was unpinned as often. The caller is a reader that
/// has entered, or has pinned the frame already. An isolated frame may still be pinned.
///
/// Returns 0, or -EINVAL (page is NULL).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_pin(page: Option<&PhysPage>) -> c_int {
    answer(|| {
        // Relaxed: a frame is removed only after all readers that could have pinned it have left,
        // which gives the order. So `is_pinned` need not pair with anything here.
        page.given()?.pins.fetch_add(1, Ordering::Relaxed);
        Ok(())
    })
}

/// Unpins a frame once.
///
/// Returns 0, or -EINVAL (page is NULL, or not pinned).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_unpin(page: Option<&PhysPage>) -> c_int {
    answer(|| {
        let pins = &page.given()?.pins;
        let less = |pins: u64| pins.checked_sub(1);
        // Release: pairs with the Acquire of `is_pinned`. Relaxed if nothing is written.
        let unpinned = pins.fetch_update(Ordering::Release, Ordering::Relaxed, less);
        unpinned.ok().given()?;
        Ok(())
    })
}
