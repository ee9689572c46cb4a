//! Operations from a seed, or from any other choices.
#![forbid(unsafe_code)]

use core::iter;
use core::ops::Range;
use std::collections::VecDeque;

use furlong::phys::FRAME_BITS;

use super::Operation;
use super::operation::HELD;
use crate::{Choices, Random};

/// The operations of a stream beyond those that every arm supports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mix {
    /// Plugs ranges that host their own bookkeeping.
    pub hosts: bool,
    /// Gives the table memory, a little at a time.
    pub donates: bool,
}

/// `count` operations that every arm supports, on `space` frames from `base` on. Equal arguments
/// give equal streams. Boot ends within the first third.
pub fn operations(
    base: u64,
    space: u64,
    count: usize,
    seed: u64,
) -> impl Iterator<Item = Operation> {
    mixed_operations(base, space, count, seed, Mix::default())
}

/// As [`operations`], with those of `mix`.
pub fn mixed_operations(
    base: u64,
    space: u64,
    count: usize,
    seed: u64,
    mix: Mix,
) -> impl Iterator<Item = Operation> {
    let mut random = Random::new(seed);
    let start = random.index(count / 3);
    chosen(base, space, start, mix, random).take(count)
}

/// As [`mixed_operations`] until the choices are spent. Boot ends with operation number `start`.
pub fn chosen<C: Choices>(
    base: u64,
    space: u64,
    start: usize,
    mix: Mix,
    mut random: C,
) -> impl Iterator<Item = Operation> {
    let orders = u64::from(space.ilog2()).max(2);
    let mut draw = Draw {
        longest: 1 << (1 + random.below(orders - 1)),
        random,
        base,
        space,
        recent: VecDeque::new(),
        named: 0,
        mix,
    };
    let mut steps = 0..;
    iter::from_fn(move || {
        let is_left = !draw.random.is_spent();
        is_left.then(|| match steps.next() == Some(start) {
            true => Operation::Start,
            false => draw.operation(),
        })
    })
}

/// The number of ranges remembered.
const RECENT: usize = 6;

struct Draw<C> {
    random: C,
    base: u64,
    space: u64,
    /// The maximum length of a range of frames.
    longest: u64,
    /// Ranges that were plugged or isolated, or that such an operation tried to.
    recent: VecDeque<Range<u64>>,
    /// An estimate of the number of segments made so far.
    named: usize,
    mix: Mix,
}

impl<C: Choices> Draw<C> {
    /// Remembers a range, so that later operations use it again.
    fn remember(&mut self, frames: &Range<u64>) {
        self.recent.truncate(RECENT - 1);
        self.recent.push_front(frames.clone());
    }

    fn recent(&mut self) -> Option<Range<u64>> {
        if self.recent.is_empty() || self.random.below(3) == 0 {
            return None;
        }
        let at = self.random.index(self.recent.len());
        self.recent.get(at).cloned()
    }

    /// Probably frames of a segment: all of a recent range, or its front, back or middle.
    fn there(&mut self) -> Range<u64> {
        let Some(Range { start, end }) = self.recent() else {
            return self.frames();
        };
        let len = end - start;
        let (a, b) = (self.random.below(len), self.random.below(len));
        match self.random.below(6) {
            0..3 => start..end,
            3 => start..start + a + 1,
            4 => start + a..end,
            _ => start + a.min(b)..start + a.max(b) + 1,
        }
    }

    /// Probably a frame of a segment.
    fn frame_there(&mut self) -> u64 {
        match self.recent() {
            Some(frames) => frames.start + self.random.below(frames.end - frames.start),
            None => self.frame(),
        }
    }

    /// A random frame, half of the time at a border of blocks.
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
        self.within(start..start + len)
    }

    /// The part of a range within the space.
    fn within(&mut self, frames: Range<u64>) -> Range<u64> {
        let end = self.base + self.space;
        // Occasionally beyond the highest possible frame.
        let tries = end == 1 << FRAME_BITS && self.random.below(16) == 0;
        frames.start..if tries {
            frames.end + 8
        } else {
            frames.end.min(end)
        }
    }

    fn part(&mut self, frames: &Range<u64>) -> Range<u64> {
        let len = frames.end - frames.start + 1;
        let ends = match self.random.below(4) {
            0 => [self.random.below(len); 2],
            _ => [self.random.below(len), self.random.below(len)],
        };
        // Occasionally reversed, or beyond the segment.
        let extra = u64::from(self.random.below(16) == 0);
        frames.start + ends[0]..frames.start + ends[1] + extra
    }

    /// The name of a segment that exists, did exist or will exist.
    fn name(&mut self) -> usize {
        self.random.index(self.named + 2)
    }

    fn plug(&mut self) -> Operation {
        let frames = self.frames();
        let avail = (self.random.below(3) == 0).then(|| self.part(&frames));
        self.remember(&frames);
        self.named += usize::from(self.random.below(2) == 0);
        Operation::Plug {
            frames,
            avail,
            node: self.random.below(3) as u32,
            user: self.random.below(100),
        }
    }

    fn plug_hosted(&mut self) -> Operation {
        let start = self.frame();
        let end = start + 1 + self.random.below(self.space);
        let frames = self.within(start..end);
        self.remember(&frames);
        let spare = (self.random.below(8) > 0).then(|| self.random.below(3));
        Operation::PlugHosted { frames, spare }
    }

    fn isolate(&mut self) -> Operation {
        let frames = self.there();
        self.remember(&frames);
        Operation::Isolate(self.random.index(HELD), frames)
    }

    fn operation(&mut self) -> Operation {
        match self.random.below(112) {
            0..20 => self.plug(),
            20..35 => Operation::Unplug(self.there()),
            35..43 => self.isolate(),
            43..50 => Operation::Remove(self.random.index(HELD)),
            50..54 => Operation::Abort(self.random.index(HELD)),
            54..57 => Operation::Steal(self.name()),
            57..60 => Operation::StealForced(self.name()),
            60..62 => Operation::StealFrom((0..self.random.below(4) as u32).rev().collect()),
            62..65 => Operation::Pin(self.frame_there(), self.random.below(3) > 0),
            65 => Operation::Adopt(self.frame_there()),
            66..70 if self.mix.hosts => self.plug_hosted(),
            70..74 if self.mix.hosts => Operation::Make(self.frame_there()),
            74..77 if self.mix.donates => Operation::Donate(self.random.index(1 << 15)),
            66..77 => Operation::Unplug(self.frames()),
            _ => self.question(),
        }
    }

    /// An operation that looks up, or changes a segment's properties.
    fn question(&mut self) -> Operation {
        match self.random.below(35) {
            0..6 => Operation::Find(self.frame_there()),
            6..12 => Operation::Page(self.frame_there()),
            12..14 => Operation::FrameIn(self.name(), self.frame_there()),
            14..16 => Operation::Locate(self.frame_there()),
            16 => Operation::First,
            17 => Operation::Last,
            18 => Operation::Next(self.name()),
            19 => Operation::Prev(self.name()),
            20..22 => Operation::Get(self.name()),
            22..24 => {
                let frames = self.there();
                Operation::SetAvail(self.name(), self.part(&frames))
            }
            24..26 => Operation::SetHint(self.name(), self.random.below(20)),
            26 => Operation::SetUser(self.name(), self.random.below(100)),
            27 => Operation::SetNode(self.name(), self.random.below(3) as u32),
            28..30 => Operation::List,
            30 => Operation::Isolations,
            31 => Operation::Highest,
            32 => Operation::AvailEdges,
            33 => Operation::Start,
            _ => Operation::Managed,
        }
    }
}
