//! The writer's side: allocate first, then update every section of a change.

use super::cell::{Cell, CellKind, CellRef};
use super::geometry::{BLOCKS, LOW_FRAMES, NEAR_FRAMES, block_of};
use super::leaf::{Base, Block, Kind, Leaf};
use super::root::Private;
use super::runs::{List, Runs, Spares};
use crate::phys::{
    BLOCK_FRAMES, Change, Deferred, Direct, Entry, Frames, NoMemory, Pages, Refusal, SECTION_BITS,
    SECTION_FRAMES, Site, Snapshot, above, upwards,
};
use crate::sync::atomic::Ordering;

/// The most leaves that one change takes: for the sections at its two ends. Near frames need none.
pub(super) const LEAVES: usize = 2;
/// The most leaves that removing or aborting an isolation takes: the same.
pub(super) const LEAVES_HELD: usize = 2;
/// The most runs that one change makes: for the blocks at its two ends and at the segment's end.
const RUNS: usize = 3;
/// The most cells that one change makes: at these three places, and two that a segment's whole
/// sections share.
const CELLS: usize = 5;
/// The most spare pieces that one change takes.
pub(super) const SPARES: usize = RUNS + CELLS;
/// The most items that one change unlinks: arrays, leaves as one list, leaves of a segment, runs.
const RETIRED: usize = 16;
/// Blocks of the longest near leaf.
const NEAR_BLOCKS: usize = block_of(NEAR_FRAMES);

/// See [`Arm::prepare`](super::super::lookup::Arm::prepare).
pub(super) fn prepare<D>(
    site: &mut Site<'_, Direct, D>,
    frames: Frames,
    change: Change,
) -> Result<(), Refusal> {
    // An isolation will be removed or aborted later: hold spares for it, too.
    let held = site.snapshot.hidden.len() + usize::from(matches!(change, Change::Isolate));
    site.deferred.reserve(site.memory, RETIRED * (1 + held))?;
    let private = &mut *site.private;
    private.spare_runs.fill(site.memory, SPARES * (1 + held))?;
    let grown = cover(site, frames);
    site.private.publish(site.shared);
    grown?;
    if frames.end <= site.private.near_end() {
        return Ok(());
    }
    let private = &mut *site.private;
    while private.spare_len < LEAVES + LEAVES_HELD * held {
        let leaf = Leaf::new(site.memory, BLOCKS)?;
        leaf.set_next(private.spare);
        private.spare = Some(leaf);
        private.spare_len += 1;
    }
    Ok(())
}

/// Makes blocks, words or pages for these frames.
fn cover<D>(site: &mut Site<'_, Direct, D>, frames: Frames) -> Result<(), NoMemory> {
    let near_end = site.private.near_end();
    if frames.end <= near_end {
        return Ok(());
    }
    let Private { near, limit, .. } = *site.private;
    let is_wide = site.private.wide.is_used();
    let before = near.map_or(0, Leaf::blocks);
    if !is_wide && limit == 0 && frames.end <= NEAR_FRAMES {
        // An eighth more than before, so that a series of small changes rarely copies the leaf.
        let more = (before + before / 8).min(NEAR_BLOCKS);
        let blocks = frames.end.div_ceil(BLOCK_FRAMES).max(more as u64);
        return lengthen(site, blocks as usize);
    }
    if !is_wide && frames.end <= limit {
        return Ok(());
    }
    need_empty(site)?;
    lengthen(site, before.next_multiple_of(BLOCKS))?;
    let private = &mut *site.private;
    if is_wide || frames.end > LOW_FRAMES {
        let start = frames.start.max(private.near_end());
        let hidden = site.snapshot.hidden;
        return private.widen(site.memory, site.deferred, (start, frames.end), hidden);
    }
    let sections = frames.end.div_ceil(SECTION_FRAMES) as usize;
    private.grow_words(site.memory, site.deferred, sections)
}

fn need_empty<D>(site: &mut Site<'_, Direct, D>) -> Result<(), NoMemory> {
    if site.private.empty.is_none() {
        let private = &mut *site.private;
        let cell = CellRef::new(Cell::empty(), site.memory, &mut private.spare_runs);
        private.bytes += cell.bytes();
        private.empty = Some(cell);
        // Refill: the cell may have taken a spare piece.
        let held = site.snapshot.hidden.len() + 1;
        private.spare_runs.fill(site.memory, SPARES * (1 + held))?;
    }
    Ok(())
}

