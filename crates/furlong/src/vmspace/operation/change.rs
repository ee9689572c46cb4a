//! Changes of attributes: protection, and advice for forks.

use crate::addr::VirtAddr;
use crate::vmspace::{
    AdviseError, Attr, Config, Entry, Flags, Freed, Hold, Index, Mode, NoMemory, Pages, Prot,
    ProtectError, Space, UpdateError, Value,
};

/// An advice for a range; see [`Space::advise`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Advice {
    /// A fork does not copy it to the child.
    DontFork,
    /// A fork copies it to the child again.
    DoFork,
    /// A fork gives the child an empty copy; private anonymous memory only.
    WipeOnFork,
    /// A fork copies the contents again.
    KeepOnFork,
}

/// The change of one area.
struct Step {
    /// The part of the area that changes.
    piece: Pages,
    old: Attr,
    new: Attr,
    /// The pages of the neighbours that it is merged with.
    left: Option<Pages>,
    right: Option<Pages>,
    /// True for each side, before and behind, on which a part of the area keeps its attributes.
    cuts: [bool; 2],
}

impl Step {
    /// True if it does more than change one whole area.
    fn is_shaping(&self) -> bool {
        self.cuts != [false; 2] || self.left.is_some() || self.right.is_some()
    }

    /// The number of areas after this step, starting from `count`; `None` if an area would be cut
    /// and there are already `max`. A piece that is merged with a neighbour only moves the border.
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

/// The reason why a change of a range stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Hole,
    Refused,
    TooManyAreas,
    NoMemory,
}

/// Each operation with its own word for a refusal.
macro_rules! from_stop {
    ($($error:ident: $refused:ident;)+) => {$(
        impl From<Stop> for $error {
            fn from(stop: Stop) -> Self {
                match stop {
                    Stop::Hole => Self::Hole,
                    Stop::Refused => Self::$refused,
                    Stop::TooManyAreas => Self::TooManyAreas,
                    Stop::NoMemory => Self::NoMemory,
                }
            }
        }
    )+};
}
from_stop! { ProtectError: Access; AdviseError: Kind; UpdateError: Flags; }

/// The extent to which a change can be made.
struct Reach {
    /// The pages up to the failure, if there is one; `None` if it fails at once.
    pages: Option<Pages>,
    /// The number of areas that change, and the number of those that are cut or merged.
    steps: usize,
    shaping: usize,
    /// The first step. If it is the only one, it need not be searched again.
    step: Option<Step>,
    failure: Option<Stop>,
}

/// A change of a range. `new` maps old attributes to new ones; `None` refuses the change.
struct Change<F> {
    pages: Pages,
    new: F,
    /// True if the change continues behind a hole, and reports the hole at the end.
    skips_holes: bool,
}

