//! The writer's side: room first, then every section of a change brought up to date.

use super::super::entry::Entry;
use super::super::error::{NoMemory, Refusal};
use super::super::limbo::Limbo;
use super::super::lookup::{Change, Site};
use super::super::pages::Pages;
use super::super::segment::Frames;
use super::super::truth::Truth;
use super::Direct;
use super::geometry::{
    BLOCK_FRAMES, BLOCKS, LOW_FRAMES, NEAR_FRAMES, SECTION_BITS, SECTION_FRAMES, block_of,
};
use super::leaf::{Base, Block, Kind, Leaf};
use super::root::Private;
use super::runs::{List, Runs, Spares};
use crate::sync::atomic::Ordering;

/// Leaves of sections that one change takes at most: at its two ends, and one for all that are a
/// segment's alone. Near frames take none.
const LEAVES: usize = 3;
/// Leaves that removing isolated frames, or taking them back, takes at most: those that are a
/// segment's alone, in a hosted one with descriptors and without.
const LEAVES_HELD: usize = 2;
/// Runs that one change makes at most: for the blocks at its two ends, and at the segment's end.
const RUNS: usize = 3;
/// Things that one change unlinks at most: arrays, leaves as one list, leaves of a segment, runs.
const RETIRED: usize = 16;
/// Blocks of the longest near leaf.
const NEAR_BLOCKS: usize = block_of(NEAR_FRAMES);

