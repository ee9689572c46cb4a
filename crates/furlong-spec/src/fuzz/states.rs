//! Saved states that are made up.

use furlong::addr::{Address, Pfn};
use furlong::check::Check;
use furlong::iova::{self, Kind, Space};
use furlong::phys::{
    self, Array, Custom, Descriptor, Direct, Flat, Linear, Lookup, SavedFrames, SavedHandle,
    SavedSegment, SegmentTable,
};
use furlong::rcu::Domain;
use furlong::sync::SpinLock;

use super::Held;
use super::iova::geometry;
use crate::{Bytes, Choices};

/// Restores states of a space or of a table that look almost as if they had been saved. A state
/// that is accepted keeps all invariants and is saved as it was; one that is refused leaves
/// everything as it was.
///
/// # Errors
/// The promise that is broken.
pub fn states(bytes: &[u8]) -> Held {
    let mut choices = Bytes::new(bytes);
    match choices.below(4) {
        0 => space(&mut choices),
        1 => table::<Direct>(&BASES, &mut choices),
        2 => table::<Flat>(LOW, &mut choices),
        _ => table::<Array<Linear, 4>>(&BASES, &mut choices),
    }
}

/// First frames of a table: at both ends, and just before a border of blocks or sections.
const BASES: [u64; 4] = [0, 60, 4096 - 8, (1 << 40) - 40];

/// The bases that a table of pointers can cover with little memory.
const LOW: &[u64] = BASES.split_at(3).0;

/// An offset to plant: occasionally 1, mostly 0.
fn flaw(choices: &mut impl Choices) -> u64 {
    u64::from(choices.below(256) == 255)
}

fn space(choices: &mut Bytes<'_>) -> Held {
    let geometry = geometry(choices);
    let all = geometry.extent();
    let granule = geometry.granule + flaw(choices);
    let mut state = iova::State {
        version: iova::State::VERSION + flaw(choices) as u32,
        start: geometry.start,
        last: all.last().raw().wrapping_sub(flaw(choices)),
        granule,
        extents: Vec::new(),
    };
    let mut next = geometry.start;
    while !choices.is_spent() {
        let start = next.wrapping_add(choices.below(3) * granule + flaw(choices));
        let len = choices.below(5).wrapping_mul(granule);
        let last = start.wrapping_add(len).wrapping_sub(1 + flaw(choices));
        let kind = choices.below(4) as u8;
        state.extents.push(iova::SavedExtent { start, last, kind });
        next = last.wrapping_add(1).wrapping_sub(flaw(choices) * granule);
    }
    let Ok(restored) = Space::restore(&state, Vec::new()) else {
        return Ok(());
    };
    restored
        .check()
        .map_err(|broken| format!("{state:?}: {broken}"))?;
    // Restored extents have no grant.
    let granted = state.extents.iter_mut();
    for extent in granted.filter(|extent| extent.kind == Kind::Granted as u8) {
        extent.kind = Kind::Unclaimed as u8;
    }
    is_saved(restored.save().as_ref(), &state)
}

/// Checks that a state is saved as it was.
fn is_saved<S: PartialEq + std::fmt::Debug, E: std::fmt::Debug>(
    saved: Result<&S, &E>,
    state: &S,
) -> Held {
    match saved {
        Ok(saved) if saved == state => Ok(()),
        other => Err(format!("{state:?} is saved as {other:?}")),
    }
}

/// A descriptor with an address of its own.
struct Page(#[expect(dead_code, reason = "nobody reads it")] u8);

impl Descriptor for Page {
    fn of_frame(_: Pfn) -> Self {
        Self(0)
    }
}

fn frames(choices: &mut impl Choices, next: &mut u64) -> SavedFrames {
    let start = *next + choices.below(4);
    let end = start + choices.below(12);
    *next = end - flaw(choices).min(end);
    SavedFrames { start, end }
}

fn handle(choices: &mut impl Choices) -> SavedHandle {
    SavedHandle {
        index: choices.below(8) as u32,
        generation: choices.below(4) as u32,
    }
}

fn segment(choices: &mut impl Choices, next: &mut u64) -> SavedSegment {
    let frames = frames(choices, next);
    let len = frames.end - frames.start;
    let start = frames.start + choices.below(len + 2);
    let end = frames.start + choices.below(len + 2);
    SavedSegment {
        handle: handle(choices),
        frames,
        avail: SavedFrames { start, end },
        node: choices.below(4) as u32,
        start_hint: choices.below(8),
        user: choices.below(256),
    }
}

fn table<L: Lookup>(bases: &[u64], choices: &mut Bytes<'_>) -> Held {
    let mut state = phys::State {
        version: phys::State::VERSION + flaw(choices) as u32,
        page_bits: 12 + flaw(choices) as u32,
        started: choices.below(2) == 1,
        segments: Vec::new(),
        gone: Vec::new(),
        isolated: Vec::new(),
    };
    let base = choices.pick(bases);
    let (mut plugged, mut isolated) = (base, base);
    while !choices.is_spent() {
        match choices.below(4) {
            0 => state.gone.push(handle(choices)),
            1 => state.isolated.push(frames(choices, &mut isolated)),
            _ => state.segments.push(segment(choices, &mut plugged)),
        }
    }
    let table = SegmentTable::<Page, Custom<L>, 4>::with_config(SpinLock::new(), Domain::new());
    table.lock().grow_on_heap();
    let fresh = table.lock().save();
    let restored = table.lock().restore(&state);
    let checked = table.lock().check();
    checked.map_err(|broken| format!("{state:?}, {restored:?}: {broken}"))?;
    let saved = table.lock().save();
    match (restored, fresh) {
        (Err(_), Ok(fresh)) => is_saved(saved.as_ref(), &fresh),
        _ => is_saved(saved.as_ref(), &state),
    }
}
