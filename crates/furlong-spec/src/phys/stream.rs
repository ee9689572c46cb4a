//! Operations from a seed.
#![forbid(unsafe_code)]

use core::ops::Range;

use super::Operation;
use super::operation::HELD;
use crate::Random;

/// `count` operations over `space` frames from `base` on; equal for equal arguments. Boot ends
/// somewhere in the first half.
pub fn operations(
    base: u64,
    space: u64,
    count: usize,
    seed: u64,
) -> impl Iterator<Item = Operation> {
    let mut random = Random::new(seed);
    let start = random.index(count / 2);
    let longest = 1 << (1 + random.below(u64::from(space.ilog2()) - 1));
    (0..count).map(move |step| {
        if step == start {
            return Operation::Start;
        }
        let mut draw = Draw {
            random: &mut random,
            base,
            space,
            longest,
        };
        draw.operation()
    })
}

struct Draw<'a> {
    random: &'a mut Random,
    base: u64,
    space: u64,
    /// Of a stretch of frames.
    longest: u64,
}

impl Draw<'_> {
    /// A frame, at a border of blocks as often as not.
    fn frame(&mut self) -> u64 {
        let at = self.random.below(self.space);
        let at = if self.random.below(2) == 0 {
            at & !7
        } else {
            at
        };
        self.base + at
    }

    fn frames(&mut self) -> Range<u64> {
        let start = self.frame();
        let len = 1 + self.random.below(self.longest);
        let len = if self.random.below(2) == 0 {
            len.next_multiple_of(8)
        } else {
            len
        };
        start..(start + len).min(self.base + self.space)
    }

    fn part(&mut self, frames: &Range<u64>) -> Range<u64> {
        let len = frames.end - frames.start + 1;
        let ends = [self.random.below(len), self.random.below(len)];
        // Reversed now and then, and beyond the segment too.
        let extra = u64::from(self.random.below(16) == 0);
        frames.start + ends[0]..frames.start + ends[1] + extra
    }

    /// Of a segment that is there, was there, or will be there.
    fn name(&mut self) -> usize {
        let most = 1 + self.random.index(24);
        self.random.index(most)
    }

    fn plug(&mut self) -> Operation {
        let frames = self.frames();
        let avail = (self.random.below(3) == 0).then(|| self.part(&frames));
        Operation::Plug {
            frames,
            avail,
            node: self.random.below(3) as u32,
            user: self.random.below(100),
        }
    }

    fn operation(&mut self) -> Operation {
        match self.random.below(100) {
            0..20 => self.plug(),
            20..35 => Operation::Unplug(self.frames()),
            35..43 => Operation::Isolate(self.random.index(HELD), self.frames()),
            43..50 => Operation::Remove(self.random.index(HELD)),
            50..54 => Operation::Abort(self.random.index(HELD)),
            54..57 => Operation::Steal(self.name()),
            57..60 => Operation::StealForced(self.name()),
            60..62 => Operation::StealFrom((0..self.random.below(4) as u32).rev().collect()),
            62..64 => Operation::Pin(self.frame(), self.random.below(3) == 0),
            64..70 => Operation::Find(self.frame()),
            70..76 => Operation::Page(self.frame()),
            76..79 => Operation::Locate(self.frame()),
            79 => Operation::First,
            80 => Operation::Last,
            81..83 => Operation::Next(self.name()),
            83..85 => Operation::Prev(self.name()),
            85..88 => Operation::Get(self.name()),
            88..90 => {
                let frames = self.frames();
                Operation::SetAvail(self.name(), self.part(&frames))
            }
            90..92 => Operation::SetHint(self.name(), self.random.below(20)),
            92..95 => Operation::List,
            95 => Operation::Highest,
            96 => Operation::AvailEdges,
            97 => Operation::Start,
            _ => Operation::Managed,
        }
    }
}
