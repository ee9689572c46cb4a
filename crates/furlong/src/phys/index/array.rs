//! Arm `array`: a static array of segments with a search strategy, as in `uvm_physseg.c` without
//! `UVM_HOTPLUG`.
#![forbid(unsafe_code)]

use core::marker::PhantomData;
use core::ptr::NonNull;

use super::snapshot::{Piece, rebuild};
use crate::phys::{All, Arm, Change, Found, Frames, Refusal, Site};

/// An array of at most `M` segments, searched by strategy `S`. Isolated frames keep their slots, so
/// that an abort always has room.
pub struct Array<S = BinarySearch, const M: usize = 32>(PhantomData<S>);

/// Order and search algorithm of an [`Array`].
pub trait Strategy: sealed::Order {}

impl<S: sealed::Order> Strategy for S {}

mod sealed {
    use super::Frames;

    pub trait Order {
        /// True if `a` precedes `b` in the array.
        fn is_before(a: Frames, b: Frames) -> bool;

        /// The most segments that an array of `room` slots may hold.
        fn limit(room: usize) -> usize {
            room
        }

        /// The position of the piece with `frame`. Calls `seen` for each piece it looks at.
        fn search<D>(pieces: &[super::Piece<D>], frame: u64, seen: impl FnMut()) -> Option<usize>;
    }
}

/// `VM_PHYSSEG_MAX == 1`: one segment, one comparison.
#[derive(Clone, Copy, Debug)]
pub struct Contiguous;

/// `VM_PSTRAT_BSEARCH`: sorted by frames, binary search with branches.
#[derive(Clone, Copy, Debug)]
pub struct BinarySearch;

/// `VM_PSTRAT_RANDOM`: linear search from the front.
#[derive(Clone, Copy, Debug)]
pub struct Linear;

/// `VM_PSTRAT_BIGFIRST`: sorted by size, largest first, linear search from the front.
#[derive(Clone, Copy, Debug)]
pub struct BigFirst;

fn first_with<D>(pieces: &[Piece<D>], frame: u64, mut seen: impl FnMut()) -> Option<usize> {
    pieces.iter().position(|piece| {
        seen();
        piece.frames.contains(frame)
    })
}

impl sealed::Order for Contiguous {
    fn is_before(a: Frames, b: Frames) -> bool {
        a.start < b.start
    }

    #[inline]
    fn search<D>(pieces: &[Piece<D>], frame: u64, seen: impl FnMut()) -> Option<usize> {
        first_with(&pieces[..pieces.len().min(1)], frame, seen)
    }

    fn limit(room: usize) -> usize {
        room.min(1)
    }
}

impl sealed::Order for BinarySearch {
    fn is_before(a: Frames, b: Frames) -> bool {
        a.start < b.start
    }

    #[inline]
    fn search<D>(pieces: &[Piece<D>], frame: u64, mut seen: impl FnMut()) -> Option<usize> {
        let (mut from, mut len) = (0, pieces.len());
        while len > 0 {
            let half = len / 2;
            // No panic: the guard of a table that may be unwound would lie in memory.
            let piece = pieces.get(from + half)?;
            seen();
            if frame >= piece.frames.start {
                if frame < piece.frames.end {
                    return Some(from + half);
                }
                from += half + 1;
                len -= half + 1;
            } else {
                len = half;
            }
        }
        None
    }
}

impl sealed::Order for Linear {
    fn is_before(_: Frames, _: Frames) -> bool {
        true
    }

    #[inline]
    fn search<D>(pieces: &[Piece<D>], frame: u64, seen: impl FnMut()) -> Option<usize> {
        first_with(pieces, frame, seen)
    }
}

impl sealed::Order for BigFirst {
    fn is_before(a: Frames, b: Frames) -> bool {
        a.len() >= b.len()
    }

    #[inline]
    fn search<D>(pieces: &[Piece<D>], frame: u64, seen: impl FnMut()) -> Option<usize> {
        first_with(pieces, frame, seen)
    }
}

/// The storage of an [`Array`].
pub struct Pieces<D, const M: usize> {
    pieces: [Piece<D>; M],
    len: usize,
}

impl<D, const M: usize> Pieces<D, M> {
    fn used(&self) -> &[Piece<D>] {
        self.pieces.get(..self.len).unwrap_or_default()
    }

    fn take(&mut self, frames: Frames) -> Option<Frames> {
        let taken = |piece: &Piece<D>| piece.frames.overlaps(frames);
        let at = self.used().iter().position(taken)?;
        let piece = self.pieces[at];
        self.pieces.copy_within(at + 1..self.len, at);
        self.len -= 1;
        Some(piece.frames)
    }

    fn put<S: Strategy>(&mut self, piece: Piece<D>) {
        let is_behind = |other: &Piece<D>| !S::is_before(other.frames, piece.frames);
        let at = self.used().iter().position(is_behind).unwrap_or(self.len);
        self.pieces.copy_within(at..self.len, at + 1);
        self.pieces[at] = piece;
        self.len += 1;
    }
}

impl<S: Strategy, const M: usize> Arm for Array<S, M> {
    type Shared<D> = ();
    type Private<D> = Pieces<D, M>;
    type Reader<'a, D: 'a> = &'a [Piece<D>];

    fn private<D>() -> Pieces<D, M> {
        Pieces {
            pieces: [Piece::NONE; M],
            len: 0,
        }
    }

    #[inline]
    fn reader<'a, D>((): &'a (), private: &'a Pieces<D, M>) -> &'a [Piece<D>] {
        private.used()
    }

    #[inline]
    fn find<D>(pieces: &[Piece<D>], frame: u64, seen: impl FnMut()) -> Found {
        S::search(pieces, frame, seen)
            .map(|at| pieces[at].index)
            .into()
    }

    #[inline]
    fn page<D>(
        pieces: &[Piece<D>],
        frame: u64,
        _: &All<'_, D>,
        seen: impl FnMut(),
    ) -> Option<NonNull<D>> {
        let at = S::search(pieces, frame, seen)?;
        pieces.get(at)?.pages?.of(frame)
    }

    fn prepare<D>(
        site: &mut Site<'_, Self, D>,
        frames: Frames,
        change: Change,
    ) -> Result<(), Refusal> {
        let snapshot = site.snapshot;
        let most = match change {
            Change::Plug => snapshot.pieces_to_come(None) + 1,
            Change::Isolate => snapshot.pieces_to_come(Some(frames)),
            Change::Refresh => snapshot.pieces_to_come(None),
        };
        if most > S::limit(M) {
            return Err(Refusal::Full(S::limit(M)));
        }
        Ok(())
    }

    fn update<D>(site: &mut Site<'_, Self, D>, frames: Frames) {
        let Site {
            snapshot, private, ..
        } = site;
        rebuild(*snapshot, frames, *private, Pieces::take, Pieces::put::<S>);
    }

    fn clear<D>(site: &mut Site<'_, Self, D>) {
        site.private.len = 0;
    }

    fn bytes<D>((): &(), _: &Pieces<D, M>) -> usize {
        size_of::<Pieces<D, M>>()
    }
}
