//! The naive model: addresses that are never used twice, and a map of what is live.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use super::operation::{Operation, Outcome};
use crate::Subject;
use crate::compare::Judge;

/// The most bytes that a block may have: a program has no more addresses.
const MOST: usize = 1 << 47;

/// A block that somebody has.
#[derive(Clone, Copy, Debug)]
struct Live {
    address: usize,
    usable: usize,
}

/// What is live, and in which place. As a [`Subject`] it allocates upwards and never reuses; as a
/// [`Judge`] it holds another allocator's answers against what they may be.
#[derive(Clone, Debug)]
pub struct Model {
    places: Vec<Option<Live>>,
    /// The live blocks' ends, by their beginnings.
    extents: BTreeMap<usize, usize>,
    next: usize,
    /// Whether memory may be short.
    short: bool,
    /// Whether blocks have more than a program may use.
    sealed: bool,
}

impl Model {
    /// A program with so many places, and whether its memory may be short.
    #[must_use]
    pub fn new(places: usize, short: bool) -> Self {
        Self {
            places: vec![None; places],
            extents: BTreeMap::new(),
            next: 1 << 20,
            short,
            sealed: false,
        }
    }

    /// The same for an allocator whose blocks have more than a program may use.
    #[must_use]
    pub fn sealed(self, sealed: bool) -> Self {
        Self { sealed, ..self }
    }

    /// Whether a stretch has a byte in common with a live block.
    fn overlaps(&self, address: usize, usable: usize) -> bool {
        let end = address.saturating_add(usable);
        let before = self.extents.range(..end).next_back();
        before.is_some_and(|(_, last)| *last > address)
    }

    fn put(&mut self, place: usize, live: Live) {
        self.places[place] = Some(live);
        // A block has at least a byte of its own, so that no two begin at one address.
        self.extents
            .insert(live.address, live.address + live.usable.max(1));
    }

    fn take(&mut self, place: usize) -> Option<Live> {
        let live = self.places[place].take()?;
        self.extents.remove(&live.address);
        Some(live)
    }

    fn count(&self) -> Outcome {
        Outcome::Counted {
            blocks: self.extents.len(),
            bytes: self.places.iter().flatten().map(|live| live.usable).sum(),
        }
    }

    /// A block of the model's own.
    fn bump(&mut self, size: usize, align: usize) -> Outcome {
        let align = align.max(16);
        if size > MOST || align > MOST {
            return Outcome::Refused;
        }
        let address = self.next.next_multiple_of(align);
        self.next = address + size + 1;
        Outcome::Block {
            address,
            usable: size,
            intact: true,
        }
    }

    /// The request that an operation makes: its place, size and alignment.
    fn request(&self, operation: &Operation) -> Option<(usize, usize, usize)> {
        match *operation {
            Operation::Allocate {
                place, size, align, ..
            } if self.places[place].is_none() => Some((place, size, align)),
            // The alignment of the block that was there is not kept.
            Operation::Resize { place, size } => self.places[place].map(|_| (place, size, 16)),
            _ => None,
        }
    }

    /// Whether a block may be the answer to a request, after which it is live.
    fn accept(&mut self, (place, size, align): (usize, usize, usize), found: &Outcome) -> bool {
        match *found {
            Outcome::Refused => self.short || size > MOST || align > MOST,
            Outcome::Block {
                address,
                usable,
                intact,
            } => {
                let before = self.take(place);
                let good = intact
                    && address != 0
                    && address.is_multiple_of(align.max(16))
                    && usable >= size
                    && size <= MOST
                    && !self.overlaps(address, usable);
                match before {
                    Some(before) if !good => self.put(place, before),
                    _ if !good => {}
                    _ => self.put(place, Live { address, usable }),
                }
                good
            }
            _ => false,
        }
    }

    /// The only answer to what is no request.
    fn answer(&mut self, operation: &Operation) -> Outcome {
        match *operation {
            Operation::Look(place) if self.places[place].is_some() => Outcome::Intact(true),
            Operation::Free(place) | Operation::FreeSized(place) => self
                .take(place)
                .map_or(Outcome::Idle, |_| Outcome::Intact(true)),
            Operation::Allocate { .. } | Operation::Resize { .. } | Operation::Look(_) => {
                Outcome::Idle
            }
            Operation::Count => self.count(),
            _ => Outcome::Done,
        }
    }
}

impl Subject for Model {
    type Operation = Operation;
    type Outcome = Outcome;

    fn apply(&mut self, operation: &Operation) -> Outcome {
        let Some(request) = self.request(operation) else {
            return self.answer(operation);
        };
        let found = self.bump(request.1, request.2);
        if self.accept(request, &found) {
            found
        } else {
            Outcome::Refused
        }
    }

    fn check(&self) -> Result<(), String> {
        let mut last = 0;
        for (start, end) in &self.extents {
            if *start < last {
                return Err(format!("two live blocks have {start:#x}"));
            }
            last = *end;
        }
        Ok(())
    }
}

/// Whether a count is one that also has what blocks end with: as many blocks, and no fewer bytes.
fn holds(expected: Outcome, found: Outcome) -> bool {
    let counted = |outcome| match outcome {
        Outcome::Counted { blocks, bytes } => Some((blocks, bytes)),
        _ => None,
    };
    let both = counted(expected).zip(counted(found));
    both.is_some_and(|((blocks, bytes), (found, more))| blocks == found && bytes <= more)
}

impl Judge for Model {
    fn judge(&mut self, operation: &Operation, found: &Outcome) -> Result<(), Outcome> {
        let Some(request) = self.request(operation) else {
            let answer = self.answer(operation);
            let right = answer == *found || self.sealed && holds(answer, *found);
            return if right { Ok(()) } else { Err(answer) };
        };
        if self.accept(request, found) {
            Ok(())
        } else {
            Err(self.bump(request.1, request.2))
        }
    }
}