impl<A: Value, C: Config, H: Hold> Space<A, C, H> {
    /// Changes the protection of `len` bytes from `start` on, rounded up to whole pages. Areas are
    /// cut at the ends of the range, and merged with neighbours that are now equal. Values that are
    /// no longer used are passed to `freed`. A length of 0 changes nothing.
    ///
    /// # Errors
    /// See [`ProtectError`]. Nothing has changed; in the mode [`Linux`](crate::vmspace::Linux) the
    /// part before the failure has.
    ///
    /// # Cost
    /// One index change for each area with a page in the range.
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
        let new = |attr: Attr| attr.may().contains(prot).then_some(attr.with_prot(prot));
        let change = Change {
            pages,
            new,
            skips_holes: false,
        };
        Ok(self.changing(|space| space.carry_out(&change, freed))?)
    }

    /// Sets the treatment by forks of `len` bytes from `start` on, rounded up to whole pages;
    /// otherwise as [`protect`](Self::protect).
    ///
    /// # Errors
    /// See [`AdviseError`]. Nothing has changed; in the mode [`Linux`](crate::vmspace::Linux) the
    /// part before the failure has. If the failure is a hole, the part behind it has changed too.
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

    /// Gives each area of `len` bytes from `start` on, rounded up to whole pages, the flags that
    /// `new` makes of its own: `mlock`, or huge pages. Only the [caller's](Flags::CALLER) flags may
    /// differ. Areas are cut at the ends of the range, and merged with neighbours that are now
    /// equal; otherwise as [`protect`](Self::protect).
    ///
    /// `new` is called for each area of the range, once or twice.
    ///
    /// # Errors
    /// See [`UpdateError`]. Nothing has changed; in the mode [`Linux`](crate::vmspace::Linux) the
    /// part before the failure has. If `new` gives different answers for equal flags, the part
    /// before it did so may have changed too.
    ///
    /// # Cost
    /// As [`protect`](Self::protect).
    ///
    /// # Example
    /// ```
    /// use furlong::addr::VirtAddr;
    /// use furlong::vmspace::{At, Flags, Layout, Prot, Request, Space};
    ///
    /// const LOCKED: Flags = Flags::from_bits(1 << 8);
    ///
    /// let mut space: Space<u32> = Space::new(Layout::LINUX_X86_64)?;
    /// let start = VirtAddr::new(0x40_0000);
    /// let data = Request::anonymous(0x3000, Prot::READ | Prot::WRITE, 0);
    /// space.map(data.at(At::Fixed(start)), drop)?;
    ///
    /// space.update(VirtAddr::new(0x40_1000), 0x1000, |flags| flags | LOCKED, drop)?;
    /// let locked = space.areas().map(|area| area.flags.contains(LOCKED));
    /// assert_eq!(locked.collect::<Vec<_>>(), [false, true, false]);
    ///
    /// space.update(start, 0x3000, |flags| flags.without(LOCKED), drop)?;
    /// assert_eq!(space.len(), 1);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn update(
        &mut self,
        start: VirtAddr,
        len: u64,
        new: impl Fn(Flags) -> Flags,
        freed: impl FnMut(Freed<A>),
    ) -> Result<(), UpdateError> {
        if !self.state.grid.is_aligned(start) {
            return Err(UpdateError::Unaligned);
        }
        let pages = self.plan_change(start, len);
        let Some(pages) = pages.ok_or(UpdateError::Beyond)? else {
            return Ok(());
        };
        let new = |attr: Attr| {
            let flags = new(attr.flags());
            let is_own = flags.without(Flags::CALLER) == attr.flags().without(Flags::CALLER);
            is_own.then_some(attr.with_flags(flags))
        };
        let change = Change {
            pages,
            new,
            skips_holes: false,
        };
        Ok(self.changing(|space| space.carry_out(&change, freed))?)
    }

    /// The largest number of areas that [`protect`](Self::protect), [`advise`](Self::advise) or
    /// [`update`](Self::update) changes in the range: the number to [`prepare`](Self::prepare) for
    /// it.
    ///
    /// # Cost
    /// As an iteration over them.
    pub fn changes_in(&self, start: VirtAddr, len: u64) -> usize {
        let pages = self.plan_change(start, len).flatten();
        pages.map_or(0, |pages| self.index.iter(pages).count())
    }

    /// The range in pages, if it has any; `None` if its end is no address. Linux computes the end
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

    /// The last page of a range that ends at 2^64, in a space that does too.
    fn last_of_all(&self, first: u64, count: u64) -> Option<u64> {
        let last = first.checked_add(count - 1)?;
        (last == self.state.grid.last).then_some(last)
    }

    /// Extends `pages` down to the start of the stack in which they begin.
    fn grown(&self, pages: Pages, prot: Prot) -> Result<Pages, ProtectError> {
        let area = self.index.at_or_after(pages.first);
        let area = area.filter(|area| area.pages.first <= pages.last);
        let area = area.ok_or(ProtectError::Hole)?;
        let down = prot.contains(Prot::GROWS_DOWN);
        if !down && area.pages.first > pages.first {
            return Err(ProtectError::Hole);
        }
        if !down || !area.attr.flags().contains(Flags::GROWS_DOWN) {
            return Err(ProtectError::NotGrowing);
        }
        Ok(area.pages.through(pages))
    }

    /// Walks through a change without making it.
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
        // Most changes affect one area, and need no iteration.
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
            if let Some(step) = self.step(change, left, (area, piece), new) {
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

    /// The step that gives `piece` of `area` the attributes `new`; `None` if it already has them.
    /// `left` is the area before it, with the attributes that it will have by then. It merges with
    /// the area behind it unless the change is still to change that one.
    fn step(
        &self,
        change: &Change<impl Fn(Attr) -> Option<Attr>>,
        left: Option<(Entry<'_, A>, Attr)>,
        (area, piece): (Entry<'_, A>, Pages),
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
            let stays = right.pages.first > change.pages.last
                || (change.new)(right.attr) == Some(right.attr);
            let is_alike = right.attr == new && area.value.merges(right.value);
            piece.abuts(right.pages) && stays && is_alike
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

    /// Makes a change, or the part before a failure if the mode keeps it.
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
        // A single change is all or nothing by itself.
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
            let new = (change.new)(area.attr).ok_or(Stop::Refused)?;
            let left = self.index.before(piece.first);
            let left = left.map(|left| (left, left.attr));
            if let Some(step) = self.step(change, left, (area, piece), new) {
                let taken = self.take_step(&step, &mut freed);
                taken.map_err(|_| Stop::NoMemory)?;
            }
        }
        result
    }

    /// Makes one step, which is one index change.
    ///
    /// # Errors
    /// [`NoMemory`], if it was not prepared; nothing has changed.
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

/// The new flags of an area after an advice.
fn advised(attr: Attr, advice: Advice) -> Option<Attr> {
    let has_own = attr.flags().and(Flags::OBJECT | Flags::SHARED) == Flags::NONE;
    let flags = match advice {
        Advice::DontFork => attr.flags() | Flags::DONT_COPY,
        Advice::DoFork => attr.flags().without(Flags::DONT_COPY),
        Advice::WipeOnFork => attr.flags() | Flags::WIPE_ON_FORK,
        Advice::KeepOnFork => attr.flags().without(Flags::WIPE_ON_FORK),
    };
    let is_refused = match advice {
        Advice::WipeOnFork => !has_own,
        Advice::KeepOnFork => attr.flags().contains(Flags::DROPPABLE),
        Advice::DontFork | Advice::DoFork => false,
    };
    (!is_refused).then_some(attr.with_flags(flags))
}
