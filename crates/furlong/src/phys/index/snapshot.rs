//! The data from which lookup structures are built: the segments in order, and the isolated frames.
#![forbid(unsafe_code)]

use crate::forms::copies;
use crate::phys::{All, Frames, Order, Pages, upwards};
use crate::rcu::Period;

/// An isolation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hidden {
    pub(crate) frames: Frames,
    pub(crate) serial: u64,
    /// True while a call that has dropped the lock is about to remove them.
    pub(crate) is_leaving: bool,
    /// The grace period after which no reader has them.
    pub(crate) period: Option<Period>,
}

impl Hidden {
    pub(crate) const NONE: Self = Self {
        frames: Frames::NONE,
        serial: 0,
        is_leaving: false,
        period: None,
    };
}

/// The segments and the isolations.
pub(crate) struct Snapshot<'a, D> {
    pub(crate) all: All<'a, D>,
    pub(crate) order: Order,
    /// In the order of their frames.
    pub(crate) hidden: &'a [Hidden],
}

copies! { Snapshot<'_, D> where [D]; }

/// A stretch of frames of one segment that lookups find.
pub struct Piece<D> {
    pub(crate) frames: Frames,
    pub(crate) index: u32,
    /// The address at which the descriptor of frame 0 would be.
    pub(crate) pages: Option<Pages<D>>,
}

copies! { Piece<D> where [D]; }

impl<D> Piece<D> {
    /// A piece in which nothing is found.
    pub(crate) const NONE: Self = Self {
        frames: Frames::NONE,
        index: 0,
        pages: None,
    };
}

impl<'a, D> Snapshot<'a, D> {
    /// The segment with `frame`.
    pub(crate) fn find(self, frame: u64) -> Option<u32> {
        let index = self.order.ending_above(self.all, frame)?;
        let frames = self.all.get(index).frames();
        frames.contains(frame).then_some(index)
    }

    /// The segments that have some of `frames`, in order.
    pub(crate) fn overlapping(
        self,
        frames: Frames,
    ) -> impl Iterator<Item = u32> + Clone + use<'a, D> {
        let first = self.order.ending_above(self.all, frames.start);
        let is_in = move |index: &u32| self.all.get(*index).start() < frames.end;
        upwards(self.all, first).take_while(is_in)
    }

    /// The number of isolations that will split the segment with exactly these frames.
    ///
    /// # Cost
    /// O(log n).
    pub(crate) fn splits(self, whole: Frames) -> usize {
        let hidden = self.hidden_in(whole);
        let (Some(first), Some(last)) = (hidden.first(), hidden.last()) else {
            return 0;
        };
        let at_start = usize::from(first.frames.start == whole.start);
        let at_end = usize::from(last.frames.end == whole.end);
        hidden.len().saturating_sub(at_start + at_end)
    }

    /// The isolations of some of `frames`.
    pub(crate) fn hidden_in(self, frames: Frames) -> &'a [Hidden] {
        let from = self
            .hidden
            .partition_point(|hidden| hidden.frames.end <= frames.start);
        let rest = &self.hidden[from..];
        let count = rest.partition_point(|hidden| hidden.frames.start < frames.end);
        &rest[..count]
    }

    /// The largest number of pieces that can exist while isolations, and also one of `more`, are
    /// removed or aborted.
    ///
    /// # Cost
    /// O(n).
    pub(super) fn pieces_to_come(self, more: Option<Frames>) -> usize {
        let of_one = |index: u32| {
            let whole = self.all.get(index).frames();
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
                // An aborted isolation becomes a piece of its own if nothing beside it is found.
                let next = isolated.peek().map_or(whole.end, |next| next.start);
                is_found = !is_found && end == next;
                count += usize::from(is_found);
                from = end;
            }
            count + usize::from(from < whole.end)
        };
        self.order.iter(self.all).map(of_one).sum()
    }

    /// An upper bound of [`pieces_to_come`](Self::pieces_to_come) with one more segment or
    /// isolation: each of them makes at most one piece, and removing or aborting makes no more.
    ///
    /// # Cost
    /// O(1).
    #[cfg(feature = "alloc")]
    pub(super) fn most_pieces(self) -> usize {
        self.order.len() + self.hidden.len() + 1
    }

    /// The pieces of a segment, in order.
    pub(crate) fn pieces_of(self, index: u32) -> impl Iterator<Item = Piece<D>> + use<'a, D> {
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

/// Updates the pieces of a structure for `frames`: a change cuts and joins pieces. `take` removes a
/// piece that has some of the given frames and returns its range; `put` inserts a piece.
pub(super) fn rebuild<D, S>(
    snapshot: Snapshot<'_, D>,
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
    for index in snapshot.overlapping(hull) {
        for piece in snapshot.pieces_of(index) {
            if piece.frames.overlaps(hull) {
                while take(into, piece.frames).is_some() {}
                put(into, piece);
            }
        }
    }
}
