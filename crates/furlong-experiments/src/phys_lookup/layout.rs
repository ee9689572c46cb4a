//! Memory layouts: plugged segments, holes, and the frames to look up.

use std::iter;
use std::ops::Range;

use furlong::addr::{Address, Extent, Pfn};
use furlong_spec::Random;
use furlong_spec::phys_map::RealMap;

use super::random::LibraryRandom;

/// Frames in 1 MiB.
const MIB: u64 = 256;

/// Frames of a segment of the measured document (`PF_STEP`).
const STEP: u64 = 8;

/// The binary logarithm of the page size.
pub(super) const PAGE_BITS: u32 = 12;

/// Frames in a 46-bit address space.
const FLEET_FRAMES: u64 = 1 << (46 - PAGE_BITS);

/// Frames of the largest segment of a fleet: 16 MiB.
const FLEET_SEGMENT_MAX: u64 = 4096;

/// One lookup in this many is at any frame below the top; the others are in memory.
const ANYWHERE_ONE_IN: u64 = 16;

/// A memory layout.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// Plugged at boot, ascending.
    pub(super) boot: Vec<Range<u64>>,
    /// Plugged at run time, above all of `boot`.
    pub(super) chunk: Option<Range<u64>>,
    /// Removed from the chunk, ascending.
    pub(super) holes: Vec<Range<u64>>,
    pub(super) asks: Asks,
}

/// Distribution of the frames to look up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    /// The document's addresses, in bytes: `random() % end`, plus `start` if that is below `start`.
    Remainder { start: u64, end: u64 },
    /// Uniform over the frames of memory, and one in [`ANYWHERE_ONE_IN`] at any frame below the
    /// top.
    Memory,
}

impl Asks {
    /// Computes the document's address from a random number.
    #[inline]
    pub(super) fn address(start: u64, end: u64, number: u32) -> u64 {
        let address = u64::from(number) % end;
        address + if address < start { start } else { 0 }
    }
}

impl Layout {
    /// The document's 32 segments of 8 frames from frame 0 on.
    pub(super) fn side_by_side() -> Self {
        let boot = (0..MIB).step_by(STEP as usize);
        let end = MIB << PAGE_BITS;
        Self {
            boot: boot.map(|start| start..start + STEP).collect(),
            chunk: None,
            holes: Vec::new(),
            asks: Asks::Remainder { start: 0, end },
        }
    }

    /// The document's fragments: a MiB, and a chunk from which the first 1 to 7 of every 8 frames
    /// are removed.
    pub(super) fn fragments(start_mib: u64, end_mib: u64, seed: u64) -> Self {
        let (start, end) = (start_mib * MIB, end_mib * MIB);
        let mut random = Random::new(seed);
        let hole = |from: u64| from..from + 1 + random.below(STEP - 1);
        Self {
            boot: iter::once(0..MIB).collect(),
            chunk: Some(start..end),
            holes: (start..end).step_by(STEP as usize).map(hole).collect(),
            asks: Asks::Remainder {
                start: start << PAGE_BITS,
                end: end << PAGE_BITS,
            },
        }
    }

    /// Segments of random sizes at random places in a 46-bit address space.
    pub(super) fn fleet(segments: u64, seed: u64) -> Self {
        let room = FLEET_FRAMES / segments;
        let mut random = Random::new(seed);
        let segment = |at: u64| {
            let len = 1 + random.below(FLEET_SEGMENT_MAX.min(room));
            let start = at * room + random.below(room - len + 1);
            start..start + len
        };
        Self {
            boot: (0..segments).map(segment).collect(),
            chunk: None,
            holes: Vec::new(),
            asks: Asks::Memory,
        }
    }

