//! Operations of a trace, and the specification's answers, computed before any subject runs.

use std::fmt;
use std::ops::Range;

use furlong::addr::{Address, Extent, Pfn};
use furlong_spec::Random;
use furlong_spec::phys::{Name, Refusal, SortedList};
use furlong_spec::phys_map::{Operation, Recording, Segment};

/// A change, with the specification's answer.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A plug; the answer is the new segment's name.
    Plug {
        frames: Extent<Pfn>,
        node: u32,
        expected: Result<Name, Refusal>,
    },
    /// An unplug; the answer is the name of the upper part, if it splits a segment.
    Unplug {
        frames: Extent<Pfn>,
        expected: Result<Option<Name>, Refusal>,
    },
    /// The end of boot.
    Start,
    /// Successive lookups, as a range of [`Script::looks`].
    Look(Range<usize>),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut change = |verb: &str, frames: &Extent<Pfn>| {
            let Range { start, end } = range(frames);
            write!(f, "{verb} {start:#x} {end:#x}")
        };
        match self {
            Step::Plug { frames, .. } => change("plug", frames),
            Step::Unplug { frames, .. } => change("unplug", frames),
            Step::Start => f.write_str("start"),
            Step::Look(looks) => write!(f, "{} lookups", looks.len()),
        }
    }
}

/// A frame to look up; the answer is its segment and its offset in it.
pub(super) type Look = (u64, Option<(Name, u64)>);

/// Operations in order, with the expected answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Script {
    pub(super) steps: Vec<Step>,
    pub(super) looks: Vec<Look>,
    /// Maximum number of frames in segments at a time, the highest frame of a segment, and the
    /// maximum number of segments.
    pub(super) frames_max: u64,
    pub(super) highest: u64,
    pub(super) segments_max: usize,
    frames: u64,
    refused: usize,
}

/// Lookups on a map, besides those at its borders.
const LOOKS: usize = 100_000;

/// The frames as a half-open range; an end of 2^64 saturates, which changes no comparison.
fn range(frames: &Extent<Pfn>) -> Range<u64> {
    frames.start().raw()..frames.last().raw().saturating_add(1)
}

fn len(frames: &Extent<Pfn>) -> u64 {
    let range = range(frames);
    range.end - range.start
}

impl Script {
    /// Builds a script from a recording. Boot ends before the first operation that is not a plug.
    pub(super) fn of_recording(recording: &Recording) -> Self {
        let mut script = Self::default();
        let mut list = SortedList::new();
        let mut has_started = false;
        for operation in &recording.operations {
            let is_plug = matches!(operation, Operation::Plug { .. });
            if !is_plug && !has_started {
                script.steps.push(Step::Start);
                has_started = true;
            }
            match *operation {
                Operation::Plug { frames, node } => script.plug(&mut list, frames, node),
                Operation::Unplug { frames } => script.unplug(&mut list, frames),
                Operation::Find { pfn } => script.look(&list, pfn.raw()),
            }
        }
        if !has_started {
            script.steps.push(Step::Start);
        }
        script
    }

    /// Builds a script from the boot of a machine with these segments, then lookups: at all
    /// borders, in segments, and between them.
    pub(super) fn of_map(segments: &[Segment]) -> Self {
        let mut script = Self::default();
        let mut list = SortedList::new();
        for segment in segments {
            script.plug(&mut list, segment.frames, segment.node);
        }
        script.steps.push(Step::Start);
        for segment in segments {
            let Range { start, end } = range(&segment.frames);
            for frame in [start.saturating_sub(1), start, end - 1, end] {
                script.look(&list, frame);
            }
        }
        let Some(last) = segments.last() else {
            return script;
        };
        let mut random = Random::new(1);
        let beyond = range(&last.frames).end;
        for _ in 0..LOOKS / 2 {
            let inside = &segments[random.index(segments.len())].frames;
            let frame = inside.start().raw() + random.below(len(inside));
            script.look(&list, frame);
            script.look(&list, random.below(beyond + beyond / 8));
        }
        script
    }

    pub(super) fn is_empty(&self) -> bool {
        self.looks.is_empty() && self.segments_max == 0
    }

    fn plug(&mut self, list: &mut SortedList, frames: Extent<Pfn>, node: Option<u32>) {
        let expected = list.plug(range(&frames));
        if expected.is_ok() {
            self.frames += len(&frames);
            self.frames_max = self.frames_max.max(self.frames);
            self.highest = self.highest.max(frames.last().raw());
            self.segments_max = self.segments_max.max(list.segments().len());
        }
        self.refused += usize::from(expected.is_err());
        // An unknown node counts as the default one.
        let node = node.unwrap_or(0);
        self.steps.push(Step::Plug {
            frames,
            node,
            expected,
        });
    }

    fn unplug(&mut self, list: &mut SortedList, frames: Extent<Pfn>) {
        let expected = list.unplug(range(&frames));
        if expected.is_ok() {
            self.frames -= len(&frames);
            self.segments_max = self.segments_max.max(list.segments().len());
        }
        self.refused += usize::from(expected.is_err());
        self.steps.push(Step::Unplug { frames, expected });
    }

    fn look(&mut self, list: &SortedList, frame: u64) {
        let at = self.looks.len();
        self.looks.push((frame, list.find(frame)));
        if let Some(Step::Look(looks)) = self.steps.last_mut() {
            looks.end += 1;
        } else {
            self.steps.push(Step::Look(at..at + 1));
        }
    }

    /// Number of steps of a kind.
    pub(super) fn count(&self, is_one: impl Fn(&Step) -> bool) -> u64 {
        self.steps.iter().filter(|step| is_one(step)).count() as u64
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plugs = self.count(|step| matches!(step, Step::Plug { .. }));
        let unplugs = self.count(|step| matches!(step, Step::Unplug { .. }));
        write!(
            f,
            "{plugs} plugs and {unplugs} unplugs, {} of them to be refused; {} lookups; at most {} \
             segments with {} frames",
            self.refused,
            self.looks.len(),
            self.segments_max,
            self.frames_max
        )
    }
}
