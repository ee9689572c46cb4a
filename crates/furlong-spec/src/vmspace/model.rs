//! The naive model: an entry for each page. Every answer examines all of them.
//!
//! An operation makes the same steps as in Linux, in the same order. If a step fails, the model
//! restores its entries, unless its mode keeps the steps before a failure.

use std::ops::Range;

use furlong::addr::{Address, Extent, VirtAddr};
use furlong::vmspace::{At, Flags, MapError, Prot, Request};

use super::{Gone, Kept, Operation, Outcome, Refusal, Seen, World};
use crate::Subject;

/// The mapping of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Page {
    /// The number of its area, which is never reused.
    pub(super) area: u64,
    pub(super) prot: Prot,
    pub(super) may: Prot,
    pub(super) flags: Flags,
    /// Offset in the object, in pages.
    pub(super) offset: u64,
    pub(super) object: u32,
}

impl Page {
    /// True if `next`, the page above, may belong to the same area.
    fn joins(&self, next: &Self) -> bool {
        (self.prot, self.may, self.flags) == (next.prot, next.may, next.flags)
            && self.offset.wrapping_add(1) == next.offset
            && Kept::may_merge(self.object, next.object)
    }
}

/// The naive space, with an entry for each page that may be mapped. Indices count from the first
/// one.
#[derive(Clone, Debug)]
pub struct Model {
    pub(super) world: World,
    /// True if steps before a failure are kept.
    pub(super) keeps_part: bool,
    pub(super) pages: Vec<Option<Page>>,
    next: u64,
    /// Start and end of the heap, in bytes.
    pub(super) heap: (u64, u64),
}

/// A half-open range of page indices.
pub(super) type Run = Range<usize>;

impl Model {
    /// An empty space. `keeps_part` is true for the mode [`Linux`](furlong::vmspace::Linux).
    #[must_use]
    pub fn new(world: World, keeps_part: bool) -> Self {
        let pages = usize::try_from(world.pages).expect("a small world");
        Self {
            world,
            keeps_part,
            pages: vec![None; pages],
            next: 0,
            heap: (0, 0),
        }
    }

    /// The areas, in order.
    pub(super) fn areas(&self) -> Vec<Run> {
        let mut areas: Vec<Run> = Vec::new();
        for (at, page) in self.pages.iter().enumerate() {
            let Some(page) = page else {
                continue;
            };
            match areas.last_mut() {
                Some(last) if last.end == at && self.number(last.start) == Some(page.area) => {
                    last.end = at + 1;
                }
                _ => areas.push(at..at + 1),
            }
        }
        areas
    }

    fn number(&self, at: usize) -> Option<u64> {
        Some(self.pages[at]?.area)
    }

    /// The first area that ends at page `number` or above it.
    pub(super) fn next_area(&self, number: i128) -> Option<Run> {
        let at = number - i128::from(self.world.first);
        let mut areas = self.areas().into_iter();
        areas.find(|area| at < area.end as i128)
    }

    /// The area that contains page `number`.
    pub(super) fn area_at(&self, number: i128) -> Option<Run> {
        let at = number - i128::from(self.world.first);
        self.next_area(number)
            .filter(|area| area.start as i128 <= at)
    }

    pub(super) fn page(&self, at: usize) -> Page {
        self.pages[at].expect("it is mapped")
    }

    /// The page number of an index.
    pub(super) fn page_number(&self, at: usize) -> i128 {
        i128::from(self.world.first) + at as i128
    }

    /// The indices of the pages from `first` to before `end`, limited to the pages of the space.
    pub(super) fn run(&self, first: i128, end: i128) -> Run {
        let all = self.pages.len() as i128;
        let index = |number: i128| (number - i128::from(self.world.first)).clamp(0, all);
        let (first, end) = (index(first), index(end));
        first as usize..end.max(first) as usize
    }

    pub(super) fn mapped(&self, run: Run) -> u128 {
        self.pages[run].iter().flatten().count() as u128
    }

    /// True if `more` pages may be mapped after `less` pages are unmapped.
    pub(super) fn fits(&self, more: i128, less: u128) -> bool {
        let all = self.mapped(0..self.pages.len()) - less;
        all as i128 + more <= i128::from(self.world.pages_max)
    }

    /// True if removing `run` would split an area while no further area is allowed.
    pub(super) fn cuts_in_vain(&self, run: &Run) -> bool {
        let areas = self.areas();
        let is_cut = |area: &Run| area.start < run.start && run.end < area.end;
        areas.len() >= self.world.areas_max && areas.iter().any(is_cut)
    }

    pub(super) fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Unmaps a run.
    pub(super) fn take_out(&mut self, run: Run) -> Vec<Gone> {
        let mut gone = Vec::new();
        for area in self.areas() {
            let piece = area.start.max(run.start)..area.end.min(run.end);
            if piece.is_empty() {
                continue;
            }
            let first = self.page(piece.start);
            gone.push(Gone {
                extent: self.extent(&piece),
                prot: first.prot,
                flags: first.flags,
                offset: first.offset.wrapping_mul(self.world.page),
                object: (piece == area).then_some(first.object),
            });
            self.pages[piece.clone()].fill(None);
            self.renumber(piece.end..area.end);
        }
        gone
    }

