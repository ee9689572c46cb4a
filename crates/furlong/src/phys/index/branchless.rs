//! Arm `array-branchless`: the fastest search of a sorted array.
//!
//! The starts form an array of their own, eight per cache line. Each step of the binary search is a
//! load, a comparison and a conditional move: no branch depends on the frame, and there are no
//! bounds checks. Hit or miss is a conditional move, too. Padding the array to a power of two would
//! save two instructions per step, but map the first steps of all lookups to a few cache sets.
#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::hint::select_unpredictable;
use core::ptr::NonNull;

use super::snapshot::{Piece, rebuild};
use crate::phys::{All, Arm, Change, Found, Frames, Pages, Refusal, Site};

/// The arm; see the [list of arms](crate::phys::Lookup).
#[derive(Clone, Copy, Debug)]
pub struct Branchless;

/// Pieces in the order of their frames, in two arrays.
pub struct Sorted<D> {
    starts: Vec<u64>,
    rest: Vec<Rest<D>>,
}

struct Rest<D> {
    end: u64,
    /// Equal to `end`, or 0 if there are no descriptors.
    pages_end: u64,
    pages: Pages<D>,
    index: u32,
}

impl<D> Sorted<D> {
    /// The last piece that starts at or below `frame`, or the first piece if there is none.
    #[inline(always)]
    fn search(&self, frame: u64, mut seen: impl FnMut()) -> Option<(u64, &Rest<D>)> {
        let mut left = self.starts.as_slice();
        while left.len() > 1 {
            // Both halves have the same length, so only the start is selected. The length, and with
            // it the number of steps, does not depend on the frame.
            let half = left.len() / 2;
            let (low, high) = (&left[..left.len() - half], &left[half..]);
            seen();
            left = select_unpredictable(high[0] <= frame, high, low);
        }
        let at = left.as_ptr().addr() - self.starts.as_ptr().addr();
        Some((*left.first()?, self.rest.get(at / size_of::<u64>())?))
    }

    /// Makes room for `most` pieces in total.
    pub(crate) fn reserve(&mut self, most: usize) -> Result<(), Refusal> {
        let Self { starts, rest } = self;
        let more = most.saturating_sub(starts.len());
        let made = starts.try_reserve(more);
        let made = made.and_then(|()| rest.try_reserve(more));
        made.map_err(|_| Refusal::NoMemory)
    }

    pub(crate) fn take(&mut self, frames: Frames) -> Option<Frames> {
        let at = self.rest.partition_point(|rest| rest.end <= frames.start);
        let start = *self.starts.get(at).filter(|start| **start < frames.end)?;
        self.starts.remove(at);
        let end = self.rest.remove(at).end;
        Some(Frames { start, end })
    }

    pub(crate) fn put(&mut self, piece: Piece<D>) {
        let Piece {
            frames,
            index,
            pages,
        } = piece;
        let at = self.starts.partition_point(|start| *start < frames.start);
        self.starts.insert(at, frames.start);
        let rest = Rest {
            end: frames.end,
            pages_end: pages.map_or(0, |_| frames.end),
            pages: pages.unwrap_or(Pages::at(core::ptr::null_mut())),
            index,
        };
        self.rest.insert(at, rest);
    }
}

impl Arm for Branchless {
    type Shared<D> = ();
    type Private<D> = Sorted<D>;
    type Reader<'a, D: 'a> = &'a Sorted<D>;

    fn private<D>() -> Sorted<D> {
        Sorted {
            starts: Vec::new(),
            rest: Vec::new(),
        }
    }

    #[inline]
    fn reader<'a, D>((): &'a (), private: &'a Sorted<D>) -> &'a Sorted<D> {
        private
    }

    #[inline]
    fn find<D>(sorted: &Sorted<D>, frame: u64, seen: impl FnMut()) -> Found {
        let Some((start, rest)) = sorted.search(frame, seen) else {
            return None.into();
        };
        Found {
            is_found: (start <= frame) & (frame < rest.end),
            index: rest.index,
        }
    }

    #[inline]
    fn page<D>(
        sorted: &Sorted<D>,
        frame: u64,
        _: &All<'_, D>,
        seen: impl FnMut(),
    ) -> Option<NonNull<D>> {
        let (start, rest) = sorted.search(frame, seen)?;
        let is_in = (start <= frame) & (frame < rest.pages_end);
        let page = rest.pages.start().wrapping_add(frame as usize);
        NonNull::new(select_unpredictable(is_in, page, core::ptr::null_mut()))
    }

    fn prepare<D>(site: &mut Site<'_, Self, D>, _: Frames, _: Change) -> Result<(), Refusal> {
        site.private.reserve(site.snapshot.most_pieces())
    }

    fn update<D>(site: &mut Site<'_, Self, D>, frames: Frames) {
        let Site {
            snapshot, private, ..
        } = site;
        rebuild(*snapshot, frames, *private, Sorted::take, Sorted::put);
    }

    fn clear<D>(site: &mut Site<'_, Self, D>) {
        *site.private = Self::private();
    }

    fn bytes<D>((): &(), private: &Sorted<D>) -> usize {
        private.starts.len() * (size_of::<u64>() + size_of::<Rest<D>>())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Arm, Branchless, Piece};

    #[test]
    fn room_for_pieces_altogether_is_made_once() {
        let mut sorted = Branchless::private::<u8>();
        sorted.reserve(100).unwrap();
        let room = sorted.starts.capacity();
        assert!((100..200).contains(&room), "{room}");
        (0..90).for_each(|_| sorted.put(Piece::NONE));
        sorted.reserve(100).unwrap();
        assert_eq!(sorted.starts.capacity(), room, "ten more are room enough");
    }
}
