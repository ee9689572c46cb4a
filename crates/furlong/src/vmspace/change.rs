//! Changing what areas are: protection, and advice for forks.
#![forbid(unsafe_code)]

use super::{
    AdviseError, Attr, Config, Entry, Flags, Freed, Hold, Index, Mode, NoMemory, Pages, Prot,
    ProtectError, Space, Value,
};
use crate::addr::VirtAddr;

/// What [`Space::advise`] says of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Advice {
    /// A child of a fork does not get it.
    DontFork,
    /// It does, again.
    DoFork,
    /// A child of a fork gets it with nothing in it; private anonymous memory only.
    WipeOnFork,
    /// It gets what is in it, again; private anonymous memory only.
    KeepOnFork,
}

/// What a change makes of one area.
struct Step {
    /// The part of the area that changes.
    piece: Pages,
    old: Attr,
    new: Attr,
    /// The pages of the neighbours that it becomes one area with.
    left: Option<Pages>,
    right: Option<Pages>,
    /// Whether something of the area is left before it and behind it.
    cuts: [bool; 2],
}

impl Step {
    /// Whether it does more than to change one whole area.
    fn is_shaping(&self) -> bool {
        self.cuts != [false; 2] || self.left.is_some() || self.right.is_some()
    }

    /// How the number of areas changes, starting from `count`; `None` where an area would be cut
    /// and there are `max`. What joins a neighbour only moves the border between the two.
    fn count(&self, count: usize, max: usize) -> Option<usize> {
        let [head, tail] = self.cuts.map(usize::from);
        if self.left.is_none() && self.right.is_none() {
            let cuts = head + tail;
            return (cuts == 0 || count + cuts <= max).then_some(count + cuts);
        }
        let gone = match (self.left, self.right) {
            (Some(_), Some(_)) => 2,
            (Some(_), None) => 1 - tail,
            _ => 1 - head,
        };
        Some(count - gone)
    }
}

/// Why a change of a range stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Hole,
    Refused,
    TooManyAreas,
    NoMemory,
}

impl From<Stop> for ProtectError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Hole => Self::Hole,
            Stop::Refused => Self::Access,
            Stop::TooManyAreas => Self::TooManyAreas,
            Stop::NoMemory => Self::NoMemory,
        }
    }
}

impl From<Stop> for AdviseError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Hole => Self::Hole,
            Stop::Refused => Self::Kind,
            Stop::TooManyAreas => Self::TooManyAreas,
            Stop::NoMemory => Self::NoMemory,
        }
    }
}

/// How far a change may go.
struct Reach {
    /// The pages up to the failure, if there is one; none where it fails at once.
    pages: Option<Pages>,
    /// Areas that change, and those of them that are cut or become one with a neighbour.
    steps: usize,
    shaping: usize,
    /// The first step: where it is the only one, nobody has to find it again.
    step: Option<Step>,
    failure: Option<Stop>,
}

/// A change of a range: what becomes of an area's attributes, `None` where that is refused.
struct Change<F> {
    pages: Pages,
    new: F,
    /// Whether it goes on behind a hole, and says so at its end.
    skips_holes: bool,
}

impl<A: Value, C: Config, H: Hold> Space<A, C, H> {
    /// Changes the protection of `len` bytes from `start` on, rounded up to whole pages. Areas are
    /// cut at its ends, and become one with neighbours that are now equal; values that nothing is
    /// left of are handed to `freed`. A length of 0 changes nothing.
    ///
    /// # Errors
    /// See [`ProtectError`]. Nothing has changed; in the mode [`Linux`](super::Linux) what comes
    /// before the failure has.
    ///
    /// # Cost
    /// A change of the index for each area of which a page is in the range.
    pub fn protect(
        &mut self,
        start: VirtAddr,
        len: u64,
        prot: Prot,
        freed: impl FnMut(Freed<A>),
    ) -> Result<(), ProtectError> {
        let both = Prot::GROWS_DOWN | Prot::GROWS_UP;
        if prot.contains(both) {
            return Err(ProtectError::NotGrowing);
        }
        if !self.state.grid.is_aligned(start) {
            return Err(ProtectError::Unaligned);
        }
        let pages = self.plan_change(start, len);
        let Some(mut pages) = pages.ok_or(ProtectError::Overflow)? else {
            return Ok(());
        };
        if prot.without(both | Prot::ALL | Prot::SEM) != Prot::NONE {
            return Err(ProtectError::UnknownProt);
        }
        if prot.and(both) != Prot::NONE {
            pages = self.grown(pages, prot)?;
        }
        let prot = prot.known();
        let new = |attr: Attr| attr.may.contains(prot).then_some(Attr { prot, ..attr });
        let change = Change {
            pages,
            new,
            skips_holes: false,
        };
        Ok(self.changing(|space| space.carry_out(&change, freed))?)
    }

