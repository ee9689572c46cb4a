//! A few tokens on their way to the tree.
#![forbid(unsafe_code)]

use crate::iova::ring::TokenSlot;
use crate::iova::token::{Parked, Token};

/// Upper limit on the extents freed under one hold of the tree's lock, apart from a magazine.
const HANDFUL: usize = 32;

/// A few tokens on the stack, on their way from a CPU's lock to the tree's lock.
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

    /// Adds a token; there must be room.
    pub(super) fn add(&mut self, token: Token) {
        self.tokens[self.len] = TokenSlot::of(token);
        self.len += 1;
    }

    pub(super) fn parked(&self) -> impl Iterator<Item = &Parked> {
        self.tokens[..self.len].iter().map(TokenSlot::parked)
    }
}
