//! The places in which a program keeps its blocks: what every subject does alike, whoever gives
//! them.
#![forbid(unsafe_code)]

use super::block::{Block, Giver};
use super::operation::{Operation, Outcome};

/// The blocks that a program has of a giver, by place.
#[derive(Debug)]
pub struct Places<G> {
    giver: G,
    places: Vec<Option<Block>>,
    /// Operations so far: each block has contents of its own.
    applied: u64,
}

impl<G: Giver> Places<G> {
    /// So many places, without blocks.
    #[must_use]
    pub fn new(giver: G, places: usize) -> Self {
        Self {
            giver,
            places: (0..places).map(|_| None).collect(),
            applied: 0,
        }
    }

    /// Operations so far, of all kinds.
    #[must_use]
    pub fn applied(&self) -> u64 {
        self.applied
    }

    /// Carries out an operation on blocks; nothing where it is one on something else.
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

    /// Frees everything.
    ///
    /// # Errors
    /// A block that was overwritten.
    pub fn free_all(&mut self) -> Result<(), String> {
        for place in 0..self.places.len() {
            if self.free(place, false) == Outcome::Intact(false) {
                return Err(format!("the block in {place} was overwritten"));
            }
        }
        Ok(())
    }
}
