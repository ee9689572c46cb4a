//! The naive model: a list of extents, searched from its start.
#![forbid(unsafe_code)]

use super::operation::{Operation, Outcome, Piece, Refusal};
use crate::Subject;

/// Pieces in order. Every operation examines all of them.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pieces: Vec<Piece>,
}

impl Model {
    /// An empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// All pieces, in order.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    fn overlapping(&self, start: u64, last: u64) -> Vec<Piece> {
        let overlaps = |piece: &&Piece| piece.0 <= last && start <= piece.1;
        self.pieces.iter().filter(overlaps).copied().collect()
    }

    /// The gaps, in order.
    #[must_use]
    pub fn gaps(&self) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        let mut free = Some(0);
        for (start, last, _) in &self.pieces {
            if let Some(free) = free.filter(|free| free < start) {
                gaps.push((free, start - 1));
            }
            free = last.checked_add(1);
        }
        gaps.extend(free.map(|free| (free, u64::MAX)));
        gaps
    }

    /// Clears the extent. Returns the pieces that lay wholly in it.
    fn cut(&mut self, start: u64, last: u64) -> Vec<Piece> {
        let mut displaced = Vec::new();
        let mut kept = Vec::new();
        for piece in &self.pieces {
            if piece.0 > last || piece.1 < start {
                kept.push(*piece);
                continue;
            }
            if start <= piece.0 && piece.1 <= last {
                displaced.push(*piece);
            }
            if piece.0 < start {
                kept.push((piece.0, start - 1, piece.2));
            }
            if piece.1 > last {
                kept.push((last + 1, piece.1, piece.2));
            }
        }
        self.pieces = kept;
        displaced
    }

    fn add(&mut self, piece: Piece) {
        self.pieces.push(piece);
        self.pieces.sort_unstable();
    }

    fn resize(&mut self, index: u64, start: u64, last: u64) -> Outcome {
        let Some(old) = self.overlapping(index, index).first().copied() else {
            return Outcome::Refused(Refusal::Vacant);
        };
        let mut others = self.overlapping(start.min(old.0), last.max(old.1));
        others.retain(|piece| *piece != old && piece.0 <= last && start <= piece.1);
        // The lower neighbour is reported first, because the library checks the new extent from its
        // start.
        let before = others.iter().rev().find(|piece| piece.1 < old.0);
        let in_the_way = if index < start || last < index {
            Some(&old)
        } else {
            before.or_else(|| others.iter().find(|piece| piece.0 > old.1))
        };
        if let Some(piece) = in_the_way {
            return Outcome::Refused(Refusal::Occupied(piece.0, piece.1));
        }
        self.pieces.retain(|piece| *piece != old);
        self.add((start, last, old.2));
        Outcome::Pieces(vec![])
    }

    fn room(&self, size: u64, lo: u64, hi: u64, highest: bool) -> Option<(u64, u64)> {
        let above = size.checked_sub(1)?;
        let mut rooms = self.gaps().into_iter().filter_map(|(start, last)| {
            let (start, last) = (start.max(lo), last.min(hi));
            (start <= last && last - start >= above).then_some((start, last))
        });
        if highest {
            rooms.next_back().map(|(_, last)| (last - above, last))
        } else {
            rooms.next().map(|(start, _)| (start, start + above))
        }
    }
}

impl Subject for Model {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        match *operation {
            Operation::Walk(index) => match self.overlapping(index, index).first() {
                Some(piece) => Outcome::Pieces(vec![*piece]),
                None => {
                    let gaps = self.gaps();
                    let gap = gaps.iter().find(|gap| gap.0 <= index && index <= gap.1);
                    gap.map_or(Outcome::Room(None), |gap| Outcome::Gap(gap.0, gap.1))
                }
            },
            Operation::Find(index) => {
                let found = self.pieces.iter().find(|piece| piece.1 >= index);
                Outcome::Pieces(found.copied().into_iter().collect())
            }
            Operation::FindBack(index) => {
                let found = self.pieces.iter().rev().find(|piece| piece.0 <= index);
                Outcome::Pieces(found.copied().into_iter().collect())
            }
            Operation::Range(start, last) => Outcome::Pieces(self.overlapping(start, last)),
            Operation::RangeBack(start, last) => {
                Outcome::Pieces(self.overlapping(start, last).into_iter().rev().collect())
            }
            Operation::Insert(start, last, value) => match self.overlapping(start, last).first() {
                Some(piece) => Outcome::Refused(Refusal::Occupied(piece.0, piece.1)),
                None => {
                    self.add((start, last, value));
                    Outcome::Pieces(vec![])
                }
            },
            Operation::Store(start, last, value) => {
                let displaced = self.cut(start, last);
                self.add((start, last, value));
                Outcome::Pieces(displaced)
            }
            Operation::Erase(index) => {
                let found = self.overlapping(index, index);
                self.pieces.retain(|piece| !found.contains(piece));
                Outcome::Pieces(found)
            }
            Operation::EraseRange(start, last) => Outcome::Pieces(self.cut(start, last)),
            Operation::Resize(index, start, last) => self.resize(index, start, last),
            Operation::LowestGap(size, lo, hi) => Outcome::Room(self.room(size, lo, hi, false)),
            Operation::HighestGap(size, lo, hi) => Outcome::Room(self.room(size, lo, hi, true)),
            Operation::LargestGap => {
                let gaps = self.gaps();
                let lengths = gaps.iter().map(|gap| (gap.1 - gap.0).saturating_add(1));
                Outcome::Length(lengths.max().unwrap_or(0))
            }
        }
    }

    fn check(&self) -> Result<(), String> {
        let ordered = self.pieces.windows(2).all(|pair| pair[0].1 < pair[1].0);
        let whole = self.pieces.iter().all(|piece| piece.0 <= piece.1);
        if ordered && whole {
            Ok(())
        } else {
            Err("the model's pieces are out of order".into())
        }
    }
}
