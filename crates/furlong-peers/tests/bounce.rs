//! The peers as arms of `bounce-area`: allocators of runs agree with the specification's model of
//! one, and run the same workloads as the pool.
#![forbid(unsafe_code)]

mod beside;

use beside::{experiment, raced};
use furlong::addr::{Address, Extent, Iova};
use furlong::iova::Request;
use furlong_experiments_devices::bounce::SlotAllocator;
use furlong_peers::bounce::{Bitmap, BuddyFrames, BuddyHeap, EXPERIMENT, Offsets, arms};
use furlong_peers::iova::Bluntly;
use furlong_spec::iova::{Geometry, Granted, Operation, Outcome, Place};
use furlong_spec::{Judge, Random, Subject};

const SLOT: u64 = 2048;

/// As many slots as in two areas.
const SPACE: Geometry = Geometry::low(256, SLOT);

/// The gaps of the model, as first slots and numbers of slots.
fn gaps(model: &Bluntly) -> Vec<(u64, u64)> {
    let Outcome::Free(gaps) = model.clone().apply(&Operation::Free) else {
        panic!("the model tells its gaps")
    };
    let slots = |gap: &Extent<Iova>| {
        let bytes = gap.len().expect("the space is small");
        (gap.start().raw() / SLOT, bytes / SLOT)
    };
    gaps.iter().map(slots).collect()
}

/// Compares an allocator with the model over runs of `sizes`, which are allocated and freed. `fits`
/// returns true if the allocator must find room for a number of slots in a gap, which is given by
/// its first slot and its number of slots.
fn agrees_with_the_model<A: SlotAllocator>(sizes: &[u64], fits: fn((u64, u64), u64) -> bool) {
    let (mut granted, mut refused) = (0, 0);
    for seed in 0..8 {
        let random = &mut Random::new(seed);
        let (mut peer, mut model) = (A::new(SPACE.granules), Bluntly::new(SPACE));
        let mut live: Vec<(A::Run, usize)> = Vec::new();
        for step in 0..3000 {
            let is_growing = step / 500 % 2 == 0;
            let (operation, found) = if random.below(10) < if is_growing { 4 } else { 6 } {
                let Some(at) = live.len().checked_sub(1) else {
                    continue;
                };
                let grant = random.index(at + 1);
                let (run, slots) = live.swap_remove(grant);
                peer.free(run, slots);
                (Operation::Release(grant), Outcome::Released)
            } else {
                let slots = sizes[random.index(sizes.len())];
                let request = Request::new(slots * SLOT);
                let found = match peer.allocate(slots as usize) {
                    Some(run) => {
                        live.push((run, slots as usize));
                        granted += 1;
                        let extent = SPACE.granules(A::first(run), slots as usize);
                        let extent = extent.expect("slots are in 64 bits");
                        let data = extent;
                        Outcome::Granted(Granted { extent, data })
                    }
                    None if gaps(&model).iter().any(|gap| fits(*gap, slots)) => {
                        panic!("seed {seed}, step {step}: no room for {slots} slots: {model:?}")
                    }
                    None => {
                        refused += 1;
                        continue;
                    }
                };
                (Operation::Reserve(request, Place::Random(0)), found)
            };
            if let Err(expected) = model.judge(&operation, &found) {
                panic!("seed {seed}, step {step}: {operation:?}: {found:?}, not {expected:?}");
            }
        }
        for (run, slots) in live {
            peer.free(run, slots);
        }
        assert!(peer.allocate(SPACE.granules).is_some(), "seed {seed}");
    }
    assert!(granted > 5000, "{granted}");
    assert!(refused > 100, "{refused}");
}

/// True if a gap has room for a power of two at a multiple of itself.
fn has_block((first, slots): (u64, u64), wanted: u64) -> bool {
    first.next_multiple_of(wanted) + wanted <= first + slots
}

#[test]
fn buddies_agree_with_the_model_on_powers_of_two() {
    agrees_with_the_model::<BuddyFrames>(&[1, 2, 2, 4, 8, 32], has_block);
    agrees_with_the_model::<BuddyHeap>(&[1, 2, 2, 4, 8, 32], has_block);
}

#[test]
fn the_bitmap_finds_every_run_that_there_is() {
    agrees_with_the_model::<Bitmap>(&[1, 2, 2, 3, 7, 32, 45], |(_, slots), wanted| {
        slots >= wanted
    });
}

#[test]
fn the_offset_allocator_agrees_with_the_model_where_a_bin_suits() {
    // Sizes of bins; a gap is in the bin of the next smaller size.
    let fits = |(_, slots): (u64, u64), wanted: u64| {
        let step = 1 << slots.ilog2().saturating_sub(3);
        slots & !(step - 1) >= wanted
    };
    agrees_with_the_model::<Offsets>(&[1, 2, 2, 3, 7, 32, 44], fits);
}

#[test]
#[should_panic(expected = "the run is taken")]
fn a_block_that_is_freed_twice_is_seen() {
    let mut heap = BuddyHeap::new(16);
    let run = heap.allocate(2).expect("there is room");
    heap.free(run, 2);
    heap.free(run, 2);
}

#[test]
fn every_peer_does_the_workloads_that_the_pool_does() {
    let experiment = experiment(EXPERIMENT);
    let raced = raced(&experiment, &experiment.arms[0], &arms(), 500);
    assert!(raced.len() >= 4 * 30, "{raced:?}");
}

#[test]
fn what_is_no_matter_of_runs_has_a_reason() {
    let plan = experiment(EXPERIMENT).plan;
    for arm in arms() {
        let why = |name: &str| (arm.na)(plan.workload(name).expect("the plan has it"));
        assert_eq!(why("memcpy-64k").as_deref(), Some("nothing is mapped"));
        let no_areas = Some("it has no areas to go through");
        assert_eq!(why("pool-4k-2t").as_deref(), no_areas);
        assert_eq!((why("overflow-4k-4t"), why("copy-4k")), (None, None));
    }
}
