//! The oracle: the state of every frame of a stretch in each version.
//!
//! The writer records the next state before it changes the table. [`Span`] gives the versions that
//! were current during a lookup.
#![forbid(unsafe_code)]

use core::hash::{Hash, Hasher};
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use furlong::phys::SegmentId;

use crate::span::Span;

/// The maximum number of segments and isolations in a stretch.
pub(super) const SEGMENTS: usize = 12;
pub(super) const HIDDEN: usize = 6;

/// The number of versions kept.
const KEPT: u64 = 512;

/// Words in a version: two counts, four words for each segment, two for each isolation.
const WORDS: usize = 2 + 4 * SEGMENTS + 2 * HIDDEN;

/// The name of a segment that is being plugged or split off.
const UNNAMED: u64 = 0;

/// A segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Its handle, as [`number`] encodes it.
    pub(super) id: u64,
    /// The plug that made its descriptors.
    pub(super) epoch: u64,
}

impl Known {
    /// A segment without a name yet.
    pub(super) fn unnamed(frames: &Range<u64>, epoch: u64) -> Self {
        Self {
            start: frames.start,
            end: frames.end,
            id: UNNAMED,
            epoch,
        }
    }

    pub(super) fn has(&self, frame: u64) -> bool {
        self.start <= frame && frame < self.end
    }
}

/// A handle as one number, which is not 0: its two halves, one in the high and one in the low bits.
pub(super) fn number(id: SegmentId) -> u64 {
    struct Both(u64);

    impl Hasher for Both {
        fn finish(&self) -> u64 {
            self.0
        }

        fn write(&mut self, bytes: &[u8]) {
            for byte in bytes {
                self.0 = self.0 << 8 | u64::from(*byte);
            }
        }

        fn write_u32(&mut self, half: u32) {
            self.0 = self.0 << 32 | u64::from(half);
        }
    }

    let mut both = Both(0);
    id.hash(&mut both);
    both.finish()
}

/// The state of a stretch at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) segments: Vec<Known>,
    pub(super) hidden: Vec<Range<u64>>,
}

impl Layout {
    /// Removes frames from the segment that contains them. If parts remain on both sides, the upper
    /// one becomes the last segment.
    pub(super) fn cut(&mut self, frames: &Range<u64>) {
        let is_it = |known: &Known| known.has(frames.start);
        let at = self.segments.iter().position(is_it);
        let whole = self.segments[at.expect("a segment has them")];
        let below = whole.start..frames.start;
        let above = frames.end..whole.end;
        let at = at.expect("as above");
        match (below.is_empty(), above.is_empty()) {
            (true, true) => {
                self.segments.remove(at);
            }
            (true, false) => self.segments[at].start = above.start,
            (false, _) => {
                self.segments[at].end = below.end;
                if !above.is_empty() {
                    self.segments.push(Known::unnamed(&above, whole.epoch));
                }
            }
        }
    }
}

/// Versions of a stretch's layout.
pub(super) struct History {
    pub(super) span: Span,
    slots: Vec<Slot>,
}

/// The layout of a version, and the number of the version; 0 while it is being written.
struct Slot {
    version: AtomicU64,
    words: [AtomicU64; WORDS],
}

impl History {
    pub(super) fn new() -> Self {
        let slot = |version| Slot {
            version: AtomicU64::new(version),
            words: [const { AtomicU64::new(0) }; WORDS],
        };
        Self {
            span: Span::new(),
            // Version 1, an empty layout, is in slot 1.
            slots: (0..KEPT).map(slot).collect(),
        }
    }

    fn slot(&self, version: u64) -> &Slot {
        &self.slots[(version % KEPT) as usize]
    }

    /// Records the layouts that the next change passes through. Called before the change.
    pub(super) fn begin(&self, layouts: &[&Layout]) {
        let settled = self.span.settled();
        for (version, layout) in (settled + 1..).zip(layouts) {
            self.slot(version).write(version, layout);
        }
        self.span.begin(settled + layouts.len() as u64);
    }

