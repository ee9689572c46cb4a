//! Streams in many worlds, which cover every constraint, growth, transient blocks and quotas.
#![forbid(unsafe_code)]

use furlong::addr::Iova;
use furlong::bounce::{Area, Growth, Limits, Order, Plan, Zeroing};

use super::addresses::Addresses;
use super::model::Model;
use super::operation::Outcome;
use super::stream::operations;
use super::subject::{PoolSubject, Tried};
use super::world::{Path, World};
use crate::coverage::kind;
use crate::mix::Mix;
use crate::{Coverage, Divergence, Through, compare};

/// Devices of every kind, for segments of `segment` slots.
#[must_use]
pub fn devices(segment: usize) -> Vec<Limits> {
    let whole = segment as u64 * 2048;
    let any = Limits::new();
    vec![
        any,
        any.min_align_mask(0xfff),
        any.align_mask(0xfff),
        any.min_align_mask(whole / 2 - 1).align_mask(0xfff),
        any.min_align_mask(whole / 2 - 1),
        any.boundary_mask(0x1fff.min(whole - 1)),
        any.min_align_mask(0xff).boundary_mask(0xfff),
        any.quota(segment as u32 + 1),
        any.reach(Iova::new((1 << 30) - 1)),
        any.min_align_mask(whole - 1).align_mask(whole / 2 - 1),
    ]
}

/// The world of a seed, with segments of `segment` slots.
#[must_use]
pub fn world(segment: usize, seed: u64) -> World {
    // Areas of one, two or four segments.
    let area = segment << (seed % 2 * (1 + seed / 48 % 2));
    let areas = 1 << (seed / 2 % 3);
    let slots = area * areas;
    let plan = Plan::new(slots, areas);
    let plan = match seed / 6 % 4 {
        0 => plan,
        1 => plan.growth(Growth::Inline).blocks(3),
        2 => plan
            .growth(Growth::Inline)
            .blocks(4)
            .block_slots(slots, segment)
            .transients(2),
        _ => plan
            .growth(Growth::Deferred)
            .blocks(3)
            .transients(3)
            .patience(1),
    };
    // In some worlds the device addresses end before the next block, or within it.
    let plan = match seed / 24 % 2 {
        0 => plan,
        _ => plan.reach(Iova::new((1 << 30) + 5 * slots as u64 * 1024)),
    };
    let start = (1_u64 << 30) - (slots as u64 * 2048).next_multiple_of(1 << 18) * (seed % 3);
    World {
        plan,
        devices: devices(segment),
        addresses: Addresses::new(start, seed % 5),
        ram: 2 * segment * 2048,
        segment,
    }
}

/// Runs a stream of `count` operations for each of these seeds, and compares an arm with the model.
///
/// # Errors
/// The seed, and the first operation whose outcomes differ.
pub fn trial<O: Order, A: Area, Z: Zeroing>(
    path: Path,
    count: usize,
    seeds: impl Iterator<Item = u64>,
) -> Result<Coverage, String> {
    let mut all = Coverage::default();
    for seed in seeds {
        let world = world(A::SEGMENT, seed);
        let subject = PoolSubject::<Tried<O, A, Z>>::new(&world);
        let mut subject = Through::new(subject, |operation, outcome| {
            let word = match outcome {
                Outcome::Mapped(_) => "mapped",
                Outcome::Refused(_) => "Refused",
                _ => "done",
            };
            all.note(kind(operation), word);
            outcome
        });
        let mut model = Model::new(&world, path);
        let parts = [Mix::Growing, Mix::Steady, Mix::Shrinking, Mix::Growing];
        let stream = parts.into_iter().enumerate().flat_map(|(part, mix)| {
            operations(&world, mix, count / 4, seed.wrapping_mul(4) + part as u64)
        });
        let compared: Result<(), Divergence> = compare(&mut model, &mut subject, stream);
        compared.map_err(|divergence| format!("seed {seed}, {:?}: {divergence}", world.plan))?;
    }
    Ok(all)
}
