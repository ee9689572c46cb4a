//! The kernel heaps behind C functions against the model of an allocator: random requests of all
//! sizes and alignments, each block filled with words of its own.
#![cfg(target_os = "linux")]

use std::ptr::NonNull;

use furlong_spec::malloc::{Giver, Model, Operation, Outcome, Places, operations};
use furlong_spec::{Subject, judge};

#[path = "../heaps/heap.rs"]
mod heap;
#[path = "../heaps/lock.rs"]
mod lock;
#[path = "../heaps/buddy.rs"]
mod over_buddy;
#[path = "../heaps/talc.rs"]
mod over_talc;

use heap::Heap;
use over_buddy::Buddy;
use over_talc::Talc;

/// The number of places for blocks in a stream's program.
const PLACES: usize = 600;

struct Given<H>(H);

// SAFETY: the contract of Heap, which the model checks.
unsafe impl<H: Heap> Giver for Given<H> {
    fn give(&self, (size, align): (usize, usize), zeroed: bool) -> Option<NonNull<u8>> {
        let align = align.max(16);
        NonNull::new(if zeroed {
            self.0.allocate_zeroed(size, align)
        } else {
            self.0.allocate(size, align)
        })
    }

    unsafe fn usable(&self, block: NonNull<u8>) -> usize {
        // SAFETY: the caller's promise.
        unsafe { self.0.usable(block.as_ptr()) }
    }

    unsafe fn resize(&self, block: NonNull<u8>, size: usize) -> Option<NonNull<u8>> {
        // SAFETY: the caller's promise.
        NonNull::new(unsafe { self.0.resize(block.as_ptr(), size) })
    }

    unsafe fn take(&self, block: NonNull<u8>, _: Option<usize>) {
        // SAFETY: the caller's promise.
        unsafe { self.0.free(block.as_ptr()) };
    }
}

/// A heap and the blocks of a program. The program's threads do not matter to a heap under a lock.
struct Program<H>(Places<Given<H>>);

impl<H: Heap> Subject for Program<H> {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        self.0.apply(operation).unwrap_or(Outcome::Done)
    }

    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

fn agrees_with_the_model<H: Heap>(heap: fn() -> H) {
    for seed in 0..4 {
        let mut program = Program(Places::new(Given(heap()), PLACES));
        let stream = operations(PLACES, 60_000, seed);
        // Neither heap counts its blocks in use.
        let stream = stream.filter(|operation| *operation != Operation::Count);
        let told = judge(&mut Model::new(PLACES, false), &mut program, stream);
        told.unwrap_or_else(|divergence| panic!("seed {seed}, {divergence}"));
        program.0.free_all().expect("all blocks are as they were");
    }
}

#[test]
fn talc_agrees_with_the_model() {
    agrees_with_the_model(Talc::new);
}

#[test]
fn buddies_agree_with_the_model() {
    agrees_with_the_model(Buddy::new);
}