/// See [`Arm::prepare`](super::super::lookup::Arm::prepare).
pub(super) fn prepare<D>(
    site: &mut Site<'_, Direct, D>,
    frames: Frames,
    change: Change,
) -> Result<(), Refusal> {
    // After an isolation there is one more that will be removed or taken back.
    let held = site.truth.hidden.len() + usize::from(matches!(change, Change::Isolate));
    site.limbo.reserve(site.memory, RETIRED * (1 + held))?;
    let private = &mut *site.private;
    private.spare_runs.fill(site.memory, RUNS * (1 + held))?;
    let grown = cover(site, frames).and_then(|()| cover_high(site, frames));
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

/// Makes blocks, or words, for those of `frames` that are low.
fn cover<D>(site: &mut Site<'_, Direct, D>, frames: Frames) -> Result<(), NoMemory> {
    let end = frames.end.min(LOW_FRAMES);
    let Private { near, limit, .. } = *site.private;
    if frames.start >= end || end <= limit.max(site.private.near_end()) {
        return Ok(());
    }
    let before = near.map_or(0, Leaf::blocks);
    if limit == 0 && end <= NEAR_FRAMES {
        // Some more than are needed, so that few of many small changes take a copy.
        let more = (before + before / 8).min(NEAR_BLOCKS);
        return lengthen(site, end.div_ceil(BLOCK_FRAMES).max(more as u64) as usize);
    }
    need_empty(site)?;
    lengthen(site, before.next_multiple_of(BLOCKS))?;
    let sections = end.div_ceil(SECTION_FRAMES) as usize;
    let private = &mut *site.private;
    private.grow_words(site.memory, site.limbo, sections)
}

fn need_empty<D>(site: &mut Site<'_, Direct, D>) -> Result<(), NoMemory> {
    if site.private.empty.is_none() {
        let leaf = Leaf::new(site.memory, BLOCKS)?;
        leaf.set_kind(Kind::Shared);
        site.private.bytes += leaf.bytes();
        site.private.empty = Some(leaf);
    }
    Ok(())
}

/// Replaces the near leaf by one with so many blocks, if it has less.
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

/// Makes words for those of `frames` that are high.
fn cover_high<D>(site: &mut Site<'_, Direct, D>, frames: Frames) -> Result<(), NoMemory> {
    let start = frames.start.max(LOW_FRAMES);
    if start >= frames.end {
        return Ok(());
    }
    need_empty(site)?;
    let private = &mut *site.private;
    private.grow_top(site.memory, site.limbo, start, frames.end)
}

/// Puts a leaf that nothing leads to any more with those that this change has unlinked.
fn retire<D>(site: &mut Site<'_, Direct, D>, leaf: Leaf<D>) {
    leaf.set_next(site.private.retired);
    site.private.retired = Some(leaf);
}

/// Puts what the change has unlinked into the limbo.
fn flush<D>(site: &mut Site<'_, Direct, D>) {
    if let Some(first) = site.private.retired.take() {
        // SAFETY: the list is of leaves that no word leads to any more.
        unsafe { site.limbo.put_chain(first.as_bytes(), Leaf::<D>::free_list) };
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

/// What a section should have for a leaf.
enum Want {
    Empty,
    /// That of the segment at this index.
    Shared(u32),
    Own,
}

fn want<D>(truth: Truth<'_, D>, whole: Frames) -> Want {
    match truth.overlapping(whole) {
        [] => Want::Empty,
        [index] if truth.all.get(*index).frames().covers(whole) => match truth.hidden_in(whole) {
            [] => Want::Shared(*index),
            [hidden] if hidden.frames.covers(whole) => Want::Empty,
            _ => Want::Own,
        },
        _ => Want::Own,
    }
}

fn update_section<D>(site: &mut Site<'_, Direct, D>, section: u64, frames: Frames) {
    let start = section << SECTION_BITS;
    let whole = Frames {
        start,
        end: start + SECTION_FRAMES,
    };
    let old = site.private.leaf(section);
    let is_own = old.kind() == Kind::Own;
    let new = match want(site.truth, whole) {
        Want::Empty => site.private.empty,
        Want::Shared(index) => Some(shared_leaf(site, index, start)),
        Want::Own if is_own => None,
        Want::Own => {
            let leaf = take_spare(site);
            update_blocks(site, leaf, start, whole);
            Some(leaf)
        }
    };
    match new {
        Some(new) if new != old => {
            site.private.set_leaf(section, new);
            if is_own {
                site.private.bytes -= old.bytes();
                retire(site, old);
            }
        }
        Some(_) => {}
        None => update_blocks(site, old, start, whole.meet(frames)),
    }
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

/// A segment's shared leaves: for sections with descriptors, and for those without.
const SHARED: usize = 2;

/// One of a segment's shared leaves.
fn mark<D>(entry: &Entry<D>, which: usize) -> Option<Leaf<D>> {
    // SAFETY: the mark is null or a leaf that lives as long as the segment.
    unsafe { Leaf::from_ptr(entry.mark(which).cast()) }
}

/// The leaf of sections that are this segment's alone, as the one that begins with `frame` is.
fn shared_leaf<D>(site: &mut Site<'_, Direct, D>, index: u32, frame: u64) -> Leaf<D> {
    let entry = site.truth.all.get(index);
    let pages = entry.pages_at(frame);
    let which = usize::from(pages.is_none());
    if let Some(leaf) = mark(entry, which) {
        return leaf;
    }
    let leaf = take_spare(site);
    leaf.set_kind(Kind::Shared);
    let mut list = List::new();
    list.push(WHOLE_BLOCK, index);
    let runs = Runs::new(&list, site.memory, &mut site.private.spare_runs);
    let base = base_of(pages);
    for block in leaf.all() {
        block.set_runs(runs);
        // Relaxed: `section-word` publishes the leaf.
        block.base.store(base, Ordering::Relaxed);
        block.valid.store(u64::MAX, Ordering::Relaxed);
    }
    entry.set_mark(which, leaf.as_ptr().cast());
    leaf
}

fn base_of<D>(pages: Option<Pages<D>>) -> *mut D {
    pages.map_or(Base::elsewhere(), Pages::start)
}

/// All frames of a block, counted from its first.
const WHOLE_BLOCK: Frames = Frames {
    start: 0,
    end: BLOCK_FRAMES,
};

/// What a block should have.
struct Wanted<D> {
    valid: u64,
    base: *mut D,
    runs: List,
}

/// What the block from `start` on should have, and how many of the segments `near` it end in it or
/// below it.
fn wanted<D>(truth: Truth<'_, D>, near: &[u32], start: u64) -> (Wanted<D>, usize) {
    let whole = Frames {
        start,
        end: start + BLOCK_FRAMES,
    };
    let part = |frames: Frames| {
        let part = frames.meet(whole);
        Frames {
            start: part.start - start,
            end: part.end - start,
        }
    };
    let mask = |part: Frames| (u64::MAX >> (BLOCK_FRAMES - part.len())) << part.start;
    let (mut valid, mut runs, mut base, mut done) = (0, List::new(), None, 0);
    for index in near {
        let entry = truth.all.get(*index);
        let frames = entry.frames();
        if frames.start >= whole.end {
            break;
        }
        done += usize::from(frames.end <= whole.end);
        valid |= mask(part(frames));
        runs.push(part(frames), *index);
        let its = base_of(entry.pages_at(start));
        base = Some(match base {
            Some(base) if base != its => Base::elsewhere(),
            _ => its,
        });
    }
    if valid != 0 {
        for hidden in truth.hidden_in(whole) {
            valid &= !mask(part(hidden.frames));
        }
    }
    let base = base.unwrap_or(Base::unused());
    (Wanted { valid, base, runs }, done)
}

/// Brings the blocks of a leaf whose first frame is `first` up to date that have some of `frames`.
fn update_blocks<D>(site: &mut Site<'_, Direct, D>, leaf: Leaf<D>, first: u64, frames: Frames) {
    let start = frames.start & !(BLOCK_FRAMES - 1);
    let end = frames.end.next_multiple_of(BLOCK_FRAMES);
    let mut near = site.truth.overlapping(Frames { start, end });
    for start in (start..end).step_by(BLOCK_FRAMES as usize) {
        let (want, done) = wanted(site.truth, near, start);
        near = &near[done..];
        update_block(site, &leaf.all()[block_of(start - first)], &want);
    }
}

/// The order of stores is argued in the module.
fn update_block<D>(site: &mut Site<'_, Direct, D>, block: &Block<D>, want: &Wanted<D>) {
    let old = block.runs();
    if !old.says(&want.runs) {
        let new = Runs::new(&want.runs, site.memory, &mut site.private.spare_runs);
        block.set_runs(new);
        site.private.bytes = site.private.bytes + new.bytes() - old.bytes();
        if let Some((piece, layout)) = old.piece() {
            // SAFETY: no word leads to it any more.
            unsafe { site.limbo.put(piece, layout) };
        }
    }
    // Release, `block-base`: pairs with the loads in `page` and `elsewhere`.
    block.base.store(want.base, Ordering::Release);
    // Release, `block-valid`: pairs with the loads in `find`, `page` and `elsewhere`.
    block.valid.store(want.valid, Ordering::Release);
}

/// Whether frames make up a whole section, so that their segment has a shared leaf.
fn has_section(frames: Frames) -> bool {
    frames.start.div_ceil(SECTION_FRAMES) < frames.end / SECTION_FRAMES
}

/// See [`Arm::shrunk`](super::super::lookup::Arm::shrunk).
pub(super) fn shrunk<D>(site: &mut Site<'_, Direct, D>, index: u32, left: Frames) {
    if has_section(left) {
        return;
    }
    let entry = site.truth.all.get(index);
    for which in 0..SHARED {
        if let Some(leaf) = mark(entry, which) {
            site.private.bytes -= leaf.bytes();
            retire(site, leaf);
        }
    }
    entry.forget_marks();
    flush(site);
}

/// Gives back the shared leaves of all segments, once nothing leads to them any more.
pub(super) fn free_shared<D>(site: &mut Site<'_, Direct, D>) {
    for index in site.truth.order {
        let entry = site.truth.all.get(*index);
        for leaf in (0..SHARED).filter_map(|which| mark(entry, which)) {
            // SAFETY: there are no readers, and the words that led to it are gone.
            unsafe { leaf.free(site.memory) };
        }
        entry.forget_marks();
    }
}

/// See [`Arm::settle`](super::super::lookup::Arm::settle).
pub(super) fn settle<D>(site: &mut Site<'_, Direct, D>, held: usize) {
    trim(site, LEAVES + LEAVES_HELD * held, RUNS * (1 + held));
}

/// Gives spare leaves and runs back, but for so many.
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
    // Beside those that a change takes: the empty leaf.
    let leaves = LEAVES + LEAVES_HELD * held + 1;
    let waiting = 2 * RETIRED * (1 + held) * Limbo::ITEM;
    let runs = Spares::footprint(RUNS * (1 + held));
    leaves * Leaf::<D>::footprint(BLOCKS) + runs + waiting + private.footprint(frames)
}

/// See [`Arm::clear`](super::super::lookup::Arm::clear).
pub(super) fn clear<D>(site: &mut Site<'_, Direct, D>) {
    trim(site, 0, 0);
    let private = &mut *site.private;
    for section in private.sections() {
        let leaf = private.leaf(section);
        if leaf.kind() == Kind::Own {
            // SAFETY: there are no readers, and the words go next.
            unsafe { leaf.free(site.memory) };
        }
    }
    let leaves = [private.near.take(), private.empty.take()];
    for leaf in leaves.into_iter().flatten() {
        // SAFETY: as above.
        unsafe { leaf.free(site.memory) };
    }
    private.free_arrays(site.memory);
}
