//! The thread that plugs and unplugs, and records each change in the history.

use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use furlong::addr::{Extent, Pfn};
use furlong::check::Check;
use furlong::phys::{Isolated, UnplugError};

use super::history::{HIDDEN, History, Known, Layout, SEGMENTS, number};
use super::page::Page;
use super::{Changes, Stretch, Table};
use crate::Random;

/// The number of changes between two checks of the table.
const CHECKED: u64 = 1 << 12;

/// The number of attempts to remove frames that readers may be using.
const TRIES: usize = 100;

/// The writer's own state of a stretch.
struct Mine<'a> {
    stretch: Stretch,
    history: &'a History,
    layout: Layout,
    /// The tokens, in the order of the layout's isolations.
    held: Vec<Isolated>,
}

/// A writer that changes a table at random.
pub(super) struct Writer<'a> {
    table: &'a Table,
    stretches: Vec<Mine<'a>>,
    /// Index of the stretch that is changed now.
    at: usize,
    random: Random,
    epoch: u64,
    changes: Changes,
}

fn extent(frames: &Range<u64>) -> Extent<Pfn> {
    Extent::from_end(Pfn::new(frames.start), Pfn::new(frames.end)).expect("it is not empty")
}

impl<'a> Writer<'a> {
    /// A writer of an empty table. It plugs the first segment, which stays.
    pub(super) fn new(
        table: &'a Table,
        stretches: &[Stretch],
        histories: &'a [History],
        random: Random,
    ) -> Self {
        let mine = stretches
            .iter()
            .zip(histories)
            .map(|(stretch, history)| Mine {
                stretch: *stretch,
                history,
                layout: Layout::default(),
                held: Vec::new(),
            });
        let mut writer = Self {
            table,
            stretches: mine.collect(),
            at: 1,
            random,
            epoch: 0,
            changes: Changes::default(),
        };
        let anchor = writer.stretches[0].stretch.frames();
        writer.plug(0, &anchor);
        table.lock().start().expect("there is memory");
        writer
    }

    /// Changes the table until it is told to stop.
    ///
    /// # Errors
    /// The broken invariant of the table.
    pub(super) fn run(mut self, stop: &AtomicBool) -> Result<Changes, String> {
        let mut steps = 0_u64;
        while !stop.load(Ordering::SeqCst) {
            self.step();
            steps += 1;
            if steps.is_multiple_of(CHECKED) {
                self.check()?;
            }
        }
        self.check()?;
        Ok(self.changes)
    }

    fn check(&self) -> Result<(), String> {
        let checked = self.table.lock().check();
        checked.map_err(|broken| format!("after {:?}: {broken}", self.changes))
    }

    fn step(&mut self) {
        if self.random.below(16) == 0 {
            self.go_elsewhere();
        }
        let at = self.at;
        match self.random.below(16) {
            0..5 => {
                if let Some(frames) = self.free_frames(at) {
                    self.plug(at, &frames);
                }
            }
            5..9 => self.isolate_some(at),
            9..13 => self.remove_some(at),
            13 => self.abort(at),
            14 => self.unplug(at),
            _ => self.carve(at),
        }
    }

    /// Selects another stretch. Changes come in bursts, so that one lookup can overlap several.
    fn go_elsewhere(&mut self) {
        // Stretch 0 is the segment that stays.
        let at = 1 + self.random.index(self.stretches.len() - 1);
        let odds = self.stretches[at].stretch.odds;
        if self.random.below(odds) == 0 {
            self.at = at;
        }
    }

    /// Carries out a change and records it in the history before and after. If `change` returns
    /// false, the change has failed and the stretch is unchanged.
    fn change(
        &mut self,
        at: usize,
        on_the_way: &[&Layout],
        mut after: Layout,
        change: impl FnOnce(&Table, &mut Vec<Isolated>) -> bool,
    ) -> bool {
        let table = self.table;
        let mine = &mut self.stretches[at];
        let layouts: Vec<&Layout> = on_the_way.iter().copied().chain([&after]).collect();
        mine.history.begin(&layouts);
        let is_done = change(table, &mut mine.held);
        if is_done {
            if let Some(last) = after.segments.last_mut().filter(|last| last.id == 0) {
                let found = table.lock().find(Pfn::new(last.start));
                let id = number(found.expect("it has just come to be").0);
                last.id = id;
                mine.history.name_last(&after, id);
            }
            mine.layout = after;
        } else {
            mine.history.give_up(&mine.layout);
        }
        mine.history.0.span.settle();
        is_done
    }

    fn plug(&mut self, at: usize, frames: &Range<u64>) {
        self.epoch += 1;
        Page::begin_epoch(self.epoch);
        let mut after = self.stretches[at].layout.clone();
        after.segments.push(Known::unnamed(frames, self.epoch));
        self.change(at, &[], after, |table, _| {
            let plugged = table.lock().plug(extent(frames));
            plugged.expect("the frames are free, and there is memory");
            true
        });
        self.changes.plugged += 1;
    }

    fn isolate_some(&mut self, at: usize) {
        if let Some(frames) = self.visible_frames(at) {
            self.isolate(at, &frames);
        }
    }

    fn isolate(&mut self, at: usize, frames: &Range<u64>) {
        let mut after = self.stretches[at].layout.clone();
        after.hidden.push(frames.clone());
        self.change(at, &[], after, |table, held| {
            let isolated = table.lock().isolate(extent(frames));
            held.push(isolated.expect("they can go, and there is memory"));
            true
        });
    }

