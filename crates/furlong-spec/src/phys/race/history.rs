//! The oracle: the state of every frame of a stretch in each version.
//!
//! The writer records the next state before it changes the table. [`Versions`] gives the versions
//! that were current during a lookup.

use core::hash::{Hash, Hasher};
use core::ops::Range;
use std::hash::DefaultHasher;
use std::thread;

use furlong::phys::SegmentId;

pub(super) use crate::race::Gone;
use crate::race::Versions;

/// The maximum number of segments and isolations in a stretch.
pub(super) const SEGMENTS: usize = 12;
pub(super) const HIDDEN: usize = 6;

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

/// A handle as one number, which is not 0. Two handles share one only by an unlikely chance.
pub(super) fn number(id: SegmentId) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish().max(1)
}

/// The state of a stretch at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) segments: Vec<Known>,
    pub(super) hidden: Vec<Range<u64>>,
}

impl Layout {
    /// Two counts, four words for each segment, two for each isolation.
    fn words(&self) -> impl Iterator<Item = u64> {
        assert!(
            self.segments.len() <= SEGMENTS && self.hidden.len() <= HIDDEN,
            "the writer keeps to what a version has room for"
        );
        let counts = [self.segments.len() as u64, self.hidden.len() as u64];
        let segments = self.segments.iter();
        let segments = segments.flat_map(|known| [known.start, known.end, known.id, known.epoch]);
        let hidden = self.hidden.iter();
        let hidden = hidden.flat_map(|hidden| [hidden.start, hidden.end]);
        counts.into_iter().chain(segments).chain(hidden)
    }

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
pub(super) struct History(pub(super) Versions<WORDS>);

impl History {
    /// Version 1 is an empty layout.
    pub(super) fn new() -> Self {
        Self(Versions::new())
    }

    /// Records the layouts that the next change passes through. Called before the change.
    pub(super) fn begin(&self, layouts: &[&Layout]) {
        let settled = self.0.span.settled();
        for (version, layout) in (settled + 1..).zip(layouts) {
            self.0.record(version, layout.words());
        }
        self.0.span.begin(settled + layouts.len() as u64);
    }

    /// Sets the name of the last segment in the last layout, which is `layout`.
    pub(super) fn name_last(&self, layout: &Layout, id: u64) {
        let name = 2 + 4 * (layout.segments.len() - 1) + 2;
        self.0.amend(self.0.span.begun(), name, id);
    }

    /// Records that the change failed: after every layout that it may have passed through, the
    /// stretch returns to `layout`.
    pub(super) fn give_up(&self, layout: &Layout) {
        let last = self.0.span.begun() + 1;
        self.0.record(last, layout.words());
        self.0.span.begin(last);
    }

    /// The visible segment that contained `frame` in a version; `Err` if the version is not kept
    /// any more.
    pub(super) fn at(&self, version: u64, frame: u64) -> Result<Option<Known>, Gone> {
        loop {
            let found = self.0.read(version, |word| visible(word, frame))?;
            if found.is_none_or(|known| known.id != UNNAMED) {
                return Ok(found);
            }
            // The writer is about to name it.
            thread::yield_now();
        }
    }

    /// True if the segment `id` began at `start` in a version.
    pub(super) fn began(&self, version: u64, id: u64, start: u64) -> Result<bool, Gone> {
        self.0.read(version, |word| {
            segments(word).any(|known| known.id == id && known.start == start)
        })
    }
}

type Word<'a> = &'a dyn Fn(usize) -> u64;

/// The segments in the words of a layout.
fn segments(word: Word<'_>) -> impl Iterator<Item = Known> {
    let count = (word(0) as usize).min(SEGMENTS);
    (0..count).map(move |at| {
        let [start, end, id, epoch] = [0, 1, 2, 3].map(|part| word(2 + 4 * at + part));
        Known {
            start,
            end,
            id,
            epoch,
        }
    })
}

/// The segment that contains `frame` in the words of a layout, unless it is isolated.
fn visible(word: Word<'_>, frame: u64) -> Option<Known> {
    let first = 2 + 4 * (word(0) as usize).min(SEGMENTS);
    let is_hidden = (0..(word(1) as usize).min(HIDDEN)).any(|at| {
        let start = word(first + 2 * at);
        start <= frame && frame < word(first + 2 * at + 1)
    });
    segments(word)
        .find(|known| known.has(frame))
        .filter(|_| !is_hidden)
}