    /// The memory of a machine, divided by a factor; each segment keeps at least one frame.
    ///
    /// # Errors
    /// The map cannot be read.
    pub(super) fn of_map(map: &RealMap, scale: u64) -> Result<Self, String> {
        let segments = map.map().map_err(|error| error.to_string())?;
        let mut end = 0;
        let shrunk = |segment: furlong_spec::phys_map::Segment| {
            let (first, last) = (segment.frames.start().raw(), segment.frames.last().raw());
            let start = end.max(first / scale);
            end = (start + 1).max((last + 1) / scale);
            start..end
        };
        let boot: Vec<Range<u64>> = segments
            .segments(PAGE_BITS)
            .into_iter()
            .map(shrunk)
            .collect();
        if boot.is_empty() {
            return Err(format!("the map {} has no memory", map.name));
        }
        Ok(Self {
            boot,
            chunk: None,
            holes: Vec::new(),
            asks: Asks::Memory,
        })
    }

    /// The final segments, ascending.
    pub(super) fn segments(&self) -> Vec<Range<u64>> {
        let mut segments = self.boot.clone();
        let Some(chunk) = &self.chunk else {
            return segments;
        };
        let mut from = chunk.start;
        for hole in &self.holes {
            segments.push(from..hole.start);
            from = hole.end;
        }
        segments.push(from..chunk.end);
        segments.retain(|segment| !segment.is_empty());
        segments
    }

    /// End of the highest frame ever plugged.
    pub(super) fn top(&self) -> u64 {
        let last = self.chunk.as_ref().or(self.boot.last());
        last.map_or(0, |last| last.end)
    }

    /// Draws `count` frames to look up.
    pub(super) fn frames(&self, count: usize, seed: u64) -> Vec<u64> {
        match self.asks {
            Asks::Remainder { start, end } => {
                let mut random = LibraryRandom::new(seed as u32);
                let address = |_| Asks::address(start, end, random.next_alone());
                (0..count).map(address).map(|a| a >> PAGE_BITS).collect()
            }
            Asks::Memory => {
                let memory = Memory::new(self.segments());
                let random = &mut Random::new(seed);
                let frame = |_| match random.below(ANYWHERE_ONE_IN) {
                    0 => random.below(self.top()),
                    _ => memory.frame(random.below(memory.frames())),
                };
                (0..count).map(frame).collect()
            }
        }
    }

    /// Exclusive upper bound of the frames of the document's addresses; `None` for other
    /// distributions.
    pub(super) fn reach(&self) -> Option<u64> {
        match self.asks {
            Asks::Remainder { start, end } => Some(end.max(2 * start) >> PAGE_BITS),
            Asks::Memory => None,
        }
    }
}

/// Segments, and the number of frames before each: the plain sorted list that every answer is
/// compared with.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    segments: Vec<Range<u64>>,
    before: Vec<u64>,
    frames: u64,
}

impl Memory {
    /// Builds the list from ascending segments.
    pub(super) fn new(segments: Vec<Range<u64>>) -> Self {
        let mut frames = 0;
        let before = segments.iter().map(|segment| {
            frames += segment.end - segment.start;
            frames - (segment.end - segment.start)
        });
        let before = before.collect();
        Self {
            segments,
            before,
            frames,
        }
    }

    /// Number of frames.
    pub(super) fn frames(&self) -> u64 {
        self.frames
    }

    /// The frame with `number` frames of memory below it.
    fn frame(&self, number: u64) -> u64 {
        let at = self.before.partition_point(|before| *before <= number) - 1;
        self.segments[at].start + number - self.before[at]
    }

    /// The segment that contains a frame.
    pub(super) fn find(&self, frame: u64) -> Option<&Range<u64>> {
        let behind = self
            .segments
            .partition_point(|segment| segment.end <= frame);
        self.segments
            .get(behind)
            .filter(|segment| segment.contains(&frame))
    }
}

/// Converts a range of frames to the library's type.
pub(super) fn extent(frames: &Range<u64>) -> Extent<Pfn> {
    Extent::from_end(Pfn::new(frames.start), Pfn::new(frames.end))
        .expect("a layout has no empty range")
}

