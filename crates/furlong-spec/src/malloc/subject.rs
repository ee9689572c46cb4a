//! The library's allocator as a subject, and threads as numbers: what several threads do, in an
//! order that the seed decides.
#![forbid(unsafe_code)]

use core::cell::Cell;

use furlong::malloc::{Gate, Hardening, Profile, Tier};

use super::block::Block;
use super::operation::{Operation, Outcome};
use super::parts::{Owned, Parts, become_thread, begin};
use crate::Subject;

/// After so many operations all invariants are walked.
const WALK: u64 = 4096;

/// An allocator and the blocks that a program has of it.
#[derive(Debug)]
pub struct Allocator<H: Hardening, G: Gate, T: Tier> {
    owned: Owned<Parts<H, G, T>>,
    places: Vec<Option<Block>>,
    applied: u64,
    walked: Cell<u64>,
}

impl<H: Hardening, G: Gate, T: Tier> Allocator<H, G, T> {
    /// A program with so many places, in a system with so many bytes.
    #[must_use]
    pub fn new(places: usize, limit: usize) -> Self {
        become_thread(0);
        Self {
            owned: Owned::new(limit),
            places: (0..places).map(|_| None).collect(),
            applied: 0,
            walked: Cell::new(0),
        }
    }

    fn allocate(&mut self, place: usize, request: (usize, usize), zeroed: bool) -> Outcome {
        if self.places[place].is_some() {
            return Outcome::Idle;
        }
        let malloc = self.owned.get();
        match Block::allocate(&malloc, request, zeroed, self.applied) {
            Some((block, intact)) => self.keep(place, block, intact),
            None => Outcome::Refused,
        }
    }

    fn resize(&mut self, place: usize, size: usize) -> Outcome {
        let Some(block) = self.places[place].take() else {
            return Outcome::Idle;
        };
        match block.resize(&self.owned.get(), size) {
            Ok((block, intact)) => self.keep(place, block, intact),
            Err(block) => {
                self.places[place] = Some(block);
                Outcome::Refused
            }
        }
    }

    fn keep(&mut self, place: usize, block: Block, intact: bool) -> Outcome {
        let (address, usable) = (block.address(), block.usable(&self.owned.get()));
        self.places[place] = Some(block);
        Outcome::Block {
            address,
            usable,
            intact,
        }
    }

    fn free(&mut self, place: usize, sized: bool) -> Outcome {
        let malloc = self.owned.get();
        let block = self.places[place].take();
        block.map_or(Outcome::Idle, |block| {
            Outcome::Intact(block.free(&malloc, sized))
        })
    }

    /// Frees everything, walks all invariants, and counts what is left.
    ///
    /// # Errors
    /// What is broken, or in use although nobody has it.
    pub fn finish(mut self) -> Result<(), String> {
        for place in 0..self.places.len() {
            if self.free(place, false) == Outcome::Intact(false) {
                return Err(format!("the block in {place} was overwritten"));
            }
        }
        let malloc = self.owned.get();
        malloc.trim();
        malloc.check().map_err(|broken| broken.to_string())?;
        let after = malloc.statistics();
        if (after.used_blocks, after.used_bytes, after.huge_blocks) == (0, 0, 0) {
            Ok(())
        } else {
            Err(format!("everything is freed, but {after:?}"))
        }
    }
}

impl<H: Hardening, G: Gate, T: Tier> Subject for Allocator<H, G, T> {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        self.applied += 1;
        let malloc = self.owned.get();
        match *operation {
            Operation::Become(number) => become_thread(number),
            Operation::End => malloc.end_thread(),
            Operation::Begin => begin(),
            Operation::Allocate {
                place,
                size,
                align,
                zeroed,
            } => return self.allocate(place, (size, align), zeroed),
            Operation::Resize { place, size } => return self.resize(place, size),
            Operation::Look(place) => {
                let block = self.places[place].as_ref();
                return block.map_or(Outcome::Idle, |block| Outcome::Intact(block.is_intact()));
            }
            Operation::Free(place) => return self.free(place, false),
            Operation::FreeSized(place) => return self.free(place, true),
            Operation::Trim => {
                malloc.trim();
            }
            Operation::Follow(true) => malloc.follow(&Profile::CONSERVATIVE),
            Operation::Follow(false) => malloc.follow(&Profile::STANDARD),
            Operation::Fork => self.owned.fork(),
            Operation::Count => {
                let now = malloc.statistics();
                return Outcome::Counted {
                    blocks: now.used_blocks,
                    bytes: now.used_bytes,
                };
            }
        }
        Outcome::Done
    }

    fn check(&self) -> Result<(), String> {
        if self.applied < self.walked.get() + WALK {
            return Ok(());
        }
        self.walked.set(self.applied);
        let malloc = self.owned.get();
        malloc.check().map_err(|broken| broken.to_string())
    }
}