/// Replaces the near leaf by one with `blocks` blocks, if it has fewer.
fn lengthen<D>(site: &mut Site<'_, Direct, D>, blocks: usize) -> Result<(), NoMemory> {
    let old = site.private.near;
    if old.map_or(0, Leaf::blocks) >= blocks {
        return Ok(());
    }
    let new = Leaf::new(site.memory, blocks)?;
    site.private.near = Some(new);
    if let Some(old) = old {
        for (to, from) in new.all().iter().zip(old.all()) {
            to.copy_from(from);
        }
        site.private.bytes -= old.bytes();
        old.set_kind(Kind::Moved);
        retire(site, old);
        flush(site);
    }
    site.private.bytes += new.bytes();
    Ok(())
}

/// Adds a leaf that nothing leads to any more to the change's list of unlinked leaves.
fn retire<D>(site: &mut Site<'_, Direct, D>, leaf: Leaf<D>) {
    leaf.set_next(site.private.retired);
    site.private.retired = Some(leaf);
}

/// Puts the list of unlinked leaves into the deferred memory.
fn flush<D>(site: &mut Site<'_, Direct, D>) {
    if let Some(first) = site.private.retired.take() {
        let free = Leaf::<D>::free_list;
        // SAFETY: no word leads to a leaf of the list any more.
        unsafe { site.deferred.put_chain(first.as_bytes(), free) };
    }
}

/// See [`Arm::update`](super::super::lookup::Arm::update).
pub(super) fn update<D>(site: &mut Site<'_, Direct, D>, frames: Frames) {
    let near_end = site.private.near_end();
    if let Some(leaf) = site.private.near.filter(|_| frames.start < near_end) {
        let end = frames.end.min(near_end);
        update_blocks(site, leaf, 0, Frames { end, ..frames });
    }
    let start = frames.start.max(near_end);
    if start < frames.end {
        for section in start >> SECTION_BITS..=(frames.end - 1) >> SECTION_BITS {
            update_section(site, section, frames);
        }
    }
    flush(site);
}

/// The required form of a section.
enum Want {
    /// The empty cell.
    Nothing,
    /// The shared cell of the segment at this index.
    Shared(u32),
    /// An own cell, in which these frames of the segment at this index are found.
    Stretch(u32, Frames),
    /// A leaf.
    Leaf,
}

fn want<D>(snapshot: Snapshot<'_, D>, whole: Frames) -> Want {
    let mut only = None;
    for index in snapshot.overlapping(whole) {
        let part = snapshot.all.get(index).frames().meet(whole);
        let mut from = part.start;
        let hidden = snapshot.hidden_in(part).iter().map(|hidden| hidden.frames);
        let behind = Frames::between(part.end, part.end);
        for Frames { start, end } in hidden.chain([behind]) {
            let stretch = Frames::between(from, start);
            if !stretch.is_empty() && only.replace((index, stretch)).is_some() {
                return Want::Leaf;
            }
            from = end;
        }
    }
    match only {
        None => Want::Nothing,
        Some((index, stretch)) if stretch == whole => Want::Shared(index),
        Some((index, stretch)) => Want::Stretch(index, stretch),
    }
}

fn update_section<D>(site: &mut Site<'_, Direct, D>, section: u64, frames: Frames) {
    let start = section << SECTION_BITS;
    let whole = Frames::between(start, start + SECTION_FRAMES);
    let old = site.private.word(section);
    let cell = CellRef::of_word(old);
    let new = match want(site.snapshot, whole) {
        Want::Nothing => site.private.empty,
        Want::Shared(index) => Some(shared_cell(site, index, start)),
        Want::Stretch(index, stretch) => own_cell(site, cell, index, stretch),
        Want::Leaf if cell.is_none() => {
            let leaf = site.private.leaf(section);
            return update_blocks(site, leaf, start, whole.meet(frames));
        }
        Want::Leaf => {
            let leaf = take_spare(site);
            update_blocks(site, leaf, start, whole);
            site.private.set_leaf(section, leaf);
            return retire_cell(site, cell);
        }
    };
    let Some(new) = new.filter(|new| new.word() != old) else {
        return;
    };
    let leaf = cell.is_none().then(|| site.private.leaf(section));
    site.private.set_word(section, new.word());
    retire_cell(site, cell);
    if let Some(leaf) = leaf {
        site.private.bytes -= leaf.bytes();
        retire(site, leaf);
    }
}

/// Retires a section's own cell, to which nothing leads any more.
fn retire_cell<D>(site: &mut Site<'_, Direct, D>, cell: Option<CellRef<D>>) {
    let is_own = |cell: &CellRef<D>| cell.get().kind == CellKind::Own;
    if let Some(cell) = cell.filter(is_own) {
        put_cell(site, cell);
    }
}

fn put_cell<D>(site: &mut Site<'_, Direct, D>, cell: CellRef<D>) {
    site.private.bytes -= cell.bytes();
    let (piece, layout) = cell.piece();
    // SAFETY: no word leads to the cell any more.
    unsafe { site.deferred.put(piece, layout) };
}

