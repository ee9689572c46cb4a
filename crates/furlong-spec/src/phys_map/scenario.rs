//! Synthetic recordings. Each imitates a user of memory hot-plug.
#![forbid(unsafe_code)]

use furlong::addr::{Extent, Pfn};

use super::recording::{Operation, Recording};
use crate::Random;

/// Binary logarithm of a frame of 4 KiB.
const PAGE_SHIFT: u32 = 12;

/// Frames in a memory block of Linux on x86-64, 128 MiB: the unit that virtio-mem plugs and
/// unplugs.
const BLOCK_FRAMES: u64 = 1 << 15;

/// The guest of the map `virtio-mem`: its memory at boot, and the regions of its two devices.
const BOOT: (u64, u64) = (0x10_0000, 0x14_0000);
const DEVICE_0: (u64, u64) = (0x14_0000, 0x34_0000);
const DEVICE_1: u64 = 0x34_0000;

/// On average, one in this many blocks contains a page that cannot be moved.
const BUSY_ODDS: u64 = 8;

/// A recording under construction.
struct Script {
    random: Random,
    operations: Vec<Operation>,
    /// Look-ups extend a little beyond this frame.
    end: u64,
}

impl Script {
    fn new(seed: u64, end: u64) -> Script {
        Script {
            random: Random::new(seed),
            operations: Vec::new(),
            end,
        }
    }

    fn plug(&mut self, start: u64, end: u64, node: Option<u32>) {
        let frames = frames(start, end);
        self.operations.push(Operation::Plug { frames, node });
        self.find_around(start, end);
    }

    fn unplug(&mut self, start: u64, end: u64) {
        let frames = frames(start, end);
        self.operations.push(Operation::Unplug { frames });
        self.find_around(start, end);
    }

    /// Looks up a frame at an edge of the change and a random frame.
    fn find_around(&mut self, start: u64, end: u64) {
        let edges = [start.saturating_sub(1), start, end - 1, end];
        let edge = edges[self.random.index(edges.len())];
        self.find(edge);
        self.find_anywhere(1);
    }

    fn find(&mut self, pfn: u64) {
        let pfn = Pfn::new(pfn);
        self.operations.push(Operation::Find { pfn });
    }

    fn find_anywhere(&mut self, count: u64) {
        for _ in 0..count {
            let pfn = self.random.below(self.end + self.end / 8);
            self.find(pfn);
        }
    }

    fn recording(self) -> Recording {
        Recording {
            page_shift: PAGE_SHIFT,
            operations: self.operations,
        }
    }
}

fn frames(start: u64, end: u64) -> Extent<Pfn> {
    Extent::from_end(Pfn::new(start), Pfn::new(end)).expect("a script has no empty range")
}

/// A guest whose virtio-mem device grows and shrinks. It grows to all 64 blocks, shrinks as far as
/// possible, grows to half, and shrinks to nothing.
///
/// Growth takes the lowest free block, and shrinking the highest. A shrinking device skips blocks
/// with a page that cannot be moved. That leaves gaps, which the next growth fills.
#[must_use]
pub fn virtio_mem() -> Recording {
    let mut script = Script::new(1, DEVICE_0.1);
    script.plug(BOOT.0, BOOT.1, None);
    script.plug(DEVICE_1, DEVICE_1 + BLOCK_FRAMES, None);
    let count = (DEVICE_0.1 - DEVICE_0.0) / BLOCK_FRAMES;
    let mut plugged = vec![false; usize::try_from(count).expect("it is 64")];
    for (blocks, may_be_busy) in [(3, false), (64, false), (8, true), (32, false), (0, true)] {
        resize(&mut script, &mut plugged, blocks, may_be_busy);
        script.find_anywhere(8);
    }
    // The immovable pages are now free, so the remaining blocks can be unplugged.
    resize(&mut script, &mut plugged, 0, false);
    script.find_anywhere(8);
    script.recording()
}

/// Plugs or unplugs until `blocks` blocks are plugged, or no further block can be unplugged.
fn resize(script: &mut Script, plugged: &mut [bool], blocks: usize, may_be_busy: bool) {
    let mut have = plugged.iter().filter(|block| **block).count();
    let start = |at: usize| DEVICE_0.0 + at as u64 * BLOCK_FRAMES;
    for (at, block) in plugged.iter_mut().enumerate() {
        if have < blocks && !*block {
            script.plug(start(at), start(at + 1), None);
            *block = true;
            have += 1;
        }
    }
    for (at, block) in plugged.iter_mut().enumerate().rev() {
        let is_busy = may_be_busy && script.random.below(BUSY_ODDS) == 0;
        if have > blocks && *block && !is_busy {
            script.unplug(start(at), start(at + 1));
            *block = false;
            have -= 1;
        }
    }
}

/// The second segment in NetBSD's load test of fragments: 1 MiB at 2 MiB, in chunks of 8 frames.
const CHUNKED: (u64, u64) = (512, 768);
const CHUNK_FRAMES: u64 = 8;

/// The work of uvm_hotplug's load test on a segment. The first 1 to 7 frames of each chunk of 8 are
/// unplugged, which splits the segment, and plugged again. The last frame of each chunk is
/// unplugged, then everything but the first segment. Some operations must be refused: a plug over
/// existing frames, and unplugs of missing frames and across segments.
#[must_use]
pub fn hotplug_chunks() -> Recording {
    let mut script = Script::new(2, CHUNKED.1);
    script.plug(0, 256, Some(0));
    script.plug(CHUNKED.0, CHUNKED.1, Some(0));
    script.plug(CHUNKED.0 - 1, CHUNKED.0 + 1, Some(0));
    script.unplug(CHUNKED.1 - 1, CHUNKED.1 + 1);
    script.unplug(300, 301);
    let chunks = (CHUNKED.0..CHUNKED.1).step_by(CHUNK_FRAMES as usize);
    let mut cuts = Vec::new();
    for start in chunks {
        let cut = start + 1 + script.random.below(CHUNK_FRAMES - 1);
        script.unplug(start, cut);
        cuts.push((start, cut));
    }
    script.find_anywhere(200);
    script.unplug(CHUNKED.0, CHUNKED.1);
    script.random.shuffle(&mut cuts);
    for (start, cut) in &cuts {
        script.plug(*start, *cut, Some(0));
    }
    script.find_anywhere(100);
    for (start, _) in &cuts {
        script.unplug(start + CHUNK_FRAMES - 1, start + CHUNK_FRAMES);
    }
    script.random.shuffle(&mut cuts);
    for (start, cut) in &cuts {
        script.unplug(*start, *cut);
        let end = start + CHUNK_FRAMES - 1;
        if *cut < end {
            script.unplug(*cut, end);
        }
    }
    script.find_anywhere(50);
    script.unplug(100, 200);
    script.recording()
}
