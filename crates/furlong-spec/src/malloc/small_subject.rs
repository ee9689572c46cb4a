//! The library's small heap as a subject, over memory that the test lends.
#![expect(unsafe_code, reason = "it fills blocks, and frees them")]

use core::alloc::Layout;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use furlong::check::Check;
use furlong::malloc::SmallHeap;

use super::small::{SmallModel, SmallOperation, SmallOutcome};
use crate::Subject;

const GRAIN: usize = SmallHeap::GRAIN;

/// A block that a program keeps, filled with one byte.
#[derive(Clone, Copy, Debug)]
struct Kept {
    block: NonNull<u8>,
    layout: Layout,
    fill: u8,
}

impl Kept {
    fn fill(self) -> Self {
        // SAFETY: a live block of this size.
        unsafe { self.block.write_bytes(self.fill, self.layout.size()) };
        self
    }

    /// True if the first `len` bytes are as they were filled.
    fn is_intact(&self, len: usize) -> bool {
        let bytes = NonNull::slice_from_raw_parts(self.block, len);
        // SAFETY: a live block, filled for at least so many bytes.
        unsafe { bytes.as_ref() }
            .iter()
            .all(|byte| *byte == self.fill)
    }
}

/// A small heap and a program's blocks of it.
#[derive(Debug)]
pub struct SmallAllocator<'a> {
    heap: SmallHeap<'a>,
    places: Vec<Option<Kept>>,
    freed: Option<(NonNull<u8>, Layout)>,
    applied: u8,
}

impl<'a> SmallAllocator<'a> {
    /// A program with `places` places, and the model of it. Regions that are too short are left
    /// out.
    #[must_use]
    pub fn new(
        places: usize,
        memory: impl IntoIterator<Item = &'a mut [MaybeUninit<u8>]>,
    ) -> (Self, SmallModel) {
        let mut heap = SmallHeap::new();
        let mut regions = Vec::new();
        for memory in memory {
            let before = heap.statistics().free_bytes;
            let end = memory.as_ptr_range().end.addr();
            if heap.add(memory).is_ok() {
                let bytes = heap.statistics().free_bytes - before;
                let last = (0..).map(|back| end - 1 - back).find(|at| heap.owns(*at));
                let last = last.expect("its grains are near its end");
                regions.push((last + 1 - bytes, bytes / GRAIN));
            }
        }
        let program = Self {
            heap,
            places: vec![None; places],
            freed: None,
            applied: 0,
        };
        (program, SmallModel::new(places, &regions))
    }

    fn keep(&mut self, place: usize, block: NonNull<u8>, layout: Layout) -> SmallOutcome {
        let fill = self.applied;
        let kept = Kept {
            block,
            layout,
            fill,
        };
        self.places[place] = Some(kept.fill());
        SmallOutcome::Block {
            address: block.addr().get(),
            usable: self.heap.usable_size(block).unwrap_or(0),
        }
    }

    fn allocate(&mut self, place: usize, size: usize, align: usize) -> SmallOutcome {
        if self.places[place].is_some() {
            return SmallOutcome::Idle;
        }
        let layout = Layout::from_size_align(size, align).ok();
        let found = layout.and_then(|layout| Some((self.heap.allocate(layout)?, layout)));
        found.map_or(SmallOutcome::Refused, |(block, layout)| {
            self.keep(place, block, layout)
        })
    }

    fn resize(&mut self, place: usize, size: usize) -> SmallOutcome {
        let Some(kept) = self.places[place] else {
            return SmallOutcome::Idle;
        };
        // SAFETY: the result replaces the block.
        let found = unsafe { self.heap.resize(kept.block, kept.layout, size) };
        match found {
            Err(misuse) => SmallOutcome::Found(misuse),
            Ok(None) if kept.is_intact(kept.layout.size()) => SmallOutcome::Refused,
            Ok(None) => SmallOutcome::Spoiled,
            Ok(Some(block)) => {
                let moved = Kept { block, ..kept };
                if !moved.is_intact(kept.layout.size().min(size)) {
                    return SmallOutcome::Spoiled;
                }
                let layout = Layout::from_size_align(size, kept.layout.align());
                self.keep(place, block, layout.expect("it was resized to it"))
            }
        }
    }

    fn free(&mut self, place: usize) -> SmallOutcome {
        let Some(kept) = self.places[place].take() else {
            return SmallOutcome::Idle;
        };
        if !kept.is_intact(kept.layout.size()) {
            return SmallOutcome::Spoiled;
        }
        self.freed = Some((kept.block, kept.layout));
        self.misuse(kept.block, kept.layout)
    }

    /// Frees an address.
    fn misuse(&mut self, block: NonNull<u8>, layout: Layout) -> SmallOutcome {
        // SAFETY: the program does not use it any more, or no block begins there.
        match unsafe { self.heap.free(block, layout) } {
            Ok(()) => SmallOutcome::Freed,
            Err(misuse) => SmallOutcome::Found(misuse),
        }
    }

    fn count(&self) -> SmallOutcome {
        let now = self.heap.statistics();
        SmallOutcome::Counted {
            blocks: now.used_blocks,
            used: now.used_bytes,
            free: now.free_bytes,
            longest: now.longest_free_bytes,
        }
    }
}

impl Subject for SmallAllocator<'_> {
    type Operation = SmallOperation;
    type Outcome = SmallOutcome;

    fn apply(&mut self, operation: &SmallOperation) -> SmallOutcome {
        self.applied = self.applied.wrapping_add(1);
        match *operation {
            SmallOperation::Allocate { place, size, align } => self.allocate(place, size, align),
            SmallOperation::Resize { place, size } => self.resize(place, size),
            SmallOperation::Free(place) => self.free(place),
            SmallOperation::FreeAgain => {
                let mut live = self.places.iter().flatten();
                match self.freed {
                    Some((block, layout)) if live.all(|kept| kept.block != block) => {
                        self.misuse(block, layout)
                    }
                    _ => SmallOutcome::Idle,
                }
            }
            SmallOperation::FreeInside(place, by) => match self.places[place] {
                Some(kept) if by < kept.layout.size().max(1).next_multiple_of(GRAIN) => {
                    // SAFETY: within the block.
                    let inside = unsafe { kept.block.add(by) };
                    self.misuse(inside, kept.layout)
                }
                _ => SmallOutcome::Idle,
            },
            SmallOperation::FreeLonger(place) => match self.places[place] {
                Some(kept) => {
                    let size = kept.layout.size().max(1) + GRAIN;
                    let longer = Layout::from_size_align(size, kept.layout.align());
                    self.misuse(kept.block, longer.expect("the block is short"))
                }
                None => SmallOutcome::Idle,
            },
            SmallOperation::FreeForeign => {
                let mut foreign = 0_u64;
                let found = self.misuse(NonNull::from(&mut foreign).cast(), Layout::new::<u64>());
                assert_eq!(foreign, 0, "nothing is written to it");
                found
            }
            SmallOperation::Count => self.count(),
        }
    }

    fn check(&self) -> Result<(), String> {
        self.heap.check().map_err(|broken| broken.to_string())
    }
}