    fn remove_some(&mut self, at: usize) {
        if let Some(which) = self.held(at) {
            self.remove(at, which);
        }
    }

    fn remove(&mut self, at: usize, which: usize) -> bool {
        let mut after = self.stretches[at].layout.clone();
        let frames = after.hidden.remove(which);
        after.cut(&frames);
        let is_done = self.change(at, &[], after, |table, held| {
            let isolated = held.remove(which);
            match table.lock().remove(isolated) {
                Ok(()) => true,
                Err(error) => {
                    assert_eq!(
                        error.cause,
                        UnplugError::Readers,
                        "nothing else is in the way"
                    );
                    held.insert(which, error.frames);
                    false
                }
            }
        });
        self.changes.count_unplug(is_done);
        if !is_done {
            // Lets the reader that it waits for run if it needs this core.
            thread::yield_now();
        }
        is_done
    }

    /// Removes the front of a segment in two parts, the upper one first. That renames the rest
    /// above, and the old name disappears soon afterwards. A reader that found the old name just
    /// before delays only the removal of the second part.
    fn carve(&mut self, at: usize) {
        let layout = &self.stretches[at].layout;
        let room = layout.hidden.is_empty() && layout.segments.len() + 2 < SEGMENTS;
        let frame = self.stretches[at].stretch.frame(&mut self.random);
        let owner = layout.segments.iter().find(|known| known.has(frame));
        let Some(owner) = owner.filter(|known| room && known.end - known.start >= 3) else {
            return;
        };
        let (start, end) = (owner.start, owner.end);
        let upper = start + 1 + self.random.below(end - start - 2);
        let stays = upper + 1 + self.random.below(end - upper - 1);
        self.isolate(at, &(start..upper));
        self.isolate(at, &(upper..stays));
        for _ in 0..TRIES {
            if self.remove(at, 1) {
                self.remove(at, 0);
                return;
            }
        }
    }

    fn abort(&mut self, at: usize) {
        let Some(which) = self.held(at) else {
            return;
        };
        let mut after = self.stretches[at].layout.clone();
        after.hidden.remove(which);
        self.change(at, &[], after, |table, held| {
            let isolated = held.remove(which);
            table.lock().abort(isolated).is_ok()
        });
        self.changes.aborted += 1;
    }

    /// Unplugs in one step, which fails while a reader is inside.
    fn unplug(&mut self, at: usize) {
        let Some(frames) = self.visible_frames(at) else {
            return;
        };
        let mut after = self.stretches[at].layout.clone();
        let mut isolated = after.clone();
        isolated.hidden.push(frames.clone());
        after.cut(&frames);
        let is_done = self.change(at, &[&isolated], after, |table, _| {
            let unplugged = table.lock().unplug(extent(&frames));
            assert!(matches!(unplugged, Ok(()) | Err(UnplugError::Readers)));
            unplugged.is_ok()
        });
        self.changes.count_unplug(is_done);
    }

    fn held(&mut self, at: usize) -> Option<usize> {
        let count = self.stretches[at].held.len();
        (count > 0).then(|| self.random.index(count))
    }

    /// A range without a segment, around or near a random frame.
    fn free_frames(&mut self, at: usize) -> Option<Range<u64>> {
        let Mine {
            stretch, layout, ..
        } = &self.stretches[at];
        // Each isolation may later split a segment.
        if layout.segments.len() + layout.hidden.len() >= SEGMENTS - 1 {
            return None;
        }
        let frame = stretch.frame(&mut self.random);
        let taken = layout.segments.iter();
        let free = around(
            stretch.frames(),
            taken.map(|known| known.start..known.end),
            frame,
        )?;
        let most = self.random.below(stretch.longest) + 1;
        Some(match self.random.below(3) {
            0 => frame..free.end.min(frame + most),
            1 => free.start..free.end.min(free.start + most),
            _ => free.start.max(free.end.saturating_sub(most))..free.end,
        })
    }

    /// A range of a segment without isolated frames: a maximal one, or a part of it.
    fn visible_frames(&mut self, at: usize) -> Option<Range<u64>> {
        let Mine {
            stretch, layout, ..
        } = &self.stretches[at];
        if layout.hidden.len() == HIDDEN {
            return None;
        }
        let is_crowded = layout.segments.len() + layout.hidden.len() >= SEGMENTS - 1;
        let frame = stretch.frame(&mut self.random);
        let owner = layout.segments.iter().find(|known| known.has(frame))?;
        let hidden = layout.hidden.iter().cloned();
        let whole = around(owner.start..owner.end, hidden, frame)?;
        let most = self.random.below(stretch.longest) + 1;
        if is_crowded {
            // Removing a part could leave two parts, for which there may be no room.
            return (whole == (owner.start..owner.end)).then_some(whole);
        }
        Some(match self.random.below(8) {
            0..2 => whole,
            2..4 => whole.start..whole.end.min(whole.start + most),
            4..6 => whole.start.max(whole.end.saturating_sub(most))..whole.end,
            _ => frame..whole.end.min(frame + most),
        })
    }
}

/// The part of `whole` around `frame` that no range of `taken` overlaps.
fn around(
    whole: Range<u64>,
    taken: impl Iterator<Item = Range<u64>>,
    frame: u64,
) -> Option<Range<u64>> {
    let mut free = whole;
    for taken in taken {
        if taken.contains(&frame) {
            return None;
        }
        if taken.end <= frame {
            free.start = free.start.max(taken.end);
        } else {
            free.end = free.end.min(taken.start);
        }
    }
    Some(free)
}