    /// Sets what a fork makes of `len` bytes from `start` on, rounded up to whole pages; otherwise
    /// as [`protect`](Self::protect).
    ///
    /// # Errors
    /// See [`AdviseError`]. Nothing has changed; in the mode [`Linux`](super::Linux) what comes
    /// before the failure has and, where that is a hole, what comes behind it too.
    ///
    /// # Cost
    /// As [`protect`](Self::protect).
    pub fn advise(
        &mut self,
        start: VirtAddr,
        len: u64,
        advice: Advice,
        freed: impl FnMut(Freed<A>),
    ) -> Result<(), AdviseError> {
        if !self.state.grid.is_aligned(start) {
            return Err(AdviseError::Unaligned);
        }
        let pages = self.plan_change(start, len);
        let Some(pages) = pages.ok_or(AdviseError::Beyond)? else {
            return Ok(());
        };
        let change = Change {
            pages,
            new: |attr| advised(attr, advice),
            skips_holes: true,
        };
        Ok(self.changing(|space| space.carry_out(&change, freed))?)
    }

    /// Areas that a [`protect`](Self::protect) or an [`advise`](Self::advise) of the range changes
    /// at most: what to [`prepare`](Self::prepare) for it.
    ///
    /// # Cost
    /// As iterating over them.
    pub fn changes_in(&self, start: VirtAddr, len: u64) -> usize {
        let pages = self.plan_change(start, len).flatten();
        pages.map_or(0, |pages| self.index.iter(pages).count())
    }

    /// The range in pages, if there are any; `None` where its end is no address: Linux computes it
    /// in 64 bits.
    fn plan_change(&self, start: VirtAddr, len: u64) -> Option<Option<Pages>> {
        let count = self.state.grid.count(len);
        if count == 0 {
            return Some(None);
        }
        let first = self.state.grid.page(start);
        let end = first.checked_add(count);
        let end = end.filter(|end| *end <= u64::MAX >> self.state.grid.shift);
        let last = end
            .map(|end| end - 1)
            .or_else(|| self.last_of_all(first, count))?;
        Some(Some(Pages { first, last }))
    }

    /// The last page of a range that ends with 64 bits, in a space that does.
    fn last_of_all(&self, first: u64, count: u64) -> Option<u64> {
        let last = first.checked_add(count - 1)?;
        (last == self.state.grid.last).then_some(last)
    }

    /// From the start of the stack in which `pages` begin.
    fn grown(&self, pages: Pages, prot: Prot) -> Result<Pages, ProtectError> {
        let area = self.index.at_or_after(pages.first);
        let area = area.filter(|area| area.pages.first <= pages.last);
        let area = area.ok_or(ProtectError::Hole)?;
        let down = prot.contains(Prot::GROWS_DOWN);
        if !down && area.pages.first > pages.first {
            return Err(ProtectError::Hole);
        }
        if !down || !area.attr.flags.contains(Flags::GROWS_DOWN) {
            return Err(ProtectError::NotGrowing);
        }
        Ok(area.pages.through(pages))
    }

    /// Goes through a change without making it.
    fn reach(&self, change: &Change<impl Fn(Attr) -> Option<Attr>>) -> Reach {
        let pages = change.pages;
        let mut reach = Reach {
            pages: None,
            steps: 0,
            shaping: 0,
            step: None,
            failure: None,
        };
        let mut has_hole = false;
        let mut next = Some(pages.first);
        let mut count = self.len();
        let [left, first] = self.index.beside(pages.first);
        let mut left = left.map(|left| (left, left.attr));
        let first = first.filter(|first| first.pages.first <= pages.last);
        // Most changes are of one area, and ask for no other.
        let behind = first.and_then(|first| first.pages.last.checked_add(1));
        let rest = behind.and_then(|behind| Pages::new(behind, pages.last));
        let rest = rest.into_iter().flat_map(|rest| self.index.iter(rest));
        for area in first.into_iter().chain(rest) {
            let piece = area.pages.and(pages).expect("it has a page of them");
            has_hole |= Some(piece.first) != next;
            if has_hole && !change.skips_holes {
                break;
            }
            let Some(new) = (change.new)(area.attr) else {
                reach.failure = Some(Stop::Refused);
                return reach;
            };
            if let Some(step) = self.step(left, area, piece, new) {
                let Some(less) = step.count(count, self.state.layout.areas_max) else {
                    reach.failure = Some(Stop::TooManyAreas);
                    return reach;
                };
                count = less;
                reach.steps += 1;
                reach.shaping += usize::from(step.is_shaping());
                reach.step.get_or_insert(step);
            }
            reach.pages = Some(pages.through(piece));
            left = Some((area, new));
            next = piece.last.checked_add(1);
        }
        let is_whole = !has_hole && reach.pages == Some(pages);
        reach.failure = (!is_whole).then_some(Stop::Hole);
        reach
    }