fn new_cell<D>(site: &mut Site<'_, Direct, D>, cell: Cell<D>) -> CellRef<D> {
    let cell = CellRef::new(cell, site.memory, &mut site.private.spare_runs);
    site.private.bytes += cell.bytes();
    cell
}

/// An own cell for a section: the current one if it says the same, perhaps with another index;
/// otherwise a new one.
fn own_cell<D>(
    site: &mut Site<'_, Direct, D>,
    old: Option<CellRef<D>>,
    index: u32,
    stretch: Frames,
) -> Option<CellRef<D>> {
    let base = base_of(site.snapshot.all.get(index).pages_at(stretch.start));
    let cell = Cell::new(CellKind::Own, (stretch.start, stretch.len()), base, index);
    let Some(same) = old.filter(|old| old.get().says(&cell)) else {
        return Some(new_cell(site, cell));
    };
    same.get().set_index(index);
    Some(same)
}

fn take_spare<D>(site: &mut Site<'_, Direct, D>) -> Leaf<D> {
    let leaf = site
        .private
        .spare
        .expect("as many were prepared as a change can need");
    site.private.spare = leaf.next();
    site.private.spare_len -= 1;
    leaf.set_next(None);
    site.private.bytes += leaf.bytes();
    leaf
}

/// Shared cells of a segment: one for sections with descriptors, one for those without.
const SHARED: usize = 2;

/// One of a segment's shared cells, if it has been made.
fn mark<D>(entry: &Entry<D>, which: usize) -> Option<CellRef<D>> {
    CellRef::of_mark(entry.mark(which))
}

/// The shared cell for the section that begins with `frame` and lies wholly in this segment.
fn shared_cell<D>(site: &mut Site<'_, Direct, D>, index: u32, frame: u64) -> CellRef<D> {
    let entry = site.snapshot.all.get(index);
    let pages = entry.pages_at(frame);
    let which = usize::from(pages.is_none());
    if let Some(cell) = mark(entry, which) {
        return cell;
    }
    let all = (0, u64::MAX);
    let cell = Cell::new(CellKind::Shared, all, base_of(pages), index);
    let cell = new_cell(site, cell);
    entry.set_mark(which, cell.word().cast());
    cell
}

fn base_of<D>(pages: Option<Pages<D>>) -> *mut D {
    pages.map_or(Base::elsewhere(), Pages::start)
}

/// The required words of a block.
struct Wanted<D> {
    valid: u64,
    base: *mut D,
    runs: List,
}

/// The required words of the block from `start` on. `near` is the first segment that ends above
/// `start`, and becomes that of the next block.
fn wanted<D>(snapshot: Snapshot<'_, D>, near: &mut Option<u32>, start: u64) -> Wanted<D> {
    let whole = Frames::between(start, start + BLOCK_FRAMES);
    let part = |frames: Frames| {
        let part = frames.meet(whole);
        Frames::between(part.start - start, part.end - start)
    };
    let mask = |part: Frames| (u64::MAX >> (BLOCK_FRAMES - part.len())) << part.start;
    let (mut valid, mut runs, mut base) = (0, List::new(), None);
    for index in upwards(snapshot.all, *near) {
        let entry = snapshot.all.get(index);
        let frames = entry.frames();
        if frames.start >= whole.end {
            break;
        }
        if frames.end <= whole.end {
            *near = above(snapshot.all, index);
        }
        valid |= mask(part(frames));
        runs.push(part(frames), index);
        let its = base_of(entry.pages_at(start));
        base = Some(match base {
            Some(base) if base != its => Base::elsewhere(),
            _ => its,
        });
    }
    if valid != 0 {
        for hidden in snapshot.hidden_in(whole) {
            valid &= !mask(part(hidden.frames));
        }
    }
    let base = base.unwrap_or(Base::unused());
    Wanted { valid, base, runs }
}

/// Updates the blocks that have some of `frames`, in a leaf whose first frame is `first`.
fn update_blocks<D>(site: &mut Site<'_, Direct, D>, leaf: Leaf<D>, first: u64, frames: Frames) {
    let start = frames.start & !(BLOCK_FRAMES - 1);
    let end = frames.end.next_multiple_of(BLOCK_FRAMES);
    let mut near = site.snapshot.order.ending_above(site.snapshot.all, start);
    for start in (start..end).step_by(BLOCK_FRAMES as usize) {
        let want = wanted(site.snapshot, &mut near, start);
        update_block(site, &leaf.all()[block_of(start - first)], &want);
    }
}

