//! What a table keeps about each frame.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};

use furlong::addr::{Address, Pfn};
use furlong::phys::Descriptor;

use crate::answer::{Given, answer};

/// The descriptor of a frame. Who found it through a reader that is inside may use it until that
/// leaves; who has pinned it, until it is unpinned.
///
/// The words are the caller's, 0 at first; readers share them, so that C changes them by atomic
/// operations or under a lock of its own.
#[derive(Debug)]
#[repr(C)]
pub struct PhysPage {
    /// The number of the frame; not to be written.
    pub frame: u64,
    /// How often the frame is pinned: furlong_phys_pin and furlong_phys_unpin write it.
    pub pins: AtomicU64,
    /// The caller's.
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
        // Acquire: pairs with the Release of `furlong_phys_unpin`, so that whatever was done with
        // the frame while it was pinned is over.
        self.pins.load(Ordering::Acquire) > 0
    }
}

/// Pins a frame: it is not unplugged until it is unpinned as often. To be called by a reader that
/// is inside, or by who has pinned it already. A frame that is isolated may be pinned still.
///
/// Answers 0, or -EINVAL (page is NULL).
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_pin(page: Option<&PhysPage>) -> c_int {
    answer(|| {
        // Relaxed: a frame is removed only after the readers have left that could have pinned it,
        // which orders; `is_pinned` need pair with nothing here.
        page.given()?.pins.fetch_add(1, Ordering::Relaxed);
        Ok(())
    })
}

/// Unpins a frame once.
///
/// Answers 0, or -EINVAL (page is NULL, or not pinned).
/// Threads: side by side with everything.
#[unsafe(no_mangle)]
pub extern "C" fn furlong_phys_unpin(page: Option<&PhysPage>) -> c_int {
    answer(|| {
        let pins = &page.given()?.pins;
        let less = |pins: u64| pins.checked_sub(1);
        // Release: pairs with the Acquire of `is_pinned`. Relaxed where nothing is written.
        let unpinned = pins.fetch_update(Ordering::Release, Ordering::Relaxed, less);
        unpinned.ok().given()?;
        Ok(())
    })
}
