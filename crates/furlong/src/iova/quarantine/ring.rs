//! A bounded queue of tokens that counts all tokens ever taken.

use alloc::boxed::Box;

use super::token::{Parked, Token};

/// Fill level of a quarantine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "at the high-water mark a flush is due"]
pub enum Level {
    /// Below its high-water mark.
    Low,
    /// At its high-water mark or above: a flush is due.
    High,
}

/// A queue of tokens over an array. Tokens are numbered in the order of their pushes, so
/// one number identifies all tokens queued at some time, however many are pushed later.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    slots: Box<[Parked]>,
    /// Index of the oldest token.
    first: usize,
    len: usize,
    /// Number of tokens taken so far, which is the number of the oldest one.
    taken: u64,
    high_water: usize,
}

impl Ring {
    pub(crate) fn new(slots: Box<[Parked]>, high_water: usize) -> Self {
        Self {
            slots,
            first: 0,
            len: 0,
            taken: 0,
            high_water,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The number of the next token; all queued ones have lower numbers.
    pub(crate) fn end(&self) -> u64 {
        self.taken + self.len as u64
    }

    /// # Errors
    /// The token is returned if the queue is full.
    #[inline]
    pub(crate) fn push(&mut self, token: Token) -> Result<Level, Token> {
        if self.len == self.slots.len() {
            return Err(token);
        }
        let at = self.wrapped(self.first + self.len);
        self.slots[at] = token.into_parked();
        self.len += 1;
        Ok(if self.len < self.high_water {
            Level::Low
        } else {
            Level::High
        })
    }

    /// Removes the oldest token, if its number is below `end`.
    #[inline]
    pub(crate) fn take_below(&mut self, end: u64) -> Option<Token> {
        if self.len == 0 || self.taken >= end {
            return None;
        }
        let token = Token::from_parked(self.slots[self.first]);
        self.first = self.wrapped(self.first + 1);
        self.len -= 1;
        self.taken += 1;
        Some(token)
    }

    /// The contents of the queued tokens, oldest first.
    pub(crate) fn parked(&self) -> impl Iterator<Item = &Parked> {
        (0..self.len).map(|n| &self.slots[self.wrapped(self.first + n)])
    }

    #[inline]
    fn wrapped(&self, index: usize) -> usize {
        if index < self.slots.len() {
            index
        } else {
            index - self.slots.len()
        }
    }
}
