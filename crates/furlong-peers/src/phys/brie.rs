//! brie-tree: a B+ tree of integer keys. Its cursor moves to the first key from a bound on, so a
//! segment's key is its last frame.

use std::ops::{Bound, Range};

use brie_tree::BTree;
use brie_tree::nonmax::NonMaxU64;
use furlong_experiments::phys_lookup::SegmentIndex;
use furlong_lab::model::Failure;

/// Segments by their last frame: first frame and number.
pub struct Brie(BTree<NonMaxU64, (u64, usize)>);

#[inline(always)]
fn key(frame: u64) -> NonMaxU64 {
    NonMaxU64::new(frame).expect("a frame has fewer than 64 bits")
}

impl SegmentIndex for Brie {
    fn new(segments: &[(Range<u64>, usize)]) -> Result<Self, Failure> {
        let entry =
            |(frames, number): &(Range<u64>, usize)| (key(frames.end - 1), (frames.start, *number));
        Ok(Self(segments.iter().map(entry).collect()))
    }

    #[inline]
    fn find(&self, frame: u64) -> Option<(u64, usize)> {
        let cursor = self.0.cursor_at(Bound::Included(key(frame)));
        let (first, number) = cursor.value()?;
        (*first <= frame).then_some((*first, *number))
    }
}
