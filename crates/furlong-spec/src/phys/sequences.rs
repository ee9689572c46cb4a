//! Every sequence of operations in a small space, during boot and after it.
#![forbid(unsafe_code)]

use core::ops::Range;

use super::Model;
use super::operation::{Operation, Outcome};
use crate::{Subject, compare};

/// All changes of a table with few frames, and all look-ups after them.
#[derive(Clone, Debug)]
pub struct Small {
    frames: Range<u64>,
    changes: Vec<Operation>,
    looks: Vec<Operation>,
}

/// The number of segment names used.
const NAMES: usize = 3;

fn plug(frames: Range<u64>, avail: Option<Range<u64>>) -> Operation {
    Operation::Plug {
        frames,
        avail,
        node: 0,
        user: 7,
    }
}

impl Small {
    /// The space `frames`. Three frames are enough for every change of a segment.
    #[must_use]
    pub fn new(frames: Range<u64>) -> Self {
        let (first, end) = (frames.start, frames.end);
        let ranges = || (first..end).flat_map(|from| (from + 1..=end).map(move |to| from..to));
        let names = 0..NAMES;
        let changes = ranges()
            .map(|frames| plug(frames, None))
            .chain([plug(frames.clone(), Some(first + 1..first + 1))])
            .chain(ranges().map(Operation::Unplug))
            .chain(ranges().map(|frames| Operation::Isolate(0, frames)))
            .chain((first..end).map(|frame| Operation::Isolate(1, frame..frame + 1)))
            .chain([0, 1].map(Operation::Remove))
            .chain([0, 1].map(Operation::Abort))
            .chain([Operation::Start, Operation::StealFrom(vec![0])])
            .chain(names.clone().map(Operation::Steal))
            .chain(names.clone().map(Operation::StealForced))
            .chain([Operation::Pin(first + 1, true), Operation::Adopt(first)])
            .chain([
                Operation::SetAvail(0, first..first + 1),
                Operation::SetHint(0, 1),
            ]);
        // Includes one frame on either side.
        let around = first.saturating_sub(1)..=end;
        let looks = around
            .flat_map(|frame| [Operation::Find(frame), Operation::Page(frame)])
            .chain(names.flat_map(|name| [Operation::Get(name), Operation::FrameIn(name, first)]))
            .chain([
                Operation::List,
                Operation::Isolations,
                Operation::Descriptors,
            ])
            .chain([
                Operation::Managed,
                Operation::AvailEdges,
                Operation::Highest,
            ]);
        Self {
            changes: changes.collect(),
            looks: looks.collect(),
            frames,
        }
    }

    /// The number of changes to choose from at each step.
    #[must_use]
    pub fn changes(&self) -> usize {
        self.changes.len()
    }

    /// Runs every sequence of up to `length` changes in which only the last may be refused. Each
    /// runs on a new subject and ends with every look-up. Returns the number of sequences.
    ///
    /// # Errors
    /// The first sequence that diverges from the model, and the operation.
    pub fn sequences<S>(&self, build: impl Fn() -> S, length: usize) -> Result<u64, String>
    where
        S: Subject<Operation = Operation, Outcome = Outcome>,
    {
        let count = (self.frames.end - self.frames.start) as usize;
        let model = Model::new(self.frames.start, count, None);
        self.go_on(&build, &model, &model, &mut Vec::new(), length)
    }

    fn go_on<S>(
        &self,
        build: &impl Fn() -> S,
        empty: &Model,
        model: &Model,
        path: &mut Vec<Operation>,
        length: usize,
    ) -> Result<u64, String>
    where
        S: Subject<Operation = Operation, Outcome = Outcome>,
    {
        let mut done = 0;
        for change in &self.changes {
            let mut next = model.clone();
            let is_refused = matches!(next.apply(change), Outcome::Refused(_));
            path.push(change.clone());
            let all = path.iter().chain(&self.looks).cloned();
            compare(&mut empty.clone(), &mut build(), all)
                .map_err(|divergence| format!("{path:?}: {divergence}"))?;
            done += 1;
            if !is_refused && length > 1 {
                done += self.go_on(build, empty, &next, path, length - 1)?;
            }
            path.pop();
        }
        Ok(done)
    }
}
