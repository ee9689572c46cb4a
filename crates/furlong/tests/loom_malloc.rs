//! Loom models of what the heaps of an allocator exchange; `ci/loom.sh` runs them, with up to three
//! preemptions.
//!
//! Each rule below was broken by hand, one at a time; these models failed:
//!
//! | broken | models that then fail |
//! |---|---|
//! | a sender posts without `Release` | owner, hands |
//! | a sender does not look whether the heap has ended | ends, both, adopted |
//! | it looks without a fence between | ends, both, adopted |
//! | who gives a latch back does not look at the queue | ends, adopted |
//! | it looks without a fence between, in `unlock_heap`, in `tidy_ended` | ends, adopted; both |
//! | a span in the queue of another heap is not passed on | adopted, hands |
//! | a span without an owner keeps its `posted`, or loses it outside the pool's latch | hands |
//! | an ended heap is taken without a second look at its state | over |
//! | a span is adopted without the old owner's latch | adopted |
//!
//! The names stand for: *owner* `.._to_a_running_owner`, *ends* `.._while_its_heap_ends_..`, *both*
//! `one_of_two_senders_..`, *adopted* `.._while_its_span_is_adopted_..`,
//! *over* `.._is_taken_over_..`, *hands* `a_span_that_changes_hands_..`.
#![cfg(loom)]
#![forbid(unsafe_code)]

mod orders;

use std::sync::Arc;

use furlong::malloc::World;
use orders::{body, model};

type Shared = &'static World;

/// Two that free blocks of one word, and an owner that collects in between: none is lost, and what
/// was written to a block comes before its next use.
#[test]
fn blocks_of_two_senders_come_back_to_a_running_owner() {
    model(
        || {
            let world = Arc::new(World::new(1, &[0]));
            let one = body(|world: &Shared| world.free_remotely(0, 0, 0b01));
            let two = body(|world: &Shared| world.free_remotely(0, 0, 0b10));
            let owner = body(|world: &Shared| world.collect_into(0));
            (world, [one, two, owner])
        },
        |world| {
            world.collect_into(0);
            assert_eq!(world.state(0), (0b11, Some(0)));
        },
    );
}

/// Nobody calls afterwards: a heap that ends and a sender see each other.
#[test]
fn a_block_that_is_freed_while_its_heap_ends_is_not_left_in_the_queue() {
    model(
        || {
            let world = Arc::new(World::new(1, &[0]));
            let sender = body(|world: &Shared| world.free_remotely(0, 0, 0b01));
            let owner = body(|world: &Shared| world.end_heap(0));
            (world, [sender, owner])
        },
        |world| assert_eq!(world.state(0), (0b01, Some(0))),
    );
}

/// One of two that free blocks of an ended heap finds the latch taken, and leaves its block to the
/// other.
#[test]
fn one_of_two_senders_tidies_an_ended_heap_for_both() {
    model(
        || {
            let world = Arc::new(World::new(1, &[0, 0]));
            world.end_heap(0);
            let one = body(|world: &Shared| world.free_remotely(0, 0, 0b01));
            let two = body(|world: &Shared| world.free_remotely(1, 0, 0b01));
            (world, [one, two])
        },
        |world| {
            assert_eq!((world.state(0).0, world.state(1).0), (0b01, 0b01));
        },
    );
}

/// A sender that saw the old owner brings the span to it, and it is passed on.
#[test]
fn a_block_that_is_freed_while_its_span_is_adopted_comes_to_the_new_owner() {
    model(
        || {
            let world = Arc::new(World::new(2, &[0]));
            world.free_remotely(0, 0, 0b01);
            world.end_heap(0);
            let sender = body(|world: &Shared| world.free_remotely(0, 1, 0b01));
            let adopter = body(|world: &Shared| {
                world.adopt_into(1);
            });
            (world, [sender, adopter])
        },
        |world| {
            world.collect_into(1);
            let (free, owner) = world.state(0);
            assert_eq!(free, 0b0101);
            assert!(owner.is_some() && !world.has_posted(0));
        },
    );
}

#[test]
fn an_ended_heap_is_taken_over_by_one_of_two() {
    model(
        || {
            let world = Arc::new(World::new(1, &[0]));
            world.end_heap(0);
            let begin = |world: &Shared| {
                if world.begin().is_some() {
                    // It has the heap to itself.
                    world.collect_into(0);
                    world.free_remotely(0, 0, 0b01);
                }
            };
            (world, [body(begin), body(begin)])
        },
        |world| {
            assert_eq!(world.begin(), None);
            world.collect_into(0);
            assert_eq!(world.state(0).0, 0b01);
        },
    );
}

/// The last blocks of a span are found between a sender's two steps, and the span becomes another
/// heap's: whose blocks it has from then on come to that one.
#[test]
fn a_span_that_changes_hands_between_a_senders_steps_loses_no_block_of_its_next_owner() {
    model(
        || {
            let world = Arc::new(World::new(2, &[0]));
            world.free_remotely(0, 1, 0b11);
            world.collect_into(0);
            let one = body(|world: &Shared| world.free_remotely(0, 0, 0b01));
            let two = body(|world: &Shared| world.free_remotely(0, 0, 0b10));
            let owner = body(|world: &Shared| {
                world.collect_into(0);
                if world.renew(0, 1) {
                    world.free_remotely(0, 1, 0b01);
                }
            });
            (world, [one, two, owner])
        },
        |world| {
            world.collect_into(0);
            world.collect_into(1);
            let expected = match world.state(0).1 {
                // It was retired, and renewed or not.
                Some(1) => 0b0100,
                _ => 0b1111,
            };
            assert_eq!(world.state(0).0, expected);
        },
    );
}
