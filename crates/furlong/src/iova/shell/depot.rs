//! The magazines of one size class that no CPU has.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use super::magazine::{Magazine, Shelf};

/// The magazines of one size class that no CPU has, full ones and empty ones.
///
/// There are at most `limit` of both together: a full one that is taken leaves an empty one, and an
/// empty one that is taken leaves a full one, so neither stack allocates after its making.
#[derive(Debug)]
pub(super) struct Depot {
    full: Vec<Magazine>,
    empty: Vec<Magazine>,
    limit: usize,
}

/// What a CPU with two full magazines gets from the depot.
#[derive(Debug)]
pub(super) enum Stowed {
    /// An empty magazine, for the older of its two.
    Room,
    /// Nothing, for there is no empty magazine; its older one, if it had one, stays in the depot.
    NoEmpty,
    /// Its older magazine back, for the depot is full.
    Overflow(Magazine),
}

impl Depot {
    /// One that can keep none.
    pub(super) const fn new() -> Self {
        Self {
            full: Vec::new(),
            empty: Vec::new(),
            limit: 0,
        }
    }

    /// Makes room for `limit` magazines; `None` if there is no memory.
    pub(super) fn try_reserve(&mut self, limit: usize) -> Option<()> {
        self.full.try_reserve_exact(limit).ok()?;
        self.empty.try_reserve_exact(limit).ok()?;
        self.limit = limit;
        Some(())
    }

    fn has_room(&self) -> bool {
        self.full.len() + self.empty.len() < self.limit
    }

    /// How many full ones there are, and how many empty ones.
    pub(super) fn len(&self) -> (usize, usize) {
        (self.full.len(), self.empty.len())
    }

    pub(super) fn full(&self) -> &[Magazine] {
        &self.full
    }

    #[cfg(test)]
    pub(super) fn full_mut(&mut self) -> &mut [Magazine] {
        &mut self.full
    }

    /// Gives a CPU without entries a full magazine for an empty one; whether there was any.
    pub(super) fn refill(&mut self, shelf: &mut Shelf) -> bool {
        let Some(full) = self.full.pop() else {
            return false;
        };
        let empty = shelf.exchange_empty(full);
        if empty.is_some() {
            self.empty.push(empty);
        }
        true
    }

    /// Takes a magazine from a CPU whose magazines are full.
    pub(super) fn stow(&mut self, shelf: &mut Shelf) -> Stowed {
        if let Some(empty) = self.empty.pop() {
            let full = shelf.exchange_full(empty);
            if full.is_some() {
                self.full.push(full);
            }
            return Stowed::Room;
        }
        let previous = shelf.take_previous();
        if !previous.is_some() {
            return Stowed::NoEmpty;
        }
        if !self.has_room() {
            return Stowed::Overflow(previous);
        }
        self.full.push(previous);
        Stowed::NoEmpty
    }

    /// Keeps a magazine, if there is room for it.
    ///
    /// # Errors
    /// It comes back if there is none, or if it is neither full nor empty.
    pub(super) fn keep(&mut self, magazine: Magazine) -> Result<(), Magazine> {
        let is_half = !magazine.is_empty() && !magazine.is_full();
        if is_half || !magazine.is_some() || !self.has_room() {
            return Err(magazine);
        }
        let stack = if magazine.is_empty() {
            &mut self.empty
        } else {
            &mut self.full
        };
        stack.push(magazine);
        Ok(())
    }

    /// Takes a full magazine out for good.
    pub(super) fn take_full(&mut self) -> Option<Magazine> {
        self.full.pop()
    }
}
