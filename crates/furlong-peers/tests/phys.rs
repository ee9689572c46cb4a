//! The peers as arms of `phys-lookup`: they agree with the specification's list, and give the same
//! answers as the library's tables.
#![forbid(unsafe_code)]

mod beside;

use beside::{experiment, raced};
use furlong_experiments::phys_lookup::SegmentIndex;
use furlong_peers::phys::{Brie, ByStart, EXPERIMENT, Intervals, Ranges, Regions, arms};
use furlong_spec::phys::{Operation, SortedList, operations};

/// Looks up frames in an index of a list's segments, and compares with the list.
fn finds_what_the_list_finds<I: SegmentIndex>(list: &SortedList, frames: &[u64]) -> u32 {
    let index = I::new(list.segments()).unwrap_or_else(|failure| panic!("{}", failure.0));
    let mut hits = 0;
    for frame in frames {
        let found = index.find(*frame);
        let found = found.map(|(first, name)| (name, frame - first));
        assert_eq!(found, list.find(*frame), "{frame}: {:?}", list.segments());
        hits += u32::from(found.is_some());
    }
    hits
}

fn agrees_with_the_list<I: SegmentIndex>() {
    let all: Vec<u64> = (0..320).collect();
    let (mut asked, mut hits) = (0, 0);
    for seed in 0..60 {
        let mut list = SortedList::new();
        for operation in operations(0, 300, 120, seed) {
            let changed = match operation {
                Operation::Plug { frames, .. } => list.plug(frames).is_ok(),
                Operation::Unplug(frames) => list.unplug(frames).is_ok(),
                _ => false,
            };
            if changed {
                asked += all.len() as u32;
                hits += finds_what_the_list_finds::<I>(&list, &all);
            }
        }
    }
    assert!(asked > 100_000, "{asked}");
    assert!(
        hits > asked / 10 && hits < asked / 10 * 9,
        "{hits} of {asked}"
    );
}

/// Checks segments at both ends of the possible frame numbers.
fn is_right_at_both_ends<I: SegmentIndex>() {
    let mut list = SortedList::new();
    for frames in [
        0..1,
        5..6,
        (1 << 40) - 3..(1 << 40) - 1,
        (1 << 40) - 1..1 << 40,
    ] {
        list.plug(frames).expect("there is nothing in the way");
    }
    let frames: Vec<u64> = (0..8).chain((1 << 40) - 5..(1 << 40) + 2).collect();
    assert_eq!(finds_what_the_list_finds::<I>(&list, &frames), 5);
}

#[test]
fn every_peer_agrees_with_the_specification() {
    agrees_with_the_list::<ByStart>();
    agrees_with_the_list::<Regions>();
    agrees_with_the_list::<Ranges>();
    agrees_with_the_list::<Intervals>();
    agrees_with_the_list::<Brie>();
}

#[test]
fn every_peer_is_right_at_both_ends() {
    is_right_at_both_ends::<ByStart>();
    is_right_at_both_ends::<Regions>();
    is_right_at_both_ends::<Ranges>();
    is_right_at_both_ends::<Intervals>();
    is_right_at_both_ends::<Brie>();
}

#[test]
fn every_peer_answers_as_the_library_does() {
    let experiment = experiment(EXPERIMENT);
    // The tree, which supports any memory layout.
    let raced = raced(&experiment, &experiment.arms[2], &arms(), 2000);
    assert!(raced.len() >= 5 * 20, "{raced:?}");
}