/// Updates a block. The module's documentation explains the order of the stores.
fn update_block<D>(site: &mut Site<'_, Direct, D>, block: &Block<D>, want: &Wanted<D>) {
    let old = block.runs();
    if !old.says(&want.runs) {
        let new = Runs::new(&want.runs, site.memory, &mut site.private.spare_runs);
        block.set_runs(new);
        site.private.bytes = site.private.bytes + new.bytes() - old.bytes();
        if let Some((piece, layout)) = old.piece() {
            // SAFETY: no word leads to the piece any more.
            unsafe { site.deferred.put(piece, layout) };
        }
    }
    // Release, `block-base`: pairs with the load in `words_of`.
    block.base.store(want.base, Ordering::Release);
    // Release, `block-valid`: pairs with the loads in `find_in` and `words_of`.
    block.valid.store(want.valid, Ordering::Release);
}

/// True if the frames include a whole section, so that their segment may have a shared cell.
fn has_section(frames: Frames) -> bool {
    frames.start.div_ceil(SECTION_FRAMES) < frames.end / SECTION_FRAMES
}

/// See [`Arm::shrunk`](super::super::lookup::Arm::shrunk).
pub(super) fn shrunk<D>(site: &mut Site<'_, Direct, D>, index: u32, left: Frames) {
    if has_section(left) {
        return;
    }
    let entry = site.snapshot.all.get(index);
    for which in 0..SHARED {
        if let Some(cell) = mark(entry, which) {
            put_cell(site, cell);
        }
    }
    entry.forget_marks();
}

/// Frees the shared cells of all segments. Nothing may lead to them any more.
pub(super) fn free_shared<D>(site: &mut Site<'_, Direct, D>) {
    for index in site.snapshot.order.iter(site.snapshot.all) {
        let entry = site.snapshot.all.get(index);
        for cell in (0..SHARED).filter_map(|which| mark(entry, which)) {
            // SAFETY: there are no readers, and the words that led to it are gone.
            unsafe { cell.free(site.memory) };
        }
        entry.forget_marks();
    }
}

/// See [`Arm::settle`](super::super::lookup::Arm::settle).
pub(super) fn settle<D>(site: &mut Site<'_, Direct, D>, held: usize) {
    trim(site, LEAVES + LEAVES_HELD * held, SPARES * (1 + held));
}

/// Frees all but `leaves` spare leaves and `runs` spare pieces.
fn trim<D>(site: &mut Site<'_, Direct, D>, leaves: usize, runs: usize) {
    let private = &mut *site.private;
    private.spare_runs.trim(site.memory, runs);
    while private.spare_len > leaves {
        let leaf = private.spare.expect("there are so many");
        private.spare = leaf.next();
        private.spare_len -= 1;
        // SAFETY: a spare leaf was never published.
        unsafe { leaf.free(site.memory) };
    }
}

/// See [`Arm::footprint`](super::super::lookup::Arm::footprint).
pub(super) fn footprint<D>(private: &Private<D>, frames: Frames, held: usize) -> usize {
    let leaves = LEAVES + LEAVES_HELD * held + 1;
    let waiting = 2 * RETIRED * (1 + held) * Deferred::ITEM;
    let spares = Spares::footprint(SPARES * (2 + held));
    let before = private.near.map_or(0, Leaf::blocks);
    let has_sections = private.limit > 0 || private.wide.is_used();
    let is_near = !has_sections && (before > 0 || frames.end <= NEAR_FRAMES);
    let near = match frames.end.min(NEAR_FRAMES).div_ceil(BLOCK_FRAMES) as usize {
        blocks if is_near => Leaf::<D>::footprint(blocks.max(before + before / 8) + BLOCKS),
        _ => 0,
    };
    let words = private.words_footprint(frames.start, frames.end);
    leaves * Leaf::<D>::footprint(BLOCKS) + spares + waiting + near + words
}

/// See [`Arm::clear`](super::super::lookup::Arm::clear).
pub(super) fn clear<D>(site: &mut Site<'_, Direct, D>) {
    trim(site, 0, 0);
    let private = &mut *site.private;
    for section in private.sections() {
        match CellRef::of_word(private.word(section)) {
            None => {
                // SAFETY: there are no readers, and the words are freed next.
                unsafe { private.leaf(section).free(site.memory) };
            }
            Some(cell) if cell.get().kind == CellKind::Own => {
                // SAFETY: as above.
                unsafe { cell.free(site.memory) };
            }
            Some(_) => {}
        }
    }
    if let Some(leaf) = private.near.take() {
        // SAFETY: as above.
        unsafe { leaf.free(site.memory) };
    }
    if let Some(cell) = private.empty.take() {
        // SAFETY: as above.
        unsafe { cell.free(site.memory) };
    }
    private.free_arrays(site.memory);
}
