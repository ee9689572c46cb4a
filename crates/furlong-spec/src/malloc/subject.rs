//! The library's allocator as a subject. Threads are numbers, so the seed decides the order of
//! their operations.
#![forbid(unsafe_code)]

use core::cell::Cell;

use furlong::malloc::{Gate, Hardening, Malloc, Profile, Tier};

use super::operation::{Operation, Outcome};
use super::pages::Pages;
use super::parts::{Owned, Parts, become_thread, begin};
use super::places::Places;
use crate::Subject;

/// The number of operations between two checks of all invariants.
const WALK: u64 = 4096;

/// An allocator and a program's blocks from it.
#[derive(Debug)]
pub struct Allocator<H: Hardening, G: Gate, T: Tier> {
    owned: Owned<Parts<H, G, T>>,
    places: Places<&'static Malloc<Parts<H, G, T>>>,
    walked: Cell<u64>,
}

impl<H: Hardening, G: Gate, T: Tier> Allocator<H, G, T> {
    /// A program with `places` places, in a system with these pages.
    #[must_use]
    pub fn new(places: usize, pages: Pages) -> Self {
        become_thread(0);
        let owned = Owned::new(pages);
        Self {
            places: Places::new(owned.get(), places),
            owned,
            walked: Cell::new(0),
        }
    }

    /// Frees everything, checks all invariants, and counts what remains in use.
    ///
    /// # Errors
    /// The invariant broken, or the memory still in use.
    pub fn finish(mut self) -> Result<(), String> {
        let malloc = self.owned.get();
        self.places.free_all()?;
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
        if let Some(outcome) = self.places.apply(operation) {
            return outcome;
        }
        let malloc = self.owned.get();
        match *operation {
            Operation::Become(number) => become_thread(number),
            Operation::End => malloc.end_thread(),
            Operation::Begin => begin(),
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
            _ => {}
        }
        Outcome::Done
    }

    fn check(&self) -> Result<(), String> {
        let applied = self.places.applied();
        if applied < self.walked.get() + WALK {
            return Ok(());
        }
        self.walked.set(applied);
        let malloc = self.owned.get();
        malloc.check().map_err(|broken| broken.to_string())
    }
}
