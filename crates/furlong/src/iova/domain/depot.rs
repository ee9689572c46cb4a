//! The magazines of one size class that no CPU holds.

use alloc::vec::Vec;

use super::magazine::{Magazine, Shelf};

/// The magazines of one size class that no CPU holds, full ones and empty ones.
///
/// Together they are at most `limit`. Taking a full one returns an empty one and vice versa, so
/// neither stack allocates after `try_reserve`.
pub(super) struct Depot {
    full: Vec<Magazine>,
    empty: Vec<Magazine>,
    limit: usize,
}

/// Result for a CPU with two full magazines.
pub(super) enum Stowed {
    /// An empty magazine has replaced the older of its two.
    Room,
    /// No empty magazine was available; the CPU's older one, if any, stays in the depot.
    NoEmpty,
    /// The depot is full: the CPU's older magazine is returned.
    Overflow(Magazine),
}

impl Depot {
    /// A depot without room.
    pub(super) const fn new() -> Self {
        Self {
            full: Vec::new(),
            empty: Vec::new(),
            limit: 0,
        }
    }

    /// Makes room for `limit` magazines; `None` if out of memory.
    pub(super) fn try_reserve(&mut self, limit: usize) -> Option<()> {
        self.full.try_reserve_exact(limit).ok()?;
        self.empty.try_reserve_exact(limit).ok()?;
        self.limit = limit;
        Some(())
    }

    fn has_room(&self) -> bool {
        self.full.len() + self.empty.len() < self.limit
    }

    /// Number of full magazines, and number of empty ones.
    pub(super) fn len(&self) -> (usize, usize) {
        (self.full.len(), self.empty.len())
    }

    pub(super) fn full(&self) -> &[Magazine] {
        &self.full
    }

    pub(super) fn empty(&self) -> &[Magazine] {
        &self.empty
    }

    #[cfg(test)]
    pub(super) fn full_mut(&mut self) -> &mut [Magazine] {
        &mut self.full
    }

    /// Gives a CPU without entries a full magazine for an empty one; returns false if there is
    /// none.
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

    /// Keeps a magazine that is full or empty, if there is room.
    ///
    /// # Errors
    /// The magazine is returned if there is no room.
    pub(super) fn keep(&mut self, magazine: Magazine) -> Result<(), Magazine> {
        debug_assert!(magazine.is_empty() || magazine.is_full());
        if !magazine.is_some() || !self.has_room() {
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

    /// Removes a full magazine permanently.
    pub(super) fn take_full(&mut self) -> Option<Magazine> {
        self.full.pop()
    }
}
