//! A bounded queue of tokens that counts all tokens ever taken.
#![forbid(unsafe_code)]

use core::ops::DerefMut;

use super::tag::Tag;
use super::token::{Parked, Token};
use crate::addr::Iova;
use crate::rbtree::NodeId;

/// Storage for one [`Token`], for arrays that the caller provides.
#[derive(Clone, Copy, Debug)]
pub struct TokenSlot(Parked);

impl TokenSlot {
    /// An empty slot.
    pub const EMPTY: Self = {
        let Some(at) = NodeId::from_index(0) else {
            panic!("an arena can have a first node")
        };
        Self(Parked {
            at,
            tag: Tag::NONE,
            start: Iova::new(0),
            last: Iova::new(0),
        })
    };

    #[inline]
    pub(in crate::iova) fn of(token: Token) -> Self {
        Self(token.into_parked())
    }

    #[inline]
    pub(in crate::iova) fn parked(&self) -> &Parked {
        &self.0
    }
}

/// Fill level of a quarantine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "at the high-water mark a flush is due"]
pub enum Level {
    /// Below its high-water mark.
    Low,
    /// At its high-water mark or above: a flush is due.
    High,
}

/// A queue of tokens over the caller's array. Tokens are numbered in the order of their pushes, so
/// one number identifies all tokens queued at some time, however many are pushed later.
#[derive(Clone, Debug)]
pub(in crate::iova) struct Ring<M> {
    slots: M,
    /// Index of the oldest token.
    first: usize,
    len: usize,
    /// Number of tokens taken so far, which is the number of the oldest one.
    taken: u64,
    high_water: usize,
}

impl<M: DerefMut<Target = [TokenSlot]>> Ring<M> {
    pub(in crate::iova) fn new(slots: M, high_water: usize) -> Self {
        Self {
            slots,
            first: 0,
            len: 0,
            taken: 0,
            high_water,
        }
    }

    pub(in crate::iova) fn len(&self) -> usize {
        self.len
    }

    /// The number of the next token; all queued ones have lower numbers.
    pub(in crate::iova) fn end(&self) -> u64 {
        self.taken + self.len as u64
    }

    /// # Errors
    /// The token is returned if the queue is full.
    #[inline]
    pub(in crate::iova) fn push(&mut self, token: Token) -> Result<Level, Token> {
        if self.len == self.slots.len() {
            return Err(token);
        }
        let at = self.wrapped(self.first + self.len);
        self.slots[at] = TokenSlot::of(token);
        self.len += 1;
        Ok(if self.len < self.high_water {
            Level::Low
        } else {
            Level::High
        })
    }

    /// Removes the oldest token, if its number is below `end`.
    #[inline]
    pub(in crate::iova) fn take_below(&mut self, end: u64) -> Option<Token> {
        if self.len == 0 || self.taken >= end {
            return None;
        }
        let token = Token::from_parked(*self.slots[self.first].parked());
        self.first = self.wrapped(self.first + 1);
        self.len -= 1;
        self.taken += 1;
        Some(token)
    }

    /// The contents of the queued tokens, oldest first.
    #[cfg(feature = "alloc")]
    pub(in crate::iova) fn parked(&self) -> impl Iterator<Item = &Parked> {
        (0..self.len).map(|n| self.slots[self.wrapped(self.first + n)].parked())
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