    /// Makes a run a separate area.
    pub(super) fn renumber(&mut self, run: Run) {
        let area = self.fresh();
        for page in self.pages[run].iter_mut().flatten() {
            page.area = area;
        }
    }

    /// Merges the areas of the pages before `at` and at `at`, if that is allowed.
    pub(super) fn join(&mut self, at: usize) {
        let before = at.checked_sub(1).and_then(|before| self.pages[before]);
        let behind = self.pages.get(at).copied().flatten();
        if let (Some(before), Some(behind)) = (before, behind)
            && before.joins(&behind)
        {
            for page in self.pages.iter_mut().flatten() {
                if page.area == behind.area {
                    (page.area, page.object) = (before.area, before.object);
                }
            }
        }
    }

    /// True if the page at `at` and the one before it would be in one area after a merge.
    pub(super) fn would_join(&self, at: usize) -> bool {
        let mut after = self.clone();
        after.join(at);
        let same = |pages: &[Option<Page>]| match pages {
            [Some(before), Some(behind)] => before.area == behind.area,
            _ => false,
        };
        at > 0 && at < self.pages.len() && same(&after.pages[at - 1..=at])
    }

    /// Maps a run in place of its current contents. `page` describes its first page.
    pub(super) fn put(&mut self, run: Run, page: Page) -> Vec<Gone> {
        let gone = self.take_out(run.clone());
        let area = self.fresh();
        self.lay(run.clone(), Page { area, ..page });
        self.join(run.end);
        self.join(run.start);
        gone
    }

    /// Maps a free run into an area. `page` describes its first page.
    pub(super) fn lay(&mut self, run: Run, page: Page) {
        for (more, at) in run.enumerate() {
            let offset = page.offset.wrapping_add(more as u64);
            self.pages[at] = Some(Page { offset, ..page });
        }
    }

    pub(super) fn extent(&self, run: &Run) -> Extent<VirtAddr> {
        let page = u128::from(self.world.page);
        let first = self.page_number(run.start) as u128 * page;
        let last = self.page_number(run.end) as u128 * page - 1;
        let [first, last] = [first, last].map(|byte| VirtAddr::new(byte as u64));
        Extent::from_last(first, last).expect("a run has a page")
    }

    pub(super) fn seen(&self, area: &Run) -> Seen {
        let first = self.page(area.start);
        Seen {
            extent: self.extent(area),
            prot: first.prot,
            may: first.may,
            flags: first.flags,
            offset: first.offset.wrapping_mul(self.world.page),
            object: first.object,
        }
    }

    /// The number of pages that `len` bytes need.
    pub(super) fn count(&self, len: u64) -> i128 {
        i128::from(len).div_euclid(i128::from(self.world.page))
            + i128::from(!len.is_multiple_of(self.world.page))
    }

    pub(super) fn number_of(&self, address: VirtAddr) -> i128 {
        i128::from(address.raw() / self.world.page)
    }

    pub(super) fn is_aligned(&self, address: VirtAddr) -> bool {
        address.raw().is_multiple_of(self.world.page)
    }

    fn map(&mut self, request: &Request<u32>) -> Result<(VirtAddr, Vec<Gone>), MapError> {
        let len = self.check_len(request)?;
        let first = self.place(request, len)?;
        let run = self.run(first, first + len);
        if matches!(request.at, At::Vacant(_)) && self.mapped(run.clone()) > 0 {
            return Err(MapError::Occupied);
        }
        let end = i128::from(request.offset.unwrap_or(0)) + len * i128::from(self.world.page);
        if end > 1 << 64 {
            return Err(MapError::OffsetOverflow);
        }
        Self::check_kind(request)?;
        if !self.fits(len, self.mapped(run.clone())) {
            return Err(MapError::TooManyPages);
        }
        if self.cuts_in_vain(&run) {
            return Err(MapError::TooManyAreas);
        }
        let (offset, object) = match request.offset {
            Some(offset) => (offset / self.world.page, Flags::OBJECT),
            None => (first as u64, Flags::NONE),
        };
        let wiped = match request.flags.contains(Flags::DROPPABLE) {
            true => Flags::WIPE_ON_FORK,
            false => Flags::NONE,
        };
        let page = Page {
            area: 0,
            prot: request.prot.known(),
            may: request.may.known(),
            flags: request.flags.without(Flags::OBJECT) | object | wiped,
            offset,
            object: request.value,
        };
        let start = self.extent(&run).start();
        Ok((start, self.put(run, page)))
    }

    /// The number of pages of a mapping.
    fn check_len(&self, request: &Request<u32>) -> Result<i128, MapError> {
        let offset = request.offset.unwrap_or(0);
        if !offset.is_multiple_of(self.world.page) {
            return Err(MapError::Offset);
        }
        if request.len == 0 {
            return Err(MapError::ZeroLen);
        }
        let len = self.count(request.len);
        if len > i128::from(self.world.last()) + 1 {
            return Err(MapError::TooLong);
        }
        if self.areas().len() > self.world.areas_max {
            return Err(MapError::TooManyAreas);
        }
        Ok(len)
    }

