//! Operations and their expected effects.

use furlong_spec::Random;

/// An extent (both ends inclusive) and the number of its entry.
pub(crate) type Piece = (u64, u64, u64);

/// An operation on a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    Insert(u64, u64),
    Store(u64, u64),
    Erase(u64),
    EraseRange(u64, u64),
    Drain(u64, u64),
    Change(u64, u64),
    Resize(u64, u64, u64),
    Clear,
    Duplicate,
    Load,
    Prepare(usize),
    Look(u64),
}

use Operation::{
    Change, Clear, Drain, Duplicate, Erase, EraseRange, Insert, Load, Look, Prepare, Resize, Store,
};

/// The caller's treatment of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Caller {
    /// Drops the result.
    Drops,
    /// Takes this number of entries from the result, and forgets the rest.
    Forgets(u64),
    /// Takes all entries, and forgets their iterator, and the session if there is one.
    ForgetsAll,
}

/// The first index above those that streams use.
pub(crate) const BEHIND: u64 = 100_000;

/// The initial pieces of a tree.
pub(crate) fn pieces(len: u64, random: &mut Random) -> Vec<Piece> {
    let mut free = random.below(3);
    (0..len)
        .map(|number| {
            let last = free + random.below(12);
            let piece = (free, last, number);
            free = last + 1 + random.below(4) * random.below(20);
            piece
        })
        .collect()
}

/// A random operation on a tree that contains `pieces`.
pub(crate) fn operation(pieces: &[Piece], random: &mut Random) -> Operation {
    let end = pieces.last().map_or(20, |piece| piece.1 + 10);
    let (at, other) = (random.below(end), random.below(end));
    let (near, wide) = (at + random.below(12), (at.min(other), at.max(other)));
    match random.below(19) {
        0 | 1 => Insert(at, near),
        2 | 3 => Store(at, near),
        4..=6 => Store(wide.0, wide.1),
        7 => Erase(at),
        8 => EraseRange(at, near),
        9 | 10 => EraseRange(wide.0, wide.1),
        11 => Resize(at, at.saturating_sub(random.below(9)), near),
        12 => Clear,
        13 => Duplicate,
        14 => Load,
        15 => Drain(at, near),
        16 => Drain(wide.0, wide.1),
        17 => Change(wide.0, wide.1),
        _ if at.is_multiple_of(2) => Prepare(1 + random.index(4)),
        _ => Look(at),
    }
}

/// The pieces after an operation, and the number of entries that it displaces.
pub(crate) fn after(before: &[Piece], operation: Operation, number: u64) -> (Vec<Piece>, u64) {
    let meets = |start: u64, last: u64| move |piece: &&Piece| piece.0 <= last && start <= piece.1;
    let mut left: Vec<Piece> = before.to_vec();
    let mut displaced = 0;
    match operation {
        Insert(start, last) if !before.iter().any(|piece| meets(start, last)(&piece)) => {
            left.push((start, last, number));
        }
        Store(start, last) | EraseRange(start, last) => {
            left = before
                .iter()
                .flat_map(|&(from, to, number)| parts((from, to, number), start, last))
                .collect();
            let covered = |piece: &&Piece| start <= piece.0 && piece.1 <= last;
            displaced = before.iter().filter(covered).count() as u64;
            if matches!(operation, Store(..)) {
                left.push((start, last, number));
            }
        }
        Drain(start, last) => {
            left.retain(|piece| !meets(start, last)(&piece));
            displaced = (before.len() - left.len()) as u64;
        }
        Change(start, last) => {
            for piece in left
                .iter_mut()
                .filter(|piece| piece.0 <= last && start <= piece.1)
            {
                piece.2 += 1;
            }
        }
        Erase(index) => {
            left.retain(|piece| index < piece.0 || piece.1 < index);
            displaced = (before.len() - left.len()) as u64;
        }
        Resize(index, start, last) => {
            let own = before.iter().position(|piece| meets(index, index)(&piece));
            let is_free = |own| {
                let mut others = before.iter().enumerate().filter(|(at, _)| *at != own);
                others.all(|(_, piece)| !meets(start, last)(&piece))
            };
            if let Some(own) = own.filter(|own| is_free(*own)) {
                (left[own].0, left[own].1) = (start, last);
            }
        }
        Clear => {
            left.clear();
            displaced = before.len() as u64;
        }
        Insert(..) | Duplicate | Load | Prepare(_) | Look(_) => {}
    }
    left.sort_unstable();
    (left, displaced)
}

/// The parts of a piece that remain after a store from `start` to `last`.
fn parts((from, to, number): Piece, start: u64, last: u64) -> impl Iterator<Item = Piece> {
    let whole = (to < start || last < from).then_some((from, to, number));
    let meets = whole.is_none();
    let lower = (meets && from < start).then(|| (from, start - 1, number));
    let upper = (meets && last < to).then(|| (last + 1, to, number));
    [whole, lower, upper].into_iter().flatten()
}