    /// Sets the name of the last segment in the last layout.
    pub(super) fn name_last(&self, id: u64) {
        self.slot(self.span.begun()).name_last(id);
    }

    /// Records that the change failed: after every layout that it may have passed through, the
    /// stretch returns to `layout`.
    pub(super) fn give_up(&self, layout: &Layout) {
        let last = self.span.begun() + 1;
        self.slot(last).write(last, layout);
        self.span.begin(last);
    }

    /// The visible segment that contained `frame` in a version; `Err` if the version is not kept
    /// any more.
    pub(super) fn at(&self, version: u64, frame: u64) -> Result<Option<Known>, Gone> {
        loop {
            let found = self.slot(version).at(version, frame)?;
            if found.is_none_or(|known| known.id != UNNAMED) {
                return Ok(found);
            }
            // The writer is about to name it.
            thread::yield_now();
        }
    }

    /// True if the segment `id` began at `start` in a version.
    pub(super) fn began(&self, version: u64, id: u64, start: u64) -> Result<bool, Gone> {
        self.slot(version).began(version, id, start)
    }
}

/// The error that a version is not kept any more, because a lookup overlapped too many changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gone;

impl Slot {
    fn write(&self, version: u64, layout: &Layout) {
        assert!(
            layout.segments.len() <= SEGMENTS && layout.hidden.len() <= HIDDEN,
            "the writer keeps to what a version has room for"
        );
        self.version.store(0, Ordering::SeqCst);
        let counts = [layout.segments.len() as u64, layout.hidden.len() as u64];
        let segments = layout.segments.iter();
        let segments = segments.flat_map(|known| [known.start, known.end, known.id, known.epoch]);
        let hidden = layout.hidden.iter();
        let hidden = hidden.flat_map(|hidden| [hidden.start, hidden.end]);
        for (word, value) in self
            .words
            .iter()
            .zip(counts.into_iter().chain(segments).chain(hidden))
        {
            word.store(value, Ordering::SeqCst);
        }
        self.version.store(version, Ordering::SeqCst);
    }

    fn word(&self, at: usize) -> u64 {
        self.words[at].load(Ordering::SeqCst)
    }

    fn segments(&self) -> usize {
        (self.word(0) as usize).min(SEGMENTS)
    }

    fn known(&self, at: usize) -> Known {
        let [start, end, id, epoch] = [0, 1, 2, 3].map(|part| self.word(2 + 4 * at + part));
        Known {
            start,
            end,
            id,
            epoch,
        }
    }

    fn name_last(&self, id: u64) {
        let last = self.segments() - 1;
        self.words[2 + 4 * last + 2].store(id, Ordering::SeqCst);
    }

    /// Runs `look`, and returns its result if the slot held this version all the time.
    fn during<T>(&self, version: u64, look: impl FnOnce() -> T) -> Result<T, Gone> {
        let is_it = || self.version.load(Ordering::SeqCst) == version;
        if !is_it() {
            return Err(Gone);
        }
        let found = look();
        if is_it() { Ok(found) } else { Err(Gone) }
    }

    fn at(&self, version: u64, frame: u64) -> Result<Option<Known>, Gone> {
        self.during(version, || {
            let segments = self.segments();
            let mut known = (0..segments).map(|at| self.known(at));
            let known = known.find(|known| known.has(frame));
            let first = 2 + 4 * segments;
            let hidden = (0..(self.word(1) as usize).min(HIDDEN)).any(|at| {
                let start = self.word(first + 2 * at);
                start <= frame && frame < self.word(first + 2 * at + 1)
            });
            known.filter(|_| !hidden)
        })
    }

    fn began(&self, version: u64, id: u64, start: u64) -> Result<bool, Gone> {
        self.during(version, || {
            let mut known = (0..self.segments()).map(|at| self.known(at));
            known.any(|known| known.id == id && known.start == start)
        })
    }
}
