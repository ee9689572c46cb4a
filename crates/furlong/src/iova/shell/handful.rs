//! A few tokens on their way to the tree.
#![forbid(unsafe_code)]

use crate::iova::ring::TokenSlot;
use crate::iova::token::{Parked, Token};

/// How many extents at most are freed while the tree's lock is held once, apart from a magazine.
const HANDFUL: usize = 32;

/// A few tokens between two locks, on the stack: they come from under a CPU's lock, and go to the
/// tree under its.
#[derive(Debug)]
pub(super) struct Handful {
    tokens: [TokenSlot; HANDFUL],
    len: usize,
}

impl Handful {
    pub(super) const fn new() -> Self {
        Self {
            tokens: [TokenSlot::EMPTY; HANDFUL],
            len: 0,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.len == HANDFUL
    }

    /// Adds a token, for which there is room.
    pub(super) fn add(&mut self, token: Token) {
        self.tokens[self.len] = TokenSlot::of(token);
        self.len += 1;
    }

    pub(super) fn parked(&self) -> impl Iterator<Item = &Parked> {
        self.tokens[..self.len].iter().map(TokenSlot::parked)
    }
}