    /// What giving `piece` of `area` the attributes `new` does; `None` where it has them. `left` is
    /// the area before it, with the attributes that it has by then.
    fn step(
        &self,
        left: Option<(Entry<'_, A>, Attr)>,
        area: Entry<'_, A>,
        piece: Pages,
        new: Attr,
    ) -> Option<Step> {
        if new == area.attr {
            return None;
        }
        let cuts = [area.pages.first < piece.first, piece.last < area.pages.last];
        let left = left.filter(|(left, attr)| {
            !cuts[0] && left.pages.abuts(piece) && *attr == new && left.value.merges(area.value)
        });
        let behind = piece.last.checked_add(1).filter(|_| !cuts[1]);
        let right = behind.and_then(|behind| self.index.at_or_after(behind));
        let right = right.filter(|right| {
            piece.abuts(right.pages) && right.attr == new && area.value.merges(right.value)
        });
        Some(Step {
            piece,
            old: area.attr,
            new,
            left: left.map(|(left, _)| left.pages),
            right: right.map(|right| right.pages),
            cuts,
        })
    }

    /// Makes a change, or as much of it as the mode has made before a failure.
    fn carry_out(
        &mut self,
        change: &Change<impl Fn(Attr) -> Option<Attr>>,
        mut freed: impl FnMut(Freed<A>),
    ) -> Result<(), Stop> {
        let reach = self.reach(change);
        let result = reach.failure.map_or(Ok(()), Err);
        let is_made = result.is_ok() || C::Mode::keeps_part();
        let Some(pages) = reach.pages.filter(|_| is_made) else {
            return result;
        };
        let Some(only) = reach.step else {
            return result;
        };
        // One change alone changes all or nothing as it is.
        if reach.steps == 1 {
            let taken = self.take_step(&only, freed);
            return taken.map_err(|_| Stop::NoMemory).and(result);
        }
        let room = self.index.prepare_changes(reach.steps, reach.shaping);
        room.map_err(|_| Stop::NoMemory)?;
        let mut next = Some(pages.first);
        while let Some(rest) = next.and_then(|first| Pages::new(first, pages.last)) {
            let Some(area) = self.index.at_or_after(rest.first) else {
                break;
            };
            let Some(piece) = area.pages.and(rest) else {
                break;
            };
            next = piece.last.checked_add(1);
            let new = (change.new)(area.attr).expect("it was not refused before");
            let left = self.index.before(piece.first);
            let left = left.map(|left| (left, left.attr));
            if let Some(step) = self.step(left, area, piece, new) {
                let taken = self.take_step(&step, &mut freed);
                taken.map_err(|_| Stop::NoMemory)?;
            }
        }
        result
    }

    /// Makes one step. One change.
    ///
    /// # Errors
    /// [`NoMemory`], where it was not prepared; nothing has changed.
    fn take_step(&mut self, step: &Step, mut freed: impl FnMut(Freed<A>)) -> Result<(), NoMemory> {
        let &Step {
            piece, old, new, ..
        } = step;
        let merged = |value| freed(Freed::Merged(value));
        let (of, whole) = match (step.left, step.right) {
            (None, None) => (None, piece),
            (Some(left), None) => (Some(left), left.through(piece)),
            (None, Some(right)) => (Some(right), piece.through(right)),
            (Some(left), Some(right)) => (Some(left), left.through(right)),
        };
        match of {
            None => self.index.change(piece, new)?,
            Some(of) => self.index.extend(of.first, whole, merged)?,
        }
        self.state.count_out(piece.len(), old);
        self.state.count_in(piece.len(), new);
        Ok(())
    }
}

/// What an advice makes of an area.
fn advised(attr: Attr, advice: Advice) -> Option<Attr> {
    let has_own = attr.flags.and(Flags::OBJECT | Flags::SHARED) == Flags::NONE;
    let flags = match advice {
        Advice::DontFork => attr.flags | Flags::DONT_COPY,
        Advice::DoFork => attr.flags.without(Flags::DONT_COPY),
        Advice::WipeOnFork => attr.flags | Flags::WIPE_ON_FORK,
        Advice::KeepOnFork => attr.flags.without(Flags::WIPE_ON_FORK),
    };
    let is_refused = advice == Advice::WipeOnFork && !has_own;
    (!is_refused).then_some(Attr { flags, ..attr })
}
