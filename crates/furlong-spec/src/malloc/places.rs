//! The places of a program's blocks, the same for every subject and every source of blocks.
#![forbid(unsafe_code)]

use super::block::{Block, Giver};
use super::operation::{Operation, Outcome};

/// A program's blocks from one source, by place.
#[derive(Debug)]
pub struct Places<G> {
    giver: G,
    places: Vec<Option<Block>>,
    /// The number of operations so far, from which each block gets its own contents.
    applied: u64,
}

impl<G: Giver> Places<G> {
    /// `places` places without blocks.
    #[must_use]
    pub fn new(giver: G, places: usize) -> Self {
        Self {
            giver,
            places: (0..places).map(|_| None).collect(),
            applied: 0,
        }
    }

    /// The number of operations so far, of all kinds.
    #[must_use]
    pub fn applied(&self) -> u64 {
        self.applied
    }

    /// Carries out an operation on blocks; `None` if it is another kind of operation.
    pub fn apply(&mut self, operation: &Operation) -> Option<Outcome> {
        self.applied += 1;
        Some(match *operation {
            Operation::Allocate {
                place,
                size,
                align,
                zeroed,
            } => self.allocate(place, (size, align), zeroed),
            Operation::Resize { place, size } => self.resize(place, size),
            Operation::Look(place) => {
                let block = self.places[place].as_ref();
                block.map_or(Outcome::Idle, |block| Outcome::Intact(block.is_intact()))
            }
            Operation::Free(place) => self.free(place, false),
            Operation::FreeSized(place) => self.free(place, true),
            _ => return None,
        })
    }

    fn allocate(&mut self, place: usize, request: (usize, usize), zeroed: bool) -> Outcome {
        if self.places[place].is_some() {
            return Outcome::Idle;
        }
        match Block::allocate(&self.giver, request, zeroed, self.applied) {
            Some((block, intact)) => self.keep(place, block, intact),
            None => Outcome::Refused,
        }
    }

    fn resize(&mut self, place: usize, size: usize) -> Outcome {
        let Some(block) = self.places[place].take() else {
            return Outcome::Idle;
        };
        match block.resize(&self.giver, size) {
            Ok((block, intact)) => self.keep(place, block, intact),
            Err(block) => {
                self.places[place] = Some(block);
                Outcome::Refused
            }
        }
    }

    fn keep(&mut self, place: usize, block: Block, intact: bool) -> Outcome {
        let (address, usable) = (block.address(), block.usable(&self.giver));
        self.places[place] = Some(block);
        Outcome::Block {
            address,
            usable,
            intact,
        }
    }

    fn free(&mut self, place: usize, sized: bool) -> Outcome {
        let block = self.places[place].take();
        block.map_or(Outcome::Idle, |block| {
            Outcome::Intact(block.free(&self.giver, sized))
        })
    }

    /// Frees all blocks.
    ///
    /// # Errors
    /// The first block whose contents were changed.
    pub fn free_all(&mut self) -> Result<(), String> {
        for place in 0..self.places.len() {
            if self.free(place, false) == Outcome::Intact(false) {
                return Err(format!("the block in {place} was overwritten"));
            }
        }
        Ok(())
    }
}