    /// Linux's steps from the type of the mapping on, with the caller's refusal in its place.
    fn check_kind(request: &Request<u32>) -> Result<(), MapError> {
        use MapError::{Access, Growing, Kind, NoDevice, NoExec, Unsupported};
        let has = |flag: Flags| request.flags.contains(flag);
        let is_private_memory =
            request.offset.is_none() && !has(Flags::SHARED) && !has(Flags::DROPPABLE);
        let grows_in_vain = has(Flags::GROWS_DOWN) && !is_private_memory;
        let is_denied = request.prot.known().without(request.may) != Prot::NONE;
        for (step, fails) in [
            (Kind, false),
            (Unsupported, false),
            (Access, is_denied),
            (NoExec, false),
            (NoDevice, false),
            (Growing, grows_in_vain),
        ] {
            if fails || request.refusal == Some(step) {
                return Err(step);
            }
        }
        Ok(())
    }

    fn fork(&mut self) -> Outcome {
        for page in &mut self.pages {
            *page = page.filter(|page| !page.flags.contains(Flags::DONT_COPY));
        }
        self.all_areas()
    }

    fn all_areas(&self) -> Outcome {
        Outcome::Areas(self.areas().iter().map(|area| self.seen(area)).collect())
    }

    fn areas_in(&self, extent: Extent<VirtAddr>) -> Outcome {
        let areas = self.areas().into_iter().map(|area| self.seen(&area));
        Outcome::Areas(areas.filter(|area| area.extent.overlaps(&extent)).collect())
    }

    fn usage(&self) -> Outcome {
        let mut pages = [0; 8];
        for page in self.pages.iter().flatten() {
            pages[page.prot.bits() as usize] += 1;
        }
        Outcome::Usage(pages, VirtAddr::new(self.heap.1))
    }
}

/// The outcome of an operation that returns an address.
fn placed<E>(
    result: Result<(VirtAddr, Vec<Gone>), E>,
    gone: Vec<Gone>,
    refusal: fn(E) -> Refusal,
) -> Outcome {
    match result {
        Ok((start, gone)) => Outcome::At(start, gone),
        Err(error) => Outcome::Refused(refusal(error), gone),
    }
}

/// The outcome of an operation that returns only the pieces unmapped.
fn done<E>(result: Result<Vec<Gone>, E>, refusal: fn(E) -> Refusal) -> Outcome {
    match result {
        Ok(gone) => Outcome::Done(gone),
        Err(error) => Outcome::Refused(refusal(error), Vec::new()),
    }
}

fn changed<E>(result: Result<(), E>, refusal: fn(E) -> Refusal) -> Outcome {
    done(result.map(|()| Vec::new()), refusal)
}

impl Subject for Model {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        match *operation {
            Operation::Map(ref request) => placed(self.map(request), Vec::new(), Refusal::Map),
            Operation::Unmap(start, len) => done(self.unmap(start, len), Refusal::Unmap),
            Operation::Protect(start, len, prot) => {
                let done = self.in_steps(|model| model.protect(start, len, prot));
                changed(done, Refusal::Protect)
            }
            Operation::Advise(start, len, advice) => {
                let done = self.in_steps(|model| model.advise(start, len, advice));
                changed(done, Refusal::Advise)
            }
            Operation::Update(start, len, flags) => {
                let done = self.in_steps(|model| model.update(start, len, flags));
                changed(done, Refusal::Update)
            }
            Operation::Remap(ref remap) => {
                let mut gone = Vec::new();
                let moved = self.remap(remap, &mut gone);
                let moved = moved.map(|start| (start, core::mem::take(&mut gone)));
                placed(moved, gone, Refusal::Remap)
            }
            Operation::StartBrk(start) => {
                self.heap = (start.raw(), start.raw());
                Outcome::Done(Vec::new())
            }
            Operation::Brk(end) => done(self.brk(end), Refusal::Brk),
            Operation::Fault(address, access) => {
                let seen = self.in_steps(|model| model.fault(address, access));
                let refused = |error| Outcome::Refused(Refusal::Fault(error), Vec::new());
                seen.map_or_else(refused, |seen| Outcome::Area(Some(seen)))
            }
            Operation::Find(address) => {
                let area = self.area_at(self.number_of(address));
                Outcome::Area(area.map(|area| self.seen(&area)))
            }
            Operation::Next(address) => {
                let area = self.next_area(self.number_of(address));
                Outcome::Area(area.map(|area| self.seen(&area)))
            }
            Operation::AreasIn(extent) => self.areas_in(extent),
            Operation::Areas => self.all_areas(),
            Operation::Usage => self.usage(),
            Operation::Fork => self.fork(),
            Operation::Clear => {
                self.heap = (0, 0);
                Outcome::Done(self.take_out(0..self.pages.len()))
            }
        }
    }
}