#[cfg(test)]
mod tests {
    use furlong_spec::phys_map::REAL_MAPS;

    use super::{Asks, FLEET_FRAMES, Layout, Memory};

    #[test]
    fn the_layouts_are_those_of_the_document() {
        assert_eq!(Layout::side_by_side().segments().len(), 32);
        assert_eq!(Layout::side_by_side().top(), 256);
        // Segments: the first MiB, and one after each hole.
        for (start, end, segments) in [(1, 2, 33), (2, 3, 33), (1, 128, 4065), (1, 256, 8161)] {
            let layout = Layout::fragments(start, end, 1);
            assert_eq!(layout.segments().len(), segments);
            assert_eq!(layout.top(), end * 256);
            let lens = layout.holes.iter().map(|hole| hole.end - hole.start);
            assert!(lens.clone().all(|len| (1..=7).contains(&len)));
            assert!(lens.clone().max() == Some(7) && lens.min() == Some(1));
        }
    }

    #[test]
    fn the_third_chunk_is_missed_more_often_than_hit() {
        // Addresses below 2 MiB, of 3 MiB, are moved up by 2 MiB, and two thirds of those miss the
        // chunk.
        let layout = Layout::fragments(2, 3, 1);
        assert_eq!(layout.reach(), Some(1024));
        let memory = Memory::new(layout.segments());
        let frames = layout.frames(100_000, 1);
        assert!(frames.iter().all(|frame| (512..1024).contains(frame)));
        let hits = frames.iter().filter(|frame| memory.find(**frame).is_some());
        let share = hits.count() as f64 / 100_000.0;
        assert!((0.28..0.40).contains(&share), "{share}");
    }

    #[test]
    fn queried_frames_are_within_reach() {
        for (start, end) in [(1, 2), (2, 3), (1, 128), (1, 256)] {
            let layout = Layout::fragments(start, end, 3);
            let reach = layout.reach().unwrap();
            assert!(layout.frames(10_000, 3).iter().all(|frame| *frame < reach));
        }
        assert_eq!(Layout::side_by_side().reach(), Some(256));
        assert_eq!(Asks::address(8, 32, 33), 9);
    }

    #[test]
    fn fleets_and_maps_are_mostly_hit_and_sometimes_missed() {
        let maps = REAL_MAPS.iter().map(|map| Layout::of_map(map, 1).unwrap());
        for layout in maps.chain([Layout::fleet(10_000, 1)]) {
            let memory = Memory::new(layout.segments());
            let frames = layout.frames(10_000, 5);
            let hits = frames.iter().filter(|frame| memory.find(**frame).is_some());
            assert!(hits.count() > 9_300);
            assert!(frames.iter().all(|frame| *frame < layout.top()));
        }
        assert!(Layout::fleet(10_000, 1).top() <= FLEET_FRAMES);
    }

    #[test]
    fn a_shrunk_map_has_all_its_segments() {
        for map in &REAL_MAPS {
            let (whole, tiny) = (Layout::of_map(map, 1), Layout::of_map(map, 4096));
            let (whole, tiny) = (whole.unwrap().segments(), tiny.unwrap().segments());
            assert_eq!(whole.len(), tiny.len());
            assert!(tiny.is_sorted_by(|one, next| one.end <= next.start));
            assert!(tiny.iter().all(|segment| !segment.is_empty()));
        }
    }

    #[test]
    fn the_list_finds_what_is_there_and_nothing_else() {
        let memory = Memory::new(vec![2..4, 4..5, 9..10]);
        assert_eq!(memory.frames(), 4);
        let found: Vec<u64> = (0..12).filter(|f| memory.find(*f).is_some()).collect();
        assert_eq!(found, [2, 3, 4, 9]);
        assert_eq!(memory.find(4), Some(&(4..5)));
        assert!((0..4).map(|n| memory.frame(n)).eq(found));
    }
}
