//! Loom models of the exchange between the heaps of an allocator; `ci/loom.sh` runs them, and
//! states the bound on preemptions.
//!
//! Each rule below was broken by hand, one at a time; these models failed:
//!
//! | broken | models that then fail |
//! |---|---|
//! | a sender posts without `Release` | owner, hands |
//! | a sender does not check whether the heap has ended | ends, both, adopted |
//! | it checks without a fence between | ends, both, adopted |
//! | releasing a latch does not check the queue | ends, adopted |
//! | it checks without a fence between, in `unlock_heap`, in `tidy_ended` | ends, adopted; both |
//! | a span in the queue of another heap is not passed on | adopted, hands |
//! | a span without an owner keeps its `posted`, or loses it outside the pool's latch | hands |
//! | an ended heap is taken without a second check of its state | over |
//! | a span is adopted without the old owner's latch | adopted |
//! | a stack's top is moved without `Release`, or read without `Acquire` | kept |
//! | more blocks are taken from a full stack than it has | renewed |
//! | the link of a spare chunk looks like the link of one put aside | aside |
//! | a chunk is put aside without `Release`, or read without `Acquire` | again |
//! | a link is read without `Acquire` | misses |
//! Meaning of the names: *owner* `.._to_a_running_owner`, *ends* `.._while_its_heap_ends_..`,
//! *both*
//! `one_of_two_senders_..`, *adopted* `.._while_its_span_is_adopted_..`,
//! *over* `.._is_taken_over_..`, *hands* `a_span_that_changes_hands_..`, *kept*
//! `.._is_not_found_among_those_kept`, *renewed* `.._while_another_policy_comes_..`, *aside*
//! `.._is_not_found_among_those_put_aside`, *again* `.._that_is_filled_again_and_put_aside`,
//! *misses* `.._misses_none_while_another_is_made`.
#![forbid(unsafe_code)]

mod orders;

use std::sync::Arc;

use furlong::malloc::{Shelf, World};
use orders::{body, model};

type Shared = &'static World;

/// Two threads free blocks of one word, and the owner collects in between. No block is lost, and
/// every write to a block comes before its next use.
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

/// No call follows: an ending heap and a sender must see each other.
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

/// One of two threads that free blocks of an ended heap finds the latch taken, and leaves its block
/// to the other.
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

/// A sender that saw the old owner posts the span to it, and it is passed on.
#[test]
fn a_block_that_is_freed_while_its_span_is_adopted_comes_to_the_new_owner() {
    model(
        || {
            let world = Arc::new(World::new(2, &[0]));
            world.free_remotely(0, 0, 0b01);
            world.end_heap(0);
            let sender = body(|world: &Shared| world.free_remotely(0, 1, 0b01));
            let adopter = body(|world: &Shared| {
                world.take_ended_spans_into(1);
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
                    // This thread owns the heap exclusively.
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

/// A heap that is new leads to those before it.
#[test]
fn a_walk_over_all_heaps_misses_none_while_another_is_made() {
    model(
        || {
            let world = Arc::new(World::new(1, &[]));
            let maker = body(|world: &Shared| world.begin_anew());
            let walker = body(|world: &Shared| assert!(world.lists(0)));
            (world, [maker, walker])
        },
        |world| assert!(world.lists(0)),
    );
}

/// The last blocks of a span are found between a sender's two steps, and the span moves to another
/// heap. Blocks that it has from then on belong to that heap.
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
                // The span was retired, and possibly renewed.
                Some(1) => 0b0100,
                _ => 0b1111,
            };
            assert_eq!(world.state(0).0, expected);
        },
    );
}

/// The block that the owner has handed out is not among those that it keeps.
fn ask_for_the_block(shelf: &Shelf) {
    if let Some(block) = shelf.handed() {
        assert!(!shelf.keeps(block), "{block} was given out");
    }
}

/// A thread that frees a block which looks free checks whether the owner keeps it in its stack. A
/// block that the owner has handed out must not be found there, wherever the stack's top moves
/// meanwhile.
#[test]
fn a_block_in_use_is_not_found_among_those_kept() {
    model(
        || {
            let shelf = Arc::new(Shelf::new(2, &[1, 2, 3, 4]));
            let [one, two, three] = [(); 3].map(|()| shelf.allocate());
            shelf.free(one);
            shelf.free(two);
            let owner = body(move |shelf: &Shelf| {
                shelf.hand(shelf.allocate());
                // The slot of the block that was handed over is reused.
                shelf.free(three);
                // The stack is renewed.
                shelf.allocate();
                shelf.allocate();
                shelf.free(shelf.allocate());
            });
            (shelf, [owner, body(ask_for_the_block)])
        },
        |shelf| assert_eq!(shelf.free_blocks().count_ones(), 1),
    );
}

/// The chunk that a block was taken from is spare, and so is the one linked before it.
#[test]
fn a_block_in_use_is_not_found_among_those_put_aside() {
    model(
        || {
            let shelf = Arc::new(Shelf::with_aside(3, 3, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
            let all = [(); 10].map(|()| shelf.allocate());
            all.into_iter().for_each(|block| shelf.free(block));
            shelf.allocate();
            let owner = body(|shelf: &Shelf| {
                shelf.hand(shelf.allocate());
                for _ in 0..6 {
                    shelf.allocate();
                }
            });
            (shelf, [owner, body(ask_for_the_block)])
        },
        |shelf| assert_eq!(shelf.free_blocks().count_ones(), 2),
    );
}

/// A full chunk is put aside in the place from which a block was taken before.
#[test]
fn a_block_in_use_is_not_found_in_a_chunk_that_is_filled_again_and_put_aside() {
    model(
        || {
            let shelf = Arc::new(Shelf::with_aside(1, 3, &[1, 2, 3, 4, 5]));
            let held = [(); 5].map(|()| shelf.allocate());
            held[..3].iter().for_each(|block| shelf.free(*block));
            let owner = body(move |shelf: &Shelf| {
                shelf.hand(shelf.allocate());
                shelf.free(held[3]);
                shelf.free(held[4]);
            });
            (shelf, [owner, body(ask_for_the_block)])
        },
        |shelf| assert_eq!((shelf.free_blocks().count_ones(), shelf.len()), (4, 4)),
    );
}

/// The policy's answer is part of the stack's shape: a heap follows a new policy when it renews the
/// stack, with all its blocks.
#[test]
fn a_stack_is_renewed_while_another_policy_comes_and_loses_no_block() {
    model(
        || {
            let shelf = Arc::new(Shelf::new(3, &[1, 2, 3, 4, 5]));
            let owner = body(|shelf: &Shelf| {
                let held = [(); 4].map(|()| shelf.allocate());
                for block in held {
                    shelf.free(block);
                }
                assert!(shelf.len() <= 3, "{}", shelf.len());
            });
            let more = body(|shelf: &Shelf| shelf.follow(2));
            let less = body(|shelf: &Shelf| shelf.follow(0));
            (shelf, [owner, more, less])
        },
        |shelf| {
            assert_eq!(shelf.free_blocks(), 0b11_1110);
            shelf.follow(1);
            let held = [(); 5].map(|()| shelf.allocate());
            for block in held {
                shelf.free(block);
            }
            assert_eq!((shelf.free_blocks(), shelf.len()), (0b11_1110, 1));
        },
    );
}
