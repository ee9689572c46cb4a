//! What the table holds, for the lookup structures to be built from: the segments in order, and the
//! frames that are isolated.
#![forbid(unsafe_code)]

use super::entry::All;
use super::pages::Pages;
use super::segment::Frames;
use crate::rcu::Period;

/// Frames that are isolated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hidden {
    pub(super) frames: Frames,
    pub(super) serial: u64,
    /// Whether a call that has let go of the lock is about to remove them.
    pub(super) is_leaving: bool,
    /// When it is over no reader has them.
    pub(super) period: Option<Period>,
}

impl Hidden {
    pub(super) const NONE: Self = Self {
        frames: Frames::NONE,
        serial: 0,
        is_leaving: false,
        period: None,
    };
}

/// The segments and the isolated frames.
pub(super) struct Truth<'a, D> {
    pub(super) all: All<'a, D>,
    /// Indices of live entries, in the order of their frames.
    pub(super) order: &'a [u32],
    /// In the order of their frames.
    pub(super) hidden: &'a [Hidden],
}

impl<D> Clone for Truth<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for Truth<'_, D> {}

/// Frames that are found, all of one segment.
pub struct Piece<D> {
    pub(super) frames: Frames,
    pub(super) index: u32,
    /// Where the descriptor of frame 0 would be.
    pub(super) pages: Option<Pages<D>>,
}

impl<D> Clone for Piece<D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for Piece<D> {}

impl<D> Piece<D> {
    /// Nothing is found by it.
    pub(super) const NONE: Self = Self {
        frames: Frames::NONE,
        index: 0,
        pages: None,
    };
}

impl<'a, D> Truth<'a, D> {
    /// The position of the first segment that ends behind `frame`.
    pub(super) fn position(self, frame: u64) -> usize {
        self.order
            .partition_point(|index| self.all.get(*index).frames().end <= frame)
    }

    /// The position of the segment with `frame`.
    pub(super) fn position_of(self, frame: u64) -> Option<usize> {
        let position = self.position(frame);
        let index = *self.order.get(position)?;
        self.all
            .get(index)
            .frames()
            .contains(frame)
            .then_some(position)
    }

    /// The segment with `frame`.
    pub(super) fn find(self, frame: u64) -> Option<u32> {
        Some(self.order[self.position_of(frame)?])
    }

    /// The segments that have some of `frames`.
    pub(super) fn overlapping(self, frames: Frames) -> &'a [u32] {
        let from = self.position(frames.start);
        let rest = &self.order[from..];
        let count = rest.partition_point(|index| self.all.get(*index).start() < frames.end);
        &rest[..count]
    }

    /// How many of the isolations of these frames, which are a segment's, will leave two segments.
    ///
    /// # Cost
    /// O(log n).
    pub(super) fn splits(self, whole: Frames) -> usize {
        let hidden = self.hidden_in(whole);
        let (Some(first), Some(last)) = (hidden.first(), hidden.last()) else {
            return 0;
        };
        let at_start = usize::from(first.frames.start == whole.start);
        let at_end = usize::from(last.frames.end == whole.end);
        hidden.len().saturating_sub(at_start + at_end)
    }

    /// The isolations of some of `frames`.
    pub(super) fn hidden_in(self, frames: Frames) -> &'a [Hidden] {
        let from = self
            .hidden
            .partition_point(|hidden| hidden.frames.end <= frames.start);
        let rest = &self.hidden[from..];
        let count = rest.partition_point(|hidden| hidden.frames.start < frames.end);
        &rest[..count]
    }

    /// How many pieces there come to be at most while isolated frames, and `more` with them, are
    /// removed or taken back.
    ///
    /// # Cost
    /// O(n).
    pub(super) fn pieces_to_come(self, more: Option<Frames>) -> usize {
        let of_one = |index: &u32| {
            let whole = self.all.get(*index).frames();
            let hidden = self.hidden_in(whole);
            let more = more.filter(|more| whole.covers(*more));
            let below = more.map_or(0, |more| {
                hidden.partition_point(|hidden| hidden.frames.end <= more.start)
            });
            let (below, above) = hidden.split_at(below);
            let frames = |hidden: &Hidden| hidden.frames;
            let isolated = below.iter().map(frames).chain(more);
            let mut isolated = isolated.chain(above.iter().map(frames)).peekable();
            let (mut count, mut from, mut is_found) = (0, whole.start, false);
            while let Some(Frames { start, end }) = isolated.next() {
                if from < start {
                    count += 1;
                    is_found = true;
                }
                // What comes back is a piece of its own where nothing beside it is found.
                let next = isolated.peek().map_or(whole.end, |next| next.start);
                is_found = !is_found && end == next;
                count += usize::from(is_found);
                from = end;
            }
            count + usize::from(from < whole.end)
        };
        self.order.iter().map(of_one).sum()
    }

    /// No less than [`pieces_to_come`](Self::pieces_to_come) with one more segment or isolation:
    /// each of them makes a piece at most, and removing frames, or taking them back, makes no more.
    ///
    /// # Cost
    /// O(1).
    #[cfg(feature = "alloc")]
    pub(super) fn most_pieces(self) -> usize {
        self.order.len() + self.hidden.len() + 1
    }

    /// What is found of a segment, in order.
    pub(super) fn pieces_of(self, index: u32) -> impl Iterator<Item = Piece<D>> + use<'a, D> {
        let entry = self.all.get(index);
        let (whole, pages) = (entry.frames(), entry.pages());
        let mut from = whole.start;
        let mut hidden = self.hidden_in(whole).iter();
        let mut done = false;
        core::iter::from_fn(move || {
            while !done {
                let (end, next) = match hidden.next() {
                    Some(hidden) => (hidden.frames.start, hidden.frames.end),
                    None => {
                        done = true;
                        (whole.end, whole.end)
                    }
                };
                let frames = Frames { start: from, end };
                from = next;
                if !frames.is_empty() {
                    return Some(Piece {
                        frames,
                        index,
                        pages,
                    });
                }
            }
            None
        })
    }
}

/// Brings a structure of pieces up to date for `frames`: a change cuts pieces and joins them.
/// `take` takes one out that has some of these frames, and tells which it had; `put` puts one in.
pub(super) fn rebuild<D, S>(
    truth: Truth<'_, D>,
    frames: Frames,
    into: &mut S,
    take: impl Fn(&mut S, Frames) -> Option<Frames>,
    put: impl Fn(&mut S, Piece<D>),
) {
    let mut hull = frames;
    while let Some(taken) = take(into, frames) {
        hull.start = hull.start.min(taken.start);
        hull.end = hull.end.max(taken.end);
    }
    for index in truth.overlapping(hull) {
        for piece in truth.pieces_of(*index) {
            if piece.frames.overlaps(hull) {
                while take(into, piece.frames).is_some() {}
                put(into, piece);
            }
        }
    }
}
