//! Properties of frame ranges and bitmaps, for all inputs.
#![forbid(unsafe_code)]

use core::cell::Cell;

use super::segment::{FRAME_BITS, Frames};
use super::storage::bits::{clear_run, count, mark};
use crate::addr::{Extent, Pfn};
use crate::proofs::{Input, Property};

/// The properties of this file.
pub const PROPERTIES: &[Property] = &[
    Property::new("phys::frames_are_the_extent", frames_are_the_extent),
    Property::new("phys::what_meets_is_in_both", what_meets_is_in_both),
    Property::new("phys::a_cover_has_every_frame", a_cover_has_every_frame),
    Property::new(
        "phys::marks_set_and_clear_their_bits",
        marks_set_and_clear_their_bits,
    ),
    Property::new("phys::a_count_is_of_its_bits", a_count_is_of_its_bits),
    Property::new(
        "phys::the_first_clear_bit_is_found",
        the_first_clear_bit_is_found,
    ),
];

/// `Frames` has the frames of its extent, and refuses numbers with more than [`FRAME_BITS`] bits.
pub fn frames_are_the_extent(x: &Input) -> bool {
    let (start, last) = (x[0].min(x[1]), x[0].max(x[1]));
    let Some(extent) = Extent::from_last(Pfn::new(start), Pfn::new(last)) else {
        return false;
    };
    match Frames::new(extent) {
        Some(frames) => {
            let inside = frames.contains(x[2]) == extent.contains(Pfn::new(x[2]));
            let len = Some(frames.len()) == extent.len() && frames.checked_len() == frames.len();
            inside && len && frames.extent() == Some(extent) && last >> FRAME_BITS == 0
        }
        None => last >> FRAME_BITS != 0,
    }
}

/// Frames from one word: a start of 20 bits, and a length of as many bits, possibly 0.
fn frames(word: u64) -> Frames {
    let (start, len) = (word & 0xf_ffff, word >> 20 & 0xf_ffff);
    Frames::between(start, start + len)
}

/// A frame is in the meet of two ranges exactly if it is in both; then the ranges overlap.
pub fn what_meets_is_in_both(x: &Input) -> bool {
    let (a, b, frame) = (frames(x[0]), frames(x[1]), x[2]);
    let both = a.contains(frame) && b.contains(frame);
    let meet = a.meet(b);
    meet.contains(frame) == both && (!both || a.overlaps(b)) && a.overlaps(b) != meet.is_empty()
}

/// A range that covers another has each of its frames; one that does not lacks one of its ends.
pub fn a_cover_has_every_frame(x: &Input) -> bool {
    let (a, b, frame) = (frames(x[0]), frames(x[1]), x[2]);
    if b.is_empty() {
        return true;
    }
    if a.covers(b) {
        return !b.contains(frame) || a.contains(frame);
    }
    !a.contains(b.start) || !a.contains(b.end - 1)
}

/// Start and length of a run of bits in two words.
fn run(word: u64) -> (usize, usize) {
    let from = word as usize & 127;
    (from, (word >> 7) as usize & 127 & (127 - from))
}

/// Marking changes all bits of the run, and no others.
pub fn marks_set_and_clear_their_bits(x: &Input) -> bool {
    let words = [Cell::new(x[0]), Cell::new(x[1])];
    let (from, len) = run(x[2]);
    let (set, bit) = (x[3] >> 7 & 1 == 1, x[3] as usize & 127);
    let before = if bit < 64 { x[0] } else { x[1] } >> (bit & 63) & 1;
    mark(&words, from, len, set);
    let after = if bit < 64 {
        words[0].get()
    } else {
        words[1].get()
    } >> (bit & 63)
        & 1;
    let inside = from <= bit && bit < from + len;
    after == if inside { u64::from(set) } else { before }
}

/// A bit is counted exactly if it is in the run. Words with one bit are enough, as a count is the
/// sum over the bits.
pub fn a_count_is_of_its_bits(x: &Input) -> bool {
    let (from, len) = run(x[2]);
    let bit = x[3] as usize & 127;
    let one = |at: usize| Cell::new(if bit / 64 == at { 1 << (bit & 63) } else { 0 });
    let inside = from <= bit && bit < from + len;
    count(&[one(0), one(1)], from, len) == usize::from(inside)
}

/// A clear run of length one is the first clear bit from a place on.
pub fn the_first_clear_bit_is_found(x: &Input) -> bool {
    let words = [Cell::new(x[0]), Cell::new(x[1])];
    let (from, other) = (x[2] as usize & 127, x[3] as usize & 127);
    let is_clear = |bit: usize| {
        let word = if bit < 64 { x[0] } else { x[1] };
        word >> (bit & 63) & 1 == 0
    };
    match clear_run(&words, from, 128, 1) {
        Ok(found) => {
            let earlier = from <= other && other < found && is_clear(other);
            found >= from && found < 128 && is_clear(found) && !earlier
        }
        Err(_) => other < from || !is_clear(other),
    }
}
